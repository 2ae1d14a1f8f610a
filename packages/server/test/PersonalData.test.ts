/** `contacts export` and `contacts erase`, as a person runs them, and what they leave in the whole database. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { AuditRecord } from "@messaging-crm/core/Audit"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { export_schema } from "@messaging-crm/core/PersonalData"
import addFormats from "ajv-formats"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtemp, readFile, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { canaries, person } from "../../conformance/src/Journeys/PersonalData.ts"
import { crm } from "../../conformance/src/Journeys/Scene.ts"
import * as Database from "../src/Database.ts"
import * as Layers from "../src/Layers.ts"
import * as Processes from "../testing/Processes.ts"

class Environment extends Context.Service<Environment, Processes.Environment>()("test/Environment") {}

/** A migrated database of its own, the operations on it, and the environment of commands that use it. */
const layer = Layer.unwrap(Effect.gen(function*() {
  const database_url = yield* Processes.database
  const storage = Layers.postgres.pipe(
    Layer.provideMerge(Database.migrated),
    Layer.provideMerge(Client.layer({ url: Redacted.make(database_url) }))
  )
  return Layer.mergeAll(crm(storage), Layer.succeed(Environment, { DATABASE_URL: database_url })).pipe(
    Layer.provideMerge(storage)
  )
}))

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "messaging-crm-export-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

/** Returns every row of every table outside of the system's schemas as text, with bytes also as they were written. */
const dump = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    SELECT format('%I.%I', n.nspname, c.relname) AS name
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('information_schema', 'pg_catalog', 'pg_toast')
  `
  assert.isAbove(tables.length, 20)
  const rows = yield* Effect.forEach(
    tables,
    ({ name }) => sql<{ readonly row: string }>`SELECT row_to_json(t)::text AS row FROM ${sql.literal(name)} t`
  )
  return rows.flat().flatMap(({ row }) => [
    row,
    ...Array.from(row.matchAll(/\\\\x([0-9a-f]+)/g), ([, hex = ""]) => Buffer.from(hex, "hex").toString("latin1"))
  ]).join("\n")
})

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
addFormats.default(ajv)

const schemaFile = new URL("../../../docs/contact-export.schema.json", import.meta.url)

/** What an endpoint answered to an event about the person. */
const endpoint_canary = "canary-endpoint"

const Records = Schema.fromJsonString(Schema.Array(AuditRecord))

it("the schema of an export is published as the service writes it", async () => {
  assert.deepStrictEqual(JSON.parse(await readFile(schemaFile, "utf8")), JSON.parse(JSON.stringify(export_schema)))
})

it.layer(layer, { excludeTestServices: true, timeout: "60 seconds" })("a person's data", (it) => {
  it.effect("is exported as the published schema says, and erased from every table", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const environment = yield* Environment
      const { as, contact_id, conversation_id, number, organization_id } = yield* person
      const field = yield* as(
        ContactFields.use((fields) =>
          fields.create(CreateContactField.make({ key: "plan", name: "Plan", type: "text", options: null }))
        )
      )
      yield* as(
        Contacts.use((contacts) =>
          contacts.update(contact_id, UpdateContact.make({ custom_values: { [field.id]: canaries.value } }))
        )
      )
      yield* sql`
        UPDATE identities
        SET display_name = ${canaries.shown}, username = ${canaries.account}
        WHERE contact_id = ${contact_id}
      `
      const webhook = yield* Fixtures.webhook(organization_id)
      const event = yield* Fixtures.event({ body: JSON.stringify({ data: { conversation_id } }) })
      yield* Fixtures.write(organization_id, Changes.raise(event))
      yield* sql`UPDATE webhook_deliveries SET response_body = ${endpoint_canary} WHERE webhook_id = ${webhook.id}`
      const of = ["--organization", organization_id, "--contact", contact_id]
      const contacts = (...args: ReadonlyArray<string>) => Processes.run(["contacts", ...args], environment)

      const printed = yield* contacts("export", ...of)
      assert.strictEqual(printed.code, 0, printed.stderr)
      const validate = ajv.compile(JSON.parse(yield* Effect.promise(() => readFile(schemaFile, "utf8"))))
      assert.isTrue(validate(JSON.parse(printed.stdout)), JSON.stringify(validate.errors))
      assert.include(printed.stdout, Buffer.from(canaries.bytes).toString("base64"))
      const file = join(yield* folder, "kim.json")
      const written = yield* contacts("export", ...of, "--output", file)
      assert.deepStrictEqual([written.code, written.stdout], [0, ""], written.stderr)
      const withoutTime = (text: string) => ({ ...JSON.parse(text), exported_at: null })
      const text = yield* Effect.promise(() => readFile(file, "utf8"))
      assert.deepStrictEqual(withoutTime(text), withoutTime(printed.stdout))
      assert.strictEqual((yield* Effect.promise(() => stat(file))).mode & 0o777, 0o600)
      assert.strictEqual((yield* contacts("export", ...of, "--output", file)).code, 1)

      const said = Object.values(canaries).filter((word) => word !== canaries.callback)
      const words = [...said, number, number.slice(1), endpoint_canary]
      const before = yield* dump
      for (const word of words) assert.include(before, word)
      for (const _ of ["erased", "again"]) {
        const erased = yield* contacts("erase", ...of, "--json")
        assert.deepStrictEqual([erased.code, JSON.parse(erased.stdout)], [0, { id: contact_id }], erased.stderr)
      }
      const after = yield* dump
      for (const word of words) assert.notInclude(after, word)
      // What the callback says of another person stays.
      assert.include(after, `${canaries.callback} another`)
      const empty = yield* contacts("export", ...of)
      assert.isTrue(validate(JSON.parse(empty.stdout)), JSON.stringify(validate.errors))

      const audit = ["audit", "list", "--organization", organization_id, "--resource", contact_id, "--json"]
      const { stdout } = yield* Processes.run(audit, environment)
      const records = yield* Schema.decodeUnknownEffect(Records)(stdout)
      assert.deepStrictEqual(
        records.map(({ key_id, operation, request_id }) => ({ key_id, operation, request_id })),
        ["contacts.erase", "contacts.update", "contacts.update"].map((operation) => ({
          key_id: null,
          operation: operation as AuditRecord["operation"],
          request_id: null
        }))
      )

      const nobody = ["--organization", organization_id, "--contact", organization_id]
      for (const command of ["export", "erase"]) {
        const { code, stderr, stdout } = yield* contacts(command, ...nobody)
        assert.deepStrictEqual([code, stdout, stderr.trim()], [1, "", "The organization has no such contact."])
      }
    }), 120_000)
})
