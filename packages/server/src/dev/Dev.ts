/** `dev`: the whole service on this machine, with demo data. */
import { ErrorHelp, LogPaths } from "@messaging-crm/adapter-http"
import { errorHelpAt, ExampleIds, TryRequests } from "@messaging-crm/adapter-http/Docs"
import type * as Crm from "@messaging-crm/core/Crm"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { AllowedAddresses } from "@messaging-crm/core/WebhookTransport"
import { Worker } from "@messaging-crm/core/Worker"
import { Deferred, Effect, identity, Layer, Option, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { join, resolve } from "node:path"
import * as BuiltInProviders from "../BuiltInProviders.ts"
import * as Print from "../cli/Print.ts"
import * as Database from "../Database.ts"
import * as Listener from "../http/Listener.ts"
import * as Layers from "../Layers.ts"
import { read, readOr, readWithDefault, settings, StartupRejected, variable } from "../settings/Config.ts"
import * as Demo from "./Demo.ts"
import type * as DevConsole from "./DevConsole.ts"
import { rejectIfOwned, start } from "./EmbeddedPostgres.ts"
import * as FakeNetwork from "./FakeNetwork.ts"
import * as Greeting from "./Greeting.ts"
import * as SecretFile from "./SecretFile.ts"

export interface Options {
  readonly port: Option.Option<string>
  readonly host: Option.Option<string>
  readonly storage: "embedded" | "memory"
  readonly data_dir: string
  readonly seed_contacts: number
  readonly demo: boolean
  readonly json: boolean
}

interface Storage {
  readonly database_url: string | null
  readonly ports: Layer.Layer<Crm.StoragePorts>
  readonly clock: Layer.Layer<never>
  readonly isReady: Effect.Effect<boolean>
}

const postgresIn = (data_dir: string) => join(data_dir, "postgres")

const embedded = Effect.fnUntraced(function*(data_dir: string) {
  const directory = postgresIn(data_dir)
  const database_url = yield* start({ directory })
  const database = yield* Layer.build(Layers.database(Redacted.make(database_url)))
  yield* Effect.provideContext(Database.migrateIn(directory), database)
  const clock = Layer.succeedContext(
    yield* Layer.build(
      Layer.merge(Database.clock, Database.statistics).pipe(Layer.provide(Layer.succeedContext(database)))
    )
  )
  const isReady = yield* Effect.provideContext(Database.isReady, database)
  const ports = Layers.postgres.pipe(Layer.provide(Layer.succeedContext(database)))
  return { database_url, ports, clock, isReady } satisfies Storage
})

/** The memory store, unless a service runs on the data directory, whose `env` file it would replace. */
const inMemory = (data_dir: string) =>
  Effect.as(
    rejectIfOwned(postgresIn(data_dir)),
    {
      database_url: null,
      ports: Layers.memory,
      clock: Layer.empty,
      isReady: Effect.succeed(true)
    } satisfies Storage
  )

const keyFile = (data_dir: string) => join(data_dir, "secret-key")

/** The variables by which other commands find the root key of this process. */
const keyVariables = Effect.fnUntraced(function*(data_dir: string) {
  const given = yield* variable("SECRET_KEY")
  const file = yield* variable("SECRET_KEY_FILE")
  return {
    SECRET_KEY: Option.getOrNull(given),
    SECRET_KEY_FILE: Option.isSome(given) ? null : resolve(Option.getOrElse(file, () => keyFile(data_dir)))
  }
})

/** Layer for the root key of the data directory, unless SECRET_KEY is set. */
const rootKeys = Effect.fnUntraced(function*(data_dir: string) {
  if (Option.isSome(yield* read(settings.secret_key))) return Layer.empty
  const file = keyFile(data_dir)
  const text = yield* SecretFile.readOrCreate(
    file,
    Effect.sync(() => Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(32))).toString("base64"))
  )
  const keys = settings.secret_key.parse(text)
  if (Option.isNone(keys)) {
    return yield* new StartupRejected({ message: `${file} contains no valid key. Remove the file.` })
  }
  return Layer.succeed(RootKeys, keys.value)
})

/** The provider that is set. Without Meta apps, `cloud` uses a fake Graph API in this process. */
const providerAt = Effect.fnUntraced(function*(service_url: string) {
  const name = yield* readOr(settings.provider, "mock")
  const accounts = yield* read(settings.cloud_accounts)
  if (name === "cloud" && Option.isNone(accounts)) {
    return { ...yield* FakeNetwork.start(service_url), is_simulated: true, name: null }
  }
  return { provider: yield* BuiltInProviders.chosenOr("mock"), network: null, is_simulated: name === "mock", name }
})

type Console = Effect.Success<typeof DevConsole.make>

const noConsole: Console = {
  middleware: identity,
  outbound: identity,
  routes: Layer.empty,
  start: () => Effect.succeed(null),
  storage: identity
}

