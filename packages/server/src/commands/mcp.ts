import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Flags from "../cli/Flags.ts"
import * as Logging from "../observability/Logging.ts"
import { check, readRequired, readWithDefault, settings } from "../settings/Config.ts"

export const mcp = Command.make(
  "mcp",
  {
    url: Flags.forSetting("url", settings.base_url),
    api_key: Flags.forSetting("api-key", settings.api_key),
    write: Flag.Boolean("write").pipe(
      Flags.withDefault(false, "Offer the tools that change contacts and conversations and send messages, too")
    )
  },
  Effect.fnUntraced(function*({ api_key, url, write }) {
    yield* check(["api_key"], { base_url: url, api_key })
    const options = {
      write,
      base_url: yield* readWithDefault(settings.base_url, url),
      api_key: yield* readRequired(settings.api_key, api_key)
    }
    const Stdio = yield* Effect.promise(() => import("../mcp/Stdio.ts"))
    return yield* Stdio.serve(options)
  }, Effect.provide(Logging.layer))
).pipe(
  Command.withDescription("Serve tools for AI agents over stdio (Model Context Protocol)"),
  Command.withExamples([
    { command: "API_KEY=… messaging-crm mcp --url https://crm.example.com/v1" },
    { command: "API_KEY=… messaging-crm mcp --write" }
  ])
)
