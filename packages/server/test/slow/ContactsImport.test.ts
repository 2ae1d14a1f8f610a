/** `contacts import`, as a person runs it. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Context, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as BuiltInProviders from "../../src/BuiltInProviders.ts"
import * as Database from "../../src/Database.ts"
import * as Layers from "../../src/Layers.ts"
import * as Databases from "../../testing/databases/Databases.ts"
import { folder } from "../../testing/Folder.ts"
import * as Processes from "../../testing/processes/Processes.ts"

class Environment extends Context.Service<Environment, Processes.Environment>()("test/Environment") {}

/** A migrated database, the operations on it, and the environment of commands that use it. */
const layer = Layer.unwrap(Effect.gen(function*() {
  const database_url = yield* Databases.empty
  const storage = Layers.postgres.pipe(
    Layer.provideMerge(Database.migrated),
    Layer.provideMerge(Client.layer({ url: Redacted.make(database_url) }))
  )
  return Layer.mergeAll(
    Layers.crm(storage, BuiltInProviders.absent),
    Layer.succeed(Environment, { DATABASE_URL: database_url })
  ).pipe(
    Layer.provideMerge(storage)
  )
}))

const Summary = Schema.fromJsonString(Schema.Struct({
  created: Schema.Number,
  unchanged: Schema.Number,
  failed: Schema.Number,
  errors: Schema.Array(
    Schema.Struct({ line: Schema.Number, param: Schema.NullOr(Schema.String), message: Schema.String })
  )
}))

/** An organization, and the command that imports contacts into it. */
const begin = Effect.gen(function*() {
  const organizations = yield* Organizations
  const { organization: { id }, owner } = yield* organizations.create(CreateOrganization.make({
    name: "Acme",
    owner_name: "Ada",
    owner_email: "ada@acme.example"
  }))
  const as = Effect.provideService(CurrentActor, { organization_id: id, member_id: null })
  const environment = yield* Environment
  const args = (...rest: ReadonlyArray<string>) => ["contacts", "import", "--organization", id, ...rest]
  const run = (stdin: string | Uint8Array, ...rest: ReadonlyArray<string>) =>
    Processes.run(args(...rest), environment, stdin)
  const summarize = (stdin: string | Uint8Array, ...rest: ReadonlyArray<string>) =>
    Effect.flatMap(run(stdin, "--json", ...rest), ({ stdout }) => Schema.decodeUnknownEffect(Summary)(stdout))
  return { args, as, environment, id, owner, run, summarize }
})

/** Everything about an organization's contacts, each in one text. */
const contactsOf = (id: OrganizationId) =>
  SqlClient.SqlClient.use((sql) =>
    sql<{ readonly contact: string }>`
      SELECT c::text || coalesce((SELECT string_agg(ct::text, '' ORDER BY tag_id) FROM contact_tags ct WHERE contact_id = c.id), '')
        AS contact
      FROM contacts c
      WHERE organization_id = ${id}
      ORDER BY c.id
    `
  ).pipe(Effect.map((rows) => rows.map(({ contact }) => contact)))

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

