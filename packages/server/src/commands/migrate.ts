import { Effect } from "effect"
import { Command } from "effect/cli"
import { readRequired, settings } from "../Config.ts"
import * as Database from "../Database.ts"
import * as Layers from "../Layers.ts"
import * as Logging from "../Logging.ts"
import * as Print from "../Print.ts"

export const migrate = Command.make(
  "migrate",
  { json: Print.json },
  Effect.fnUntraced(function*({ json }) {
    const url = yield* readRequired(settings.database_url)
    const applied = yield* Effect.provide(Database.migrate, [Layers.database(url), Logging.layer])
    const names = applied.map(([id, name]) => `${id} ${name}`)
    yield* Print.result(json, { applied: names }, names.length === 0 ? "The database is up to date." : names.join("\n"))
  })
).pipe(Command.withDescription("Bring the database's schema up to date"))
