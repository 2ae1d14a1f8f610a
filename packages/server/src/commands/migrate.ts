import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check } from "../settings/Config.ts"

export const migrate = Command.make(
  "migrate",
  { json: Print.json },
  Effect.fnUntraced(function*({ json }) {
    yield* check(["database_url"])
    const [AdminOperations, Database, Layers] = yield* Effect.promise(() =>
      Promise.all([import("../cli/AdminOperations.ts"), import("../Database.ts"), import("../Layers.ts")])
    )
    const migrated = yield* Effect.forEach(yield* AdminOperations.databases, (database) =>
      Database.migrate.pipe(
        Effect.map((files) => files.map((file) => database.cell === null ? file : `${database.cell}: ${file}`)),
        Effect.provide(Layer.merge(Layers.database(database.url), Logging.layer), { local: true }),
        Database.ofCell(database.cell)
      ))
    const applied = migrated.flat()
    yield* Print.result(json, { applied }, applied.length === 0 ? "The database is up to date." : applied.join("\n"))
  })
).pipe(
  Command.withDescription("Migrate the database schema, or that of each cell, to this version"),
  Command.withExamples([
    { command: "messaging-crm migrate" },
    { command: "messaging-crm migrate --json" }
  ])
)
