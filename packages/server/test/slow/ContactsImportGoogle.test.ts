/** `contacts import` of an export of Google Contacts. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { folder } from "../../testing/Folder.ts"
import { begin, layer } from "./ContactsImportScene.ts"
import { googleExport, type Person, personOf } from "./GoogleContacts.ts"

const count = 20_000

const textOf = ({ first_name, last_name, notes, primary_email, primary_phone }: Person): string =>
  JSON.stringify([first_name, last_name, primary_phone, primary_email, notes])

const everyone = Array.from({ length: count }, (_, index) => textOf(personOf(index))).toSorted()

const peopleOf = (id: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql<Person>`
      SELECT first_name, last_name, primary_phone, primary_email, notes FROM contacts WHERE organization_id = ${id}
    `
  ).pipe(Effect.map((rows) => rows.map(textOf).toSorted()))

it.layer(layer, { excludeTestServices: true, timeout: "10 minutes" })("an export of Google Contacts", (it) => {
  it.effect(
    "is imported by one command, any number of times and with --update, and each person is there once",
    () =>
      Effect.gen(function*() {
        const { id, run, summarize } = yield* begin
        const directory = yield* folder
        const [file, later] = [join(directory, "contacts.csv"), join(directory, "later.csv")]
        yield* Effect.promise(() => writeFile(file, googleExport(count)))
        const first = yield* run("", file)
        assert.strictEqual(first.stdout, `${count} created, 0 unchanged, 0 invalid.\n`)
        assert.strictEqual(first.code, 0)
        assert.include(first.stderr, "Google Contacts export")
        assert.lengthOf(first.stderr.match(/: Birthday was left out/g) ?? [], count / 1000)
        assert.deepStrictEqual(yield* peopleOf(id), everyone)
        assert.deepInclude(yield* summarize("", file), { created: 0, unchanged: count, failed: 0 })

        // A year later, some people have another company, and there is one more.
        const change = (index: number): Readonly<Record<string, string>> =>
          index % 100 === 0 ? { "Organization Name": "New Ltd" } : {}
        yield* Effect.promise(() => writeFile(later, googleExport(count + 1, change)))
        const withPhone = Array.from({ length: count }, (_, index) => personOf(index)).filter(({ primary_phone }) =>
          primary_phone !== null
        ).length
        const update = ["--update", "--key", "primary_phone"]
        const previewed = yield* summarize("", later, ...update, "--dry-run")
        const updated = yield* summarize("", later, ...update)
        assert.deepStrictEqual(updated, previewed)
        assert.deepInclude(updated, { created: 1, unchanged: withPhone - count / 100, failed: count - withPhone })
        assert.match(updated.errors[0]?.message ?? "", /^Phone 1 - Value is required because it is the key/)
        assert.deepStrictEqual(yield* peopleOf(id), [...everyone, textOf(personOf(count))].toSorted())

        const keyed = yield* summarize("", file, "--key", "primary_email")
        assert.deepInclude(keyed, { created: 0, unchanged: 0, failed: count })
        assert.lengthOf(yield* peopleOf(id), count + 1)
      }).pipe(Effect.scoped),
    // Six imports of 20,000 lines.
    600_000
  )
})
