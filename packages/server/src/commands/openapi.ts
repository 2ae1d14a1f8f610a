import { Effect } from "effect"
import { Command } from "effect/cli"
import * as Print from "../cli/Print.ts"

export const openapi = Command.make(
  "openapi",
  { json: Print.json },
  // The output is always JSON. The flag exists because every command has it.
  Effect.fnUntraced(function*() {
    const { openApi } = yield* Effect.promise(() => import("@messaging-crm/adapter-http"))
    yield* Print.line(JSON.stringify(openApi(), null, 2))
  })
).pipe(
  Command.withDescription("Print the OpenAPI 3.1 document"),
  Command.withExamples([
    { command: "messaging-crm openapi > openapi.json" },
    { command: "messaging-crm openapi | head" }
  ])
)
