import { TrustOwnValues } from "@messaging-crm/core/TrustedCodecs"
import { Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { help, readOr, readRequired, settings } from "../Config.ts"
import * as Database from "../Database.ts"
import * as Layers from "../Layers.ts"
import * as Logging from "../Logging.ts"
import * as Print from "../Print.ts"
import * as Telemetry from "../Telemetry.ts"

const port = Flag.String("port").pipe(Flag.optional, Flag.withDescription("PORT"))
const host = Flag.String("host").pipe(Flag.optional, Flag.withDescription("HOST"))
const migrate = Flag.Boolean("migrate").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Bring the database's schema up to date first")
)

/** What `serve` and `worker` are made of: the operations on the database that is set, and what they go by. */
const production = Effect.fnUntraced(function*(migrates: boolean) {
  const url = yield* readRequired(settings.database_url)
  yield* readRequired(settings.secret_key)
  yield* readRequired(settings.provider)
  const database = (migrates ? Database.migrated : Database.current).pipe(Layer.provideMerge(Layers.database(url)))
  const operations = Layers.operations(Layers.postgres.pipe(Layer.provide(database)))
  const settled = Layer.mergeAll(
    Layers.tuning,
    Database.clock.pipe(Layer.provide(database)),
    // `dev` and the tests check what is trusted here.
    Layer.succeed(TrustOwnValues, true)
  )
  return { database, operations, settled }
})

export const serve = Command.make("serve", {
  port,
  host,
  migrate,
  worker: Flag.Boolean("worker").pipe(Flag.withDefault(true), Flag.withDescription("--no-worker answers the API only")),
  json: Print.json
}, (flags) =>
  Effect.gen(function*() {
    const { database, operations, settled } = yield* production(flags.migrate)
    const at = yield* readOr(settings.host, "0.0.0.0", flags.host)
    const listen = Layers.listen({
      host: at,
      port: yield* readOr(settings.port, 3000, flags.port)
    })
    const api = Layer.unwrap(Effect.map(Database.isReady, Layers.api)).pipe(Layer.provide(database))
    const announce = Print.announce(flags.json, (address) => ({ base_url: `${address}/v1` }))
    const service = Layer.mergeAll(api, flags.worker ? Layers.worker : Layer.empty, announce).pipe(
      Layer.provide(listen),
      Layer.merge(Layers.metrics(at)),
      Layer.provide(operations)
    )
    yield* Layer.launch(service.pipe(Layer.provide(settled)))
  }).pipe(Effect.provide(Layer.provideMerge(Telemetry.layer, Logging.layer)))).pipe(
    Command.withShortDescription("Answer the API and work on what is queued"),
    Command.withDescription(`Answer the API and work on what is queued\n\n  ${help}`)
  )

export const worker = Command.make("worker", { migrate, json: Print.json }, (flags) =>
  Effect.gen(function*() {
    const { operations, settled } = yield* production(flags.migrate)
    const announce = Layer.effectDiscard(
      flags.json ? Print.line(JSON.stringify({ status: "working" })) : Effect.logInfo("Working")
    )
    const metrics = Layers.metrics(yield* readOr(settings.host, "0.0.0.0"))
    const service = Layer.mergeAll(Layers.worker, metrics, announce).pipe(Layer.provide(operations))
    yield* Layer.launch(service.pipe(Layer.provide(settled)))
  }).pipe(Effect.provide(Layer.provideMerge(Telemetry.layer, Logging.layer)))).pipe(
    Command.withShortDescription("Work on what is queued, without the API"),
    Command.withDescription(`Work on what is queued, without the API\n\n  ${help}`)
  )
