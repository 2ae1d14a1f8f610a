import { Effect } from "effect"
import { Command } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"

export const doctor = Command.make(
  "doctor",
  { json: Print.json },
  Effect.fnUntraced(function*({ json }) {
    const { findings } = yield* Effect.promise(() => import("../cli/Doctor.ts"))
    const found = yield* findings
    const words = found.map(({ advice, detail, name, state }) =>
      `${state.padEnd(7)}  ${name.padEnd(10)}  ${detail}${advice === null ? "" : `\n${" ".repeat(21)}${advice}`}`
    )
    yield* Print.result(json, found, words.join("\n"))
    const failed = found.filter(({ state }) => state === "failed").length
    if (failed > 0) return yield* new Admin.Rejected({ message: `${failed} of ${found.length} checks failed.` })
  }, Effect.provide(Logging.layer))
).pipe(
  Command.withDescription(
    "Check the settings, database, schema, secret key, clock, channels, and webhooks, and print what to do"
  ),
  Command.withExamples([{ command: "messaging-crm doctor" }, { command: "messaging-crm doctor --json" }])
)
