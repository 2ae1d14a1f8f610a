import { Effect } from "effect"
import { Command } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check } from "../settings/Config.ts"

const list = Command.make(
  "list",
  { json: Print.json },
  Effect.fnUntraced(function*({ json }) {
    yield* check(["database_url"])
    const { read } = yield* Effect.promise(() => import("../cli/CellReport.ts"))
    const { rows: found, unfinished } = yield* read
    yield* Print.result(json, found, Print.table(found))
    for (const { advice, detail } of unfinished) yield* Print.note(`Move of organization ${detail}. ${advice}`)
    const failed = found.filter(({ status }) => status !== "ok").length
    if (failed > 0) return yield* new Admin.Rejected({ message: `${failed} of ${found.length} cells cannot be used.` })
  }, Effect.provide(Logging.layer))
).pipe(
  Command.withDescription("List the cells with their status, version, size, and load"),
  Command.withExamples([
    { command: "messaging-crm cells list" },
    { command: "messaging-crm cells list --json" }
  ])
)

export const cells = Command.make("cells").pipe(
  Command.withDescription("Show the cells of CELLS, or the database of DATABASE_URL"),
  Command.withSubcommands([list])
)
