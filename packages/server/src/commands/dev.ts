import { ExampleIds, TryRequests } from "@messaging-crm/adapter-http/Docs"
import type * as Crm from "@messaging-crm/core/Crm"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { Deferred, Effect, identity, Layer, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import { join } from "node:path"
import { help, read, readOr, settings, WrongSetting } from "../Config.ts"
import * as Database from "../Database.ts"
import * as Demo from "../Demo.ts"
import type * as DevConsole from "../DevConsole.ts"
import { start } from "../EmbeddedPostgres.ts"
import * as FakeNetwork from "../FakeNetwork.ts"
import * as Layers from "../Layers.ts"
import * as Logging from "../Logging.ts"
import * as Print from "../Print.ts"
import * as Providers from "../Providers.ts"
import * as SecretFile from "../SecretFile.ts"
import * as Telemetry from "../Telemetry.ts"

interface Storage {
  readonly database_url: string | null
  readonly ports: Layer.Layer<Crm.StoragePorts>
  readonly clock: Layer.Layer<never>
  readonly isReady: Effect.Effect<boolean>
}

const embedded = Effect.fnUntraced(function*(data_dir: string) {
  const database_url = yield* start({ directory: join(data_dir, "postgres") })
  const database = yield* Layer.build(
    Database.migrated.pipe(Layer.provideMerge(Layers.database(Redacted.make(database_url))))
  )
  const clock = Layer.succeedContext(
    yield* Layer.build(
      Layer.merge(Database.clock, Database.statistics).pipe(Layer.provide(Layer.succeedContext(database)))
    )
  )
  const isReady = yield* Effect.provideContext(Database.isReady, database)
  const ports = Layers.postgres.pipe(Layer.provide(Layer.succeedContext(database)))
  return { database_url, ports, clock, isReady } satisfies Storage
})

const inMemory: Storage = {
  database_url: null,
  ports: Layers.memory,
  clock: Layer.empty,
  isReady: Effect.succeed(true)
}

/** Layer for the root key of the data directory, unless SECRET_KEY is set. */
const rootKeys = Effect.fnUntraced(function*(data_dir: string) {
  if (Option.isSome(yield* read(settings.secret_key))) return Layer.empty
  const file = join(data_dir, "secret-key")
  const text = yield* SecretFile.readOrCreate(
    file,
    Effect.sync(() => Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(32))).toString("base64"))
  )
  const keys = settings.secret_key.parse(text)
  if (Option.isNone(keys)) return yield* new WrongSetting({ message: `${file} holds no key: remove it.` })
  return Layer.succeed(RootKeys, keys.value)
})

/** The provider that is set. Without accounts on the real networks `cloud` speaks to a fake one, beside the service. */
const providerAt = Effect.fnUntraced(function*(service_url: string) {
  const name = yield* readOr(settings.provider, "mock")
  const accounts = yield* read(settings.cloud_accounts)
  if (name === "cloud" && Option.isNone(accounts)) {
    return { ...yield* FakeNetwork.start(service_url), isSimulated: true }
  }
  return { provider: yield* Providers.chosenOr("mock"), network: null, isSimulated: name === "mock" }
})

type Console = Effect.Success<typeof DevConsole.make>

const noConsole: Console = {
  middleware: identity,
  outbound: identity,
  routes: Layer.empty,
  start: () => Effect.succeed(null),
  storage: identity
}

/** The console, if only this machine can reach the server. It is loaded here, because the image is built without it. */
const consoleOn = Effect.fnUntraced(function*(host: string) {
  const module = yield* Effect.option(Effect.tryPromise(() => import("../DevConsole.ts")))
  return Option.isSome(module) && module.value.isLoopback(host) ? yield* module.value.make : noConsole
})

const words = (ready: Demo.Ready): string =>
  [
    "",
    `  API        ${ready.base_url}`,
    `  Docs       ${ready.docs_url}`,
    ...(ready.console_url === null ? [] : [`  Console    ${ready.console_url}`]),
    `  Database   ${ready.database_url ?? "in memory"}`,
    ...(ready.network === null ? [] : [`  Network    ${ready.network.url} (fake)`]),
    ...(ready.api_key === null ? [] : [`  API key    ${ready.api_key}`, "", "Try it:", "", ...Demo.curlLines(ready)]),
    ""
  ].join("\n")

export const dev = Command.make("dev", {
  port: Flag.String("port").pipe(Flag.optional, Flag.withDescription("PORT; 0 takes any free one")),
  host: Flag.String("host").pipe(Flag.optional, Flag.withDescription("HOST")),
  storage: Flag.Literals("storage", ["embedded", "memory"]).pipe(
    Flag.withDefault("embedded"),
    Flag.withDescription("PostgreSQL from npm, or memory, which is lost when the process ends")
  ),
  data_dir: Flag.String("data-dir").pipe(
    Flag.withDefault(".data"),
    Flag.withDescription("The directory of the database and the secrets")
  ),
  seed_contacts: Flag.Int("seed-contacts").pipe(Flag.withDefault(0), Flag.withDescription("Extra generated contacts")),
  demo: Flag.Boolean("demo").pipe(Flag.withDefault(true), Flag.withDescription("--no-demo starts empty")),
  json: Print.json
}, (flags) =>
  Effect.gen(function*() {
    const host = yield* readOr(settings.host, "127.0.0.1", flags.host)
    const port = yield* readOr(settings.port, 3000, flags.port)
    const keys = yield* rootKeys(flags.data_dir)
    const storage = flags.storage === "memory" ? inMemory : yield* embedded(flags.data_dir)
    const socket = yield* Layer.build(Layers.listen({ host, port }))
    const address = yield* Effect.provideContext(HttpServer.addressFormattedWith(Effect.succeed), socket)
    const { isSimulated, network, provider } = yield* providerAt(address)
    const console = yield* consoleOn(host)
    const outbound = console.outbound(provider.outbound)
    const operations = Layers.operations(console.storage(storage.ports), { outbound })
    const api = Layers.api(storage.isReady, provider, console)
    const exampleIds = yield* Deferred.make<Effect.Success<ReturnType<typeof Demo.exampleIds>>>()
    const service = Layer.mergeAll(api, Layers.worker, provider.background, Layers.metrics(host)).pipe(
      Layer.provideMerge(operations),
      Layer.provide([Layer.succeedContext(socket), Layers.tuning, keys, storage.clock]),
      Layer.provide([
        Layer.succeed(ExampleIds, Deferred.await(exampleIds)),
        Layer.succeed(TryRequests, yield* readOr(settings.docs_try_requests, true))
      ])
    )
    const running = yield* Layer.build(service)
    const seeded = yield* Demo.prepare(flags).pipe(
      Effect.provideContext(running),
      Effect.provide(storage.clock)
    )
    const console_url = yield* Effect.provideContext(console.start({ address, isSimulated, ...seeded }), running)
    yield* Deferred.complete(exampleIds, Effect.provideContext(Demo.exampleIds(seeded), running))
    const ready: Demo.Ready = {
      base_url: `${address}/v1`,
      docs_url: `${address}/docs`,
      console_url,
      database_url: storage.database_url,
      network,
      ...seeded
    }
    yield* Print.result(flags.json, ready, words(ready))
    return yield* Effect.never
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(Telemetry.layer, Logging.layer)))).pipe(
    Command.withShortDescription("Run everything on this machine, with data to try it on"),
    Command.withDescription(`Run everything on this machine, with data to try it on\n\n  ${help}`)
  )
