/**
 * `messaging-crm serve` with a lease of 5 seconds and an unknown-outcome timeout of 90 seconds, or
 * `UNKNOWN_OUTCOME_SECONDS`, so that a test of crashes does not take a quarter of an hour.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime } from "@effect/platform-node"
import { UnknownOutcomeTimeout } from "@messaging-crm/core/Dispatch"
import { LeaseTime } from "@messaging-crm/core/WorkQueue"
import { Duration, Effect, Layer } from "effect"
import * as Providers from "../src/Providers.ts"
import { serve } from "../src/Service.ts"

const shortTimeouts = Layer.mergeAll(
  Layer.succeed(LeaseTime, Duration.seconds(5)),
  Layer.succeed(UnknownOutcomeTimeout, Duration.seconds(Number(process.env["UNKNOWN_OUTCOME_SECONDS"] ?? 90)))
)

NodeRuntime.runMain(
  Effect.flatMap(
    Providers.chosen,
    (provider) => serve(provider, { host: "127.0.0.1", port: Number(process.argv.at(-1)) })
  ).pipe(Effect.provide(shortTimeouts))
)