it.layer(layer, { excludeTestServices: true, timeout: "5 minutes" })("contacts import", (it) => {
  it.effect(
    "imports a file once, however it is written",
    () =>
      Effect.gen(function*() {
        const { as, id, owner, summarize } = yield* begin
        yield* as(Tags.use((tags) => tags.create(CreateTag.make({ name: "VIP", color: "red" }))))
        yield* as(
          ContactFields.use((fields) =>
            fields.create(CreateContactField.make({ key: "plan", name: "Plan", type: "text", options: null }))
          )
        )
        const file = join(yield* folder, "contacts.csv")
        const text = [
          "first_name,primary_phone,owner_user_id,tags,custom_values.plan,notes",
          `Kim,+49 151 12345678,${owner.id},vip,plus,"one\ntwo, three"`,
          "花子,,,,,",
          "花子,,,,,",
          `"O""Neill",0033 612345601,,,,`
        ].join("\n")
        yield* Effect.promise(() => writeFile(file, text))
        assert.deepStrictEqual(yield* summarize("", file), { created: 3, unchanged: 1, failed: 0, errors: [] })
        const before = yield* contactsOf(id)
        assert.lengthOf(before, 3)
        assert.deepStrictEqual(yield* summarize("", file), { created: 0, unchanged: 4, failed: 0, errors: [] })
        const otherwise = [
          "\uFEFFtags;custom_values.plan;notes;first_name;owner_user_id;primary_phone",
          `VIP; plus ;"one\ntwo, three";Kim;${owner.id.toUpperCase()};49-151-12345678`,
          ";;;花子;;",
          `;;;O"Neill;;"+33612345601"`,
          ""
        ].join("\r\n")
        assert.deepStrictEqual(yield* summarize(otherwise, "-"), { created: 0, unchanged: 3, failed: 0, errors: [] })
        assert.deepStrictEqual(yield* contactsOf(id), before)
      }).pipe(Effect.scoped)
  )

  it.effect(
    "names the lines that are bad, imports the others, and ends with 1",
    () =>
      Effect.gen(function*() {
        const { id, run } = yield* begin
        const kept = join(yield* folder, "bad.txt")
        const latin1 = Buffer.concat([Buffer.from("M"), Buffer.from([0xfc]), Buffer.from("ller,,\n")])
        const text = "first_name,primary_phone,notes\nAda,,\"a\r\nb\"\n\nBob,12,\n,,only notes\nEve,,,\n"
        const input = Buffer.concat([Buffer.from(text), latin1, Buffer.from("Zoe,,\n")])
        const { code, stderr, stdout } = yield* run(input, "-", "--bad-lines", kept)
        assert.strictEqual(code, 1)
        assert.strictEqual(stdout, "2 created, 0 unchanged, 4 invalid.\n")
        const said = stderr.trimEnd().split("\n")
        assert.deepStrictEqual(said.map((line) => line.replace(/:.*$/, "")), [
          "line 5",
          "line 6",
          "line 7",
          "line 8",
          "4 lines were not imported."
        ])
        assert.include(said[0], "primary_phone")
        assert.deepStrictEqual(
          (yield* Effect.promise(() => readFile(kept, "utf8"))).trimEnd().split("\n"),
          said.slice(0, 4)
        )
        assert.lengthOf(yield* contactsOf(id), 2)
      }).pipe(Effect.scoped)
  )

  it.effect(
    "imports nothing when it does not know a column",
    () =>
      Effect.gen(function*() {
        const { id, run } = yield* begin
        assert.deepStrictEqual(yield* run("first_name,shoe_size\nKim,42\n", "-", "--json"), {
          code: 1,
          stdout: "",
          stderr: `${
            JSON.stringify({
              error: { message: "Unknown column: \"shoe_size\". Nothing was imported. Rename or remove the column." }
            })
          }\n`
        })
        assert.lengthOf(yield* contactsOf(id), 0)
      })
  )

  it.effect(
    "takes the longest notes, rejects longer ones, and stops at a quote that is not closed",
    () =>
      Effect.gen(function*() {
        const { id, run, summarize } = yield* begin
        const longest = "é".repeat(limits.notes_chars_max)
        const { created, errors } = yield* summarize(`first_name,notes\nKim,${longest}\nLee,${longest}é\nMax,\n`, "-")
        assert.deepStrictEqual({ created, errors: errors.map(({ line, param }) => ({ line, param })) }, {
          created: 2,
          errors: [{ line: 3, param: "notes" }]
        })
        const { code, stderr } = yield* run(`first_name,notes\nAda,\nBob,"${"x\n".repeat(600_000)}`, "-")
        assert.strictEqual(code, 1)
        assert.match(stderr, /^line 3: The row is unterminated/m)
        assert.isAtLeast((yield* contactsOf(id)).length, 2)
      })
  )

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

  it.effect(
    "writes bad lines to a new file only, which it creates once the columns are known",
    () =>
      Effect.gen(function*() {
        const { id, run } = yield* begin
        const directory = yield* folder
        const file = join(directory, "contacts.csv")
        const text = "first_name\nKim\n"
        yield* Effect.promise(() => writeFile(file, text))
        const taken = yield* run("", file, "--bad-lines", file)
        assert.deepStrictEqual(taken, {
          code: 1,
          stdout: "",
          stderr: `${file} already exists. Choose another file.\n`
        })
        assert.strictEqual(yield* Effect.promise(() => readFile(file, "utf8")), text)
        assert.lengthOf(yield* contactsOf(id), 0)
        const kept = join(directory, "bad.txt")
        assert.include((yield* run("shoe_size\n42\n", "-", "--bad-lines", kept)).stderr, "Unknown column")
        assert.strictEqual((yield* run("", file, "--bad-lines", kept)).code, 0)
        assert.strictEqual(yield* Effect.promise(() => readFile(kept, "utf8")), "")
      }).pipe(Effect.scoped)
  )
})
