import { openApi } from "@messaging-crm/adapter-http"
import { Command } from "effect/cli"
import * as Print from "../Print.ts"

export const openapi = Command.make(
  "openapi",
  { json: Print.json },
  // The output is always JSON. The flag is there because every command has it.
  () => Print.line(JSON.stringify(openApi, null, 2))
).pipe(Command.withDescription("Print the OpenAPI 3.1 document"))
