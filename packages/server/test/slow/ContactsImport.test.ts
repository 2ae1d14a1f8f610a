/** `contacts import`, as a person runs it. */
import { assert, it } from "@effect/vitest"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { limits } from "@messaging-crm/core/Limits"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { folder } from "../../testing/Folder.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import { begin, contactsOf, layer } from "./ContactsImportScene.ts"

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
    "reads numbers as they are copied and dialed, and rejects those that are not certain",
    () =>
      Effect.gen(function*() {
        const { id, environment, run, summarize } = yield* begin
        const copied = [
          "\u202A+49 151 12345603\u202C",
          "\u2068+4915112345604\u2069",
          "\u200E+4915112345605",
          "+49\u200B15112345606",
          "+1\uFE0D-415-555-2671",
          "0151 12345607",
          "4915112345678.0",
          "\u202A(646) 555-1234\u202C"
        ]
        const csv = ["primary_phone", ...copied].join("\n")
        const rejected = yield* summarize(csv, "-")
        assert.deepInclude(rejected, { created: 5, failed: 3 })
        const [national, decimal, marked] = rejected.errors.map(({ message }) => message)
        const expected =
          "primary_phone must be one phone number that starts with + and the country code, such as +4915112345678."
        assert.deepStrictEqual([national, decimal], [expected, expected])
        assert.strictEqual(
          marked,
          `${expected} Invisible characters: U+202A, U+202C.`
        )
        const stored = Effect.map(contactsOf(id), (contacts) =>
          contacts.flatMap((contact) => contact.match(/\+[0-9]{11,13}/) ?? []).toSorted())
        const numbers = [
          "+14155552671",
          ...[3, 4, 5, 6].map((digit) =>
            `+491511234560${digit}`
          )
        ]
        assert.deepStrictEqual(yield* stored, numbers)
        assert.deepInclude(yield* summarize(csv, "-", "--country", "DE"), { created: 1, unchanged: 5, failed: 2 })
        assert.deepStrictEqual(yield* stored, [...numbers, "+4915112345607"])
        const organizations = (...args: ReadonlyArray<string>) => Processes.run(["organizations", ...args], environment)
        const updated = yield* organizations("update", id, "--default-country", "US", "--json")
        assert.deepInclude(JSON.parse(updated.stdout), { id, default_country: "US" })
        assert.include((yield* organizations("list")).stdout, "US")
        assert.deepInclude(yield* summarize(csv, "-"), { created: 1, unchanged: 5, failed: 2 })
        assert.deepStrictEqual((yield* stored).at(1), "+16465551234")
        const invalid = yield* organizations("update", id, "--default-country", "Germany")
        assert.deepStrictEqual(invalid, {
          code: 1,
          stdout: "",
          stderr: "--default-country must be a country's two letters of ISO 3166, such as DE.\n"
        })
        assert.strictEqual((yield* organizations("update", id, "--default-country", "none")).code, 0)
        const wrong = yield* run(csv, "-", "--country", "de")
        assert.strictEqual(wrong.code, 1)
        assert.include(wrong.stderr, "a country's two letters of ISO 3166")
      }).pipe(Effect.scoped)
  )

  it.effect(
    "names the lines that are bad, imports the others, and ends with 1",
    () =>
      Effect.gen(function*() {
        const { id, run } = yield* begin
        const kept = join(yield* folder, "bad.txt")
        const latin1 = Buffer.concat([Buffer.from("M"), Buffer.from([0xfc]), Buffer.from("ller,,\n")])
        const text = "first_name,primary_phone,notes\nAda,,\"a\r\nb\"\n\nBob,12,\n,,only notes\nEve,,,\nEve,,,more\n"
        const input = Buffer.concat([Buffer.from(text), latin1, Buffer.from("Zoe\n")])
        const { code, stderr, stdout } = yield* run(input, "-", "--bad-lines", kept)
        assert.strictEqual(code, 1)
        assert.strictEqual(stdout, "3 created, 0 unchanged, 4 invalid.\n")
        const said = stderr.trimEnd().split("\n")
        assert.deepStrictEqual(said.map((line) => line.replace(/:.*$/, "")), [
          "line 5",
          "line 6",
          "line 8",
          "line 9",
          "4 lines were not imported."
        ])
        assert.include(said[0], "primary_phone")
        const [header, ...lines] = (yield* Effect.promise(() => readFile(kept, "utf8"))).trimEnd().split("\n")
        assert.strictEqual(header, "first_name,primary_phone,notes,import_error")
        const cells = ["Bob,12,", ",,only notes", "Eve,,", "M\uFFFDller,,"]
        assert.deepStrictEqual(lines.length, 4)
        for (const [index, line] of lines.entries()) {
          assert.include(line, `${cells[index]},`)
          assert.include(line.replaceAll("\"\"", "\""), said[index] ?? "?")
        }
        assert.match(lines[2] ?? "", /,more$/)
        assert.lengthOf(yield* contactsOf(id), 3)
      }).pipe(Effect.scoped)
  )

  it.effect(
    "writes bad lines that can be corrected and imported as they are",
    () =>
      Effect.gen(function*() {
        const { id, run, summarize } = yield* begin
        const directory = yield* folder
        const [first, second] = [join(directory, "first.csv"), join(directory, "second.csv")]
        const text = [
          "sep=;",
          "\"First Name\";\"Phone\";\"Notes\";\"\"",
          "\"Ann\";\"=\"\"+4915112340001\"\"\";\"a;\"\"b\"\"\nc\"",
          "\"Bob\";\"=\"\"12\"\"\";\"a;\"\"b\"\"\nc\"",
          "\"Cyd\";\"13\""
        ].join("\r\n")
        yield* run(text, "-", "--bad-lines", first)
        const written = yield* Effect.promise(() => readFile(first, "utf8"))
        assert.isTrue(
          written.startsWith("sep=;\r\n\"First Name\";\"Phone\";\"Notes\";\"\";\"import_error\"\r\n\"Bob\";")
        )
        const corrected = written.replace("12", "+4915112340002")
        assert.deepInclude(yield* summarize(corrected, "-", "--bad-lines", second), {
          created: 1,
          unchanged: 0,
          failed: 1
        })
        const again = yield* Effect.promise(() => readFile(second, "utf8"))
        assert.lengthOf(again.split("import_error"), 2)
        assert.deepInclude(yield* summarize(again.replace("13", "+4915112340003"), "-"), { created: 1, failed: 0 })
        const contacts = (yield* contactsOf(id)).join("\n")
        for (const value of ["+4915112340001", "+4915112340002", "+4915112340003"]) assert.include(contacts, value)
      }).pipe(Effect.scoped)
  )

  it.effect(
    "reads the files that Excel writes",
    () =>
      Effect.gen(function*() {
        const { id, summarize } = yield* begin
        const files = {
          "a delimiter in the first line": "sep=;\r\nfirst_name;primary_phone\r\nAnn;+4915112340001\r\n",
          "empty columns": "first_name,primary_phone,,\r\nAnn,+4915112340001,,\r\nBob,+4915112340003,,\r\n",
          "UTF-16": Buffer.from("\uFEFFFirst Name\tPhone\r\nAnn\t'+4915112340001\r\n", "utf16le"),
          "lone CR": "first_name,primary_phone\rAnn,+4915112340001\rBob,+4915112340003,\r",
          "formulas": "first_name,primary_phone\n=\"Ann\",\"=\"\"+4915112340001\"\"\"\nBob,\t+4915112340003\n"
        }
        for (const [name, text] of Object.entries(files)) {
          assert.deepInclude(yield* summarize(text, "-"), { failed: 0 }, name)
        }
        const contacts = yield* contactsOf(id)
        assert.lengthOf(contacts, 2)
        assert.deepStrictEqual(contacts.map((text) => /\+49\d+/.exec(text)?.[0]).toSorted(), [
          "+4915112340001",
          "+4915112340003"
        ])
      })
  )

  it.effect(
    "previews the same numbers, and creates no second contact of a person unless --yes",
    () =>
      Effect.gen(function*() {
        const { id, run, summarize } = yield* begin
        const file = join(yield* folder, "contacts.csv")
        const lines = Array.from({ length: 600 }, (_, index) =>
          `Kim,${index},p${index}@shop.example,+4915112${40_000 + index}`)
        const text = ["First Name,Last Name,E-mail,Phone", ...lines, ...lines.slice(0, 5), "Lee,,,", "Max,,,12"].join(
          "\n"
        )
        yield* Effect.promise(() =>
          writeFile(file, text)
        )
        const previewed = yield* summarize("", file, "--dry-run")
        assert.lengthOf(yield* contactsOf(id), 0)
        assert.deepInclude(previewed, { created: 601, unchanged: 5, failed: 1 })
        assert.deepStrictEqual(yield* summarize("", file), previewed)
        const before = yield* contactsOf(id)
        const keyed = yield* run("", file, "--key", "primary_phone")
        assert.strictEqual(keyed.code, 1)
        assert.strictEqual(keyed.stdout, "0 created, 0 unchanged, 605 duplicates of other contacts, 2 invalid.\n")
        assert.match(
          keyed.stderr,
          /605 lines \(2, 3, 4, 5, 6, …\): Phone belongs to another contact or an earlier line\. .*--yes/
        )
        assert.deepStrictEqual(yield* contactsOf(id), before)
        assert.include(
          (yield* run("", file, "--key", "mobile")).stderr,
          "--key must be one of the file's fields first_name, last_name, primary_email, primary_phone, not \"mobile\"."
        )
        const updates = ["--update", "--key", "primary_phone"]
        const unchanged = { created: 0, unchanged: 605, failed: 2 }
        assert.deepInclude(yield* summarize("", file, ...updates, "--dry-run"), unchanged)
        assert.deepInclude(yield* summarize("", file, ...updates), unchanged)
        assert.lengthOf(yield* contactsOf(id), before.length)
        assert.deepInclude(yield* summarize("", file, "--key", "primary_phone", "--yes"), {
          created: 600,
          unchanged: 5
        })
      }).pipe(Effect.scoped)
  )

  it.effect(
    "prints the field of each column, and takes those of --map",
    () =>
      Effect.gen(function*() {
        const { id, run } = yield* begin
        const text =
          "First Name,Phone 1 - Value,Phone 2 - Value,Photo,Handy,Shoe\nAnn,+4915112340001,,x,+4915112340002,42\n"
        const refused = yield* run(text, "-")
        assert.include(refused.stderr, "Unknown columns: \"Handy\", \"Shoe\".")
        assert.include(refused.stderr, "--map \"Handy=FIELD\"")
        assert.include((yield* run(text, "-", "--map", "Handy=shoe")).stderr, "\"shoe\" is not a field")
        assert.include((yield* run(`My contacts\n${text}`, "-")).stderr, "line 1: Unknown columns: \"My contacts\"")
        const { stderr, stdout } = yield* run(text, "-", "--map", "Handy=primary_phone", "--map", "Shoe=", "--json")
        assert.deepStrictEqual(stderr.trimEnd().split("\n"), [
          "Columns (Google Contacts export):",
          "  first_name: First Name",
          "  primary_phone: Handy, else Phone 1 - Value, else Phone 2 - Value",
          "  ignored: Photo, Shoe"
        ])
        assert.deepInclude(JSON.parse(stdout).mapping, { format: "Google Contacts", ignored: ["Photo", "Shoe"] })
        assert.include((yield* contactsOf(id))[0], "+4915112340002")
      })
  )

  it.effect(
    "imports a person without the birthday that has no year, and reports it",
    () =>
      Effect.gen(function*() {
        const { id, run } = yield* begin
        const text = "First Name,Birthday\nAnn,1990-03-14\nBob,--03-14\nCyd,3/4/1990\n"
        const warning = "Birthday was left out because it has no year: \"--03-14\"."
        const { code, stderr } = yield* run(text, "-")
        assert.strictEqual(code, 1)
        assert.include(stderr, `line 3: ${warning}\nline 4: Birthday must be`)
        assert.lengthOf(yield* contactsOf(id), 2)
        const again = yield* run(text.replace("Cyd,3/4/1990\n", ""), "-", "--json")
        assert.strictEqual(again.code, 0)
        assert.deepInclude(JSON.parse(again.stdout), {
          unchanged: 2,
          failed: 0,
          left_out: 1,
          warnings: [{ line: 3, param: "Birthday", message: warning }]
        })
        const update = ["--update", "--key", "primary_phone"]
        yield* run("First Name,Phone,Birthday\nDee,+4915112340001,1990-03-14\n", "-")
        yield* run("First Name,Phone,Birthday\nDee,+4915112340001,--03-14\n", "-", ...update)
        const updated = (yield* contactsOf(id)).find((contact) => contact.includes("Dee"))
        assert.include(updated, "1990-03-14")
      })
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
              error: {
                message:
                  "Unknown column: \"shoe_size\". Nothing was imported. Choose a field: --map \"shoe_size=FIELD\", or ignore the column: --map \"shoe_size=\". " +
                  "The fields are first_name, last_name, primary_email, primary_phone, company, job_title, birthday, city, region, country, street_address, postal_code, website_url, network_url, source, notes, owner_user_id, lead_status, lifecycle_stage, tag_ids, tags, and custom_values.KEY."
              }
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
        const dry = yield* run(`first_name,notes\nEve,\nBob,"${"x\n".repeat(600_000)}`, "-", "--dry-run")
        assert.include(dry.stderr, "The dry run was interrupted, nothing was written: ")
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
        assert.isFalse(existsSync(kept))
        assert.strictEqual((yield* run("", file, "--bad-lines", kept)).code, 0)
        assert.strictEqual(yield* Effect.promise(() => readFile(kept, "utf8")), "first_name,import_error\n")
      }).pipe(Effect.scoped)
  )
})
