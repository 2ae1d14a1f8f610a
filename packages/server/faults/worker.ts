/** `messaging-crm worker` with a lease of 5 seconds. It prints "working" once it runs. */
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime } from "@effect/platform-node"
import { LeaseTime } from "@messaging-crm/core/WorkQueue"
import { Duration, Effect, Layer } from "effect"
import { readRequired, settings } from "../src/Config.ts"
import * as Layers from "../src/Layers.ts"
import * as Logging from "../src/Logging.ts"
import * as Print from "../src/Print.ts"

const work = Effect.gen(function*() {
  const database = Layers.database(yield* readRequired(settings.database_url))
  const operations = Layers.operations(Layers.postgres.pipe(Layer.provide(database)))
  const shortLease = Layer.succeed(LeaseTime, Duration.seconds(5))
  const announce = Layer.effectDiscard(Print.line("working"))
  const service = Layer.merge(Layers.worker, announce).pipe(Layer.provide(operations), Layer.provide(shortLease))
  yield* Layer.launch(service.pipe(Layer.provide(Layers.tuning)))
})

NodeRuntime.runMain(work.pipe(Effect.provide(Logging.layer)))
