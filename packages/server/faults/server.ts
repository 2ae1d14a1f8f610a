/**
 * `messaging-crm serve`, but with a lease of seconds and doubts that end in a minute and a half, or
 * in `DOUBT_SECONDS`, so that a test of crashes need not wait a quarter of an hour for its end.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime } from "@effect/platform-node"
import { UnknownOutcomeTimeout } from "@messaging-crm/core/Dispatch"
import { LeaseTime } from "@messaging-crm/core/WorkQueue"
import { Duration, Effect, Layer } from "effect"
import * as Providers from "../src/Providers.ts"
import { serve } from "../src/Service.ts"

const impatient = Layer.mergeAll(
  Layer.succeed(LeaseTime, Duration.seconds(5)),
  Layer.succeed(UnknownOutcomeTimeout, Duration.seconds(Number(process.env["DOUBT_SECONDS"] ?? 90)))
)

NodeRuntime.runMain(
  Effect.flatMap(
    Providers.chosen,
    (provider) => serve(provider, { host: "127.0.0.1", port: Number(process.argv.at(-1)) })
  ).pipe(Effect.provide(impatient))
)
