/** `messaging-crm worker`, with short timeouts. It prints a line once it works. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import * as BuiltInProviders from "../../src/BuiltInProviders.ts"
import { worker } from "../../src/Service.ts"
import { shortTimeouts } from "./shortTimeouts.ts"

NodeRuntime.runMain(
  Effect.flatMap(BuiltInProviders.chosen, (provider) => worker(provider, { json: true })).pipe(
    Effect.provide(shortTimeouts)
  )
)
