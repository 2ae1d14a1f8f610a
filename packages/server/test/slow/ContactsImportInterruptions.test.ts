/** `contacts import` that ends before its file does. */
import { assert, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { folder } from "../../testing/Folder.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import { begin, contactsOf, layer } from "./ContactsImportScene.ts"

/** Ends the session that inserts a contact named "lost". */
const loseDatabase = SqlClient.SqlClient.use((sql) =>
  sql.unsafe(`
    CREATE OR REPLACE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.last_name = 'lost' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
      RETURN NEW;
    END $$`).pipe(
    Effect.andThen(
      sql.unsafe("CREATE OR REPLACE TRIGGER lose BEFORE INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION lose()")
    )
  )
)

it.layer(layer, { excludeTestServices: true, timeout: "5 minutes" })("an interrupted contacts import", (it) => {
  it.effect(
    "is killed, and ends what it began when it is run again, even twice at a time",
    () =>
      Effect.gen(function*() {
        const { args, environment, id, summarize } = yield* begin
        const lines = Array.from({ length: 5000 }, (_, index) => `Contact,${index}`)
        const text = `first_name,last_name\n${lines.join("\n")}\n`
        const file = join(yield* folder, "contacts.csv")
        yield* Effect.promise(() => writeFile(file, text))
        const { child, exited } = yield* Processes.startMain(args(file, "--json"), environment)
        yield* contactsOf(id).pipe(
          Effect.flatMap(({ length }) => length > 0 ? Effect.void : Effect.fail("nothing yet")),
          Effect.retry({ schedule: Schedule.spaced("5 millis"), times: 10_000 })
        )
        child.kill("SIGKILL")
        yield* exited
        const { length } = yield* contactsOf(id)
        const [one, other] = yield* Effect.all([summarize("", file), summarize("", file)], { concurrency: 2 })
        assert.strictEqual(length + one.created + other.created, 5000)
        assert.strictEqual(one.unchanged + other.unchanged, 5000 + length)
        assert.lengthOf(yield* contactsOf(id), 5000)
      }).pipe(Effect.scoped)
  )

  it.effect.each(
    [
      ["when it is interrupted", (child) => child.kill("SIGINT"), /\.\n$/],
      ["when a row is unterminated", (child) => child.stdin.end(`"${"x\n".repeat(600_000)}`), /\nline \d+: The row is/],
      ["when it loses its database", (child) => child.stdin.end(`${"lost,\n".repeat(250)}`), /Connection closed/]
    ] as ReadonlyArray<readonly [string, (child: ChildProcessWithoutNullStreams) => unknown, RegExp]>
  )(
    "says what it has imported, and which lines are bad, %s",
    ([_, stop, reason]) =>
      Effect.gen(function*() {
        const { args, environment, id } = yield* begin
        yield* loseDatabase
        const env = { PATH: process.env["PATH"], ...environment }
        const child = spawn(process.execPath, [Processes.main, ...args("-")], { env })
        let said = ""
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          said += text
        })
        // A command that fails does not read the rest.
        child.stdin.on("error", () => {})
        const ended = once(child, "close")
        // The rest of the file has not arrived yet.
        child.stdin.write(
          `last_name,primary_phone\nBob,12\n${Array.from({ length: 3000 }, (_, index) => `${index},\n`).join("")}`
        )
        yield* contactsOf(id).pipe(
          Effect.flatMap(({ length }) => length >= 2750 ? Effect.void : Effect.fail("nothing yet")),
          Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 3000 })
        )
        stop(child)
        yield* Effect.promise(() => ended)
        assert.match(said, /^line 2: primary_phone /m)
        assert.match(
          said,
          /The import was interrupted: \d+ created, 0 unchanged, 1 invalid so far\. Run it again to import the rest\.\n/
        )
        assert.match(said, reason)
      })
  )
})
