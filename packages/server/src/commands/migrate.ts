import { Effect, Layer, Result } from "effect"
import { Command } from "effect/cli"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check, StartupRejected } from "../settings/Config.ts"

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
        Database.ofCell(database.cell),
        // The other cells are migrated, too.
        Effect.result
      ))
    const applied = migrated.flatMap((result) => Result.isSuccess(result) ? result.success : [])
    const failures = migrated.flatMap((result) => Result.isFailure(result) ? result.failure.message : [])
    const words = applied.length === 0 ? "The database is up to date." : applied.join("\n")
    if (failures.length < migrated.length) yield* Print.result(json, { applied }, words)
    if (failures.length > 0) return yield* new StartupRejected({ message: failures.join("\n") })
  })
).pipe(
  Command.withDescription("Migrate the database schema, or that of each cell, to this version"),
  Command.withExamples([
    { command: "messaging-crm migrate" },
    { command: "messaging-crm migrate --json" }
  ])
)
