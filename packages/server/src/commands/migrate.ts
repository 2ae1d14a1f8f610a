import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { readRequired, settings } from "../Config.ts"
import * as Layers from "../Layers.ts"
import * as Print from "../Print.ts"

export const migrate = Command.make(
  "migrate",
  { json: Print.json },
  Effect.fnUntraced(function*({ json }) {
    const url = yield* readRequired(settings.database_url)
    const applied = yield* Effect.provide(Migrations.run, Layers.database(url))
    const names = applied.map(([id, name]) => `${id} ${name}`)
    yield* Print.result(json, { applied: names }, names.length === 0 ? "The database is up to date." : names.join("\n"))
  })
).pipe(Command.withDescription("Bring the database's schema up to date"))
