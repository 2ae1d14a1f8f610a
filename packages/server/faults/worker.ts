/** `messaging-crm worker`, but with a lease of seconds; it prints a line once it works. */
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime } from "@effect/platform-node"
import { LeaseTime } from "@messaging-crm/core/WorkQueue"
import { Duration, Effect, Layer } from "effect"
import * as Providers from "../src/Providers.ts"
import { worker } from "../src/Service.ts"

NodeRuntime.runMain(
  Effect.flatMap(Providers.chosen, (provider) => worker(provider, { json: true })).pipe(
    Effect.provide(Layer.succeed(LeaseTime, Duration.seconds(5)))
  )
)
