/** `contacts import`, as a person runs it. */
import { assert, it } from "@effect/vitest"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { limits } from "@messaging-crm/core/Limits"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Effect } from "effect"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { folder } from "../../testing/Folder.ts"
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
