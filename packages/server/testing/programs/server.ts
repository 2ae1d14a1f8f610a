/** `messaging-crm serve` with short timeouts. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import * as BuiltInProviders from "../../src/BuiltInProviders.ts"
import { serve } from "../../src/Service.ts"
import { shortTimeouts } from "./shortTimeouts.ts"

NodeRuntime.runMain(
  Effect.flatMap(
    BuiltInProviders.chosen,
    (provider) => serve(provider, { host: "127.0.0.1", port: Number(process.argv.at(-1)) })
  ).pipe(Effect.provide(shortTimeouts))
)