/** The console, if only this machine can reach the server. */
const consoleOn = Effect.fnUntraced(function*(host: string) {
  const { isLoopback, make } = yield* Effect.promise(() => import("./DevConsole.ts"))
  return isLoopback(host) ? yield* make : noConsole
})

/** The networks that webhooks can reach: by default this machine. */
const webhookNetworks = Effect.map(
  variable(settings.webhook_allowed_networks.name),
  Option.getOrElse(() => "127.0.0.0/8,::1/128")
)

const allowedAddresses = Effect.gen(function*() {
  const allowed = yield* read(settings.webhook_allowed_networks, Option.some(yield* webhookNetworks))
  return Layer.succeed(AllowedAddresses, Option.getOrNull(allowed))
})

/** Listens on a port, and returns the listener's layer and address. */
const listenOn = Effect.fnUntraced(function*(host: string, port: number) {
  const socket = yield* Layer.build(Listener.layer({ host, port }))
  const address = yield* Effect.provideContext(HttpServer.addressFormattedWith(Effect.succeed), socket)
  return { address, socket: Layer.succeedContext(socket) }
})

/** Layer for the features that only `dev` has: local webhooks, and a docs page with the demo's IDs and requests, to which errors link. */
const features = Effect.fnUntraced(function*(
  address: string,
  exampleIds: Deferred.Deferred<Effect.Success<typeof ExampleIds.Service>>
) {
  const docs_url = yield* read(settings.docs_url)
  return Layer.mergeAll(
    yield* allowedAddresses,
    Option.isNone(docs_url) ? Layer.succeed(ErrorHelp, errorHelpAt(address)) : Layer.empty,
    Layer.succeed(ExampleIds, Deferred.await(exampleIds)),
    Layer.succeed(LogPaths, true),
    Layer.succeed(TryRequests, yield* readOr(settings.docs_try_requests, true))
  )
})

/** Writes the addresses and the API key to a file, and prints them. */
const announce = Effect.fnUntraced(function*(options: Options, ready: Demo.Ready, provider: string | null) {
  const variables = join(options.data_dir, "env")
  const keys = yield* keyVariables(options.data_dir)
  const others = { PROVIDER: provider, WEBHOOK_ALLOWED_NETWORKS: yield* webhookNetworks }
  yield* SecretFile.write(variables, Greeting.environment(ready, keys, others))
  yield* Print.result(options.json, ready, Greeting.text(ready, variables))
})

const noted = ({ json }: Options, text: string) => json ? Effect.void : Print.note(text)

/** Runs until it is interrupted. */
export const run = Effect.fnUntraced(function*(options: Options) {
  const host = yield* readOr(settings.host, "127.0.0.1", options.host)
  const port = yield* readWithDefault(settings.port, options.port)
  const keys = yield* rootKeys(options.data_dir)
  const storage = yield* (options.storage === "memory" ? inMemory : embedded)(options.data_dir)
  const { address, socket } = yield* listenOn(host, port)
  const { is_simulated, name, network, provider } = yield* providerAt(address)
  const devConsole = yield* consoleOn(host)
  const agents = yield* Effect.promise(() => import("../mcp/Http.ts"))
  const home = devConsole === noConsole || !options.demo ? "/docs" : "/console"
  const exampleIds = yield* Deferred.make<Effect.Success<ReturnType<typeof Demo.exampleIds>>>()
  const service = Layer.mergeAll(
    Layers.api(storage.isReady, provider, {
      ...devConsole,
      routes: Layer.merge(devConsole.routes, agents.layer),
      home
    }),
    Worker.layerLoop,
    provider.background,
    Layers.metrics(host)
  ).pipe(
    Layer.provideMerge(
      Layers.crm(devConsole.storage(storage.ports), { outbound: devConsole.outbound(provider.outbound) })
    ),
    Layer.provide([socket, Layers.tuning, keys, storage.clock, yield* features(address, exampleIds)])
  )
  const running = yield* Layer.build(service)
  const seeded = yield* Demo.prepare(options).pipe(
    Effect.provideContext(running),
    Effect.provide(storage.clock)
  )
  const console_url = yield* Effect.provideContext(devConsole.start({ address, is_simulated, ...seeded }), running)
  yield* Deferred.complete(exampleIds, Effect.provideContext(Demo.exampleIds(seeded), running))
  const ready = {
    base_url: `${address}/v1`,
    docs_url: `${address}/docs`,
    console_url,
    database_url: storage.database_url,
    network,
    ...seeded
  }
  yield* announce(options, ready, name)
  return yield* Effect.onInterrupt(Effect.never, () => noted(options, Greeting.stopping))
}, (effect, options) => Effect.onInterrupt(Effect.scoped(effect), () => noted(options, Greeting.stopped)))
