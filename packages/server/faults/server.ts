/**
 * `messaging-crm serve` with a lease of 5 seconds and an unknown-outcome timeout of 90 seconds, or
 * `UNKNOWN_OUTCOME_SECONDS`, so that a test of crashes does not take a quarter of an hour.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime } from "@effect/platform-node"
import { UnknownOutcomeTimeout } from "@messaging-crm/core/Dispatch"
import { LeaseTime } from "@messaging-crm/core/WorkQueue"
import { Duration, Effect, Layer } from "effect"
import { readRequired, settings } from "../src/Config.ts"
import * as Database from "../src/Database.ts"
import * as Layers from "../src/Layers.ts"
import * as Logging from "../src/Logging.ts"

const shortTimeouts = Layer.mergeAll(
  Layer.succeed(LeaseTime, Duration.seconds(5)),
  Layer.succeed(UnknownOutcomeTimeout, Duration.seconds(Number(process.env["UNKNOWN_OUTCOME_SECONDS"] ?? 90)))
)

const serve = Effect.gen(function*() {
  const url = yield* readRequired(settings.database_url)
  const database = Layers.database(url)
  const operations = Layers.operations(Layers.postgres.pipe(Layer.provide(database))).pipe(Layer.provide(shortTimeouts))
  const api = Layer.unwrap(Effect.map(Database.isReady, Layers.api)).pipe(Layer.provide(database))
  const listen = Layers.listen({ host: "127.0.0.1", port: Number(process.argv.at(-1)) })
  const service = Layer.merge(api, Layers.worker).pipe(Layer.provide([operations, listen]))
  yield* Layer.launch(service.pipe(Layer.provide(Layers.tuning)))
})

NodeRuntime.runMain(serve.pipe(Effect.provide(Logging.layer)))
