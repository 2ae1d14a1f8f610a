import { Effect } from "effect"
import { Command } from "effect/cli"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check, readRequired, settings } from "../settings/Config.ts"

export const migrate = Command.make(
  "migrate",
  { json: Print.json },
  Effect.fnUntraced(function*({ json }) {
    yield* check(["database_url"])
    const url = yield* readRequired(settings.database_url)
    const [Database, Layers] = yield* Effect.promise(() =>
      Promise.all([import("../Database.ts"), import("../Layers.ts")])
    )
    const applied = yield* Effect.provide(Database.migrate, [Layers.database(url), Logging.layer])
    yield* Print.result(json, { applied }, applied.length === 0 ? "The database is up to date." : applied.join("\n"))
  })
).pipe(
  Command.withDescription("Migrate the database schema to this version"),
  Command.withExamples([
    { command: "messaging-crm migrate" },
    { command: "messaging-crm migrate --json" }
  ])
)
