/** `contacts export` and `contacts erase`, as a person runs them, and what they leave in the whole database. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { AuditRecord } from "@messaging-crm/core/Audit"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { EventType } from "@messaging-crm/core/Events"
import { Inbound } from "@messaging-crm/core/Inbound"
import { export_schema } from "@messaging-crm/core/PersonalData"
import { foldCase } from "@messaging-crm/core/Text"
import addFormats from "ajv-formats"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Context, DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { crm } from "../../../conformance/src/Journeys/JourneyScene.ts"
import { canaries, person } from "../../../conformance/src/Journeys/PersonalData/PersonScene.ts"
import * as Database from "../../src/Database.ts"
import * as Layers from "../../src/Layers.ts"
import { folder } from "../../testing/Folder.ts"
import * as Processes from "../../testing/processes/Processes.ts"

class Environment extends Context.Service<Environment, Processes.Environment>()("test/Environment") {}

/** A migrated database of its own, the operations on it, and the environment of commands that use it. */
const layer = Layer.unwrap(Effect.gen(function*() {
  const database_url = yield* Databases.empty
  const storage = Layers.postgres.pipe(
    Layer.provideMerge(Database.migrated),
    Layer.provideMerge(Client.layer({ url: Redacted.make(database_url) }))
  )
  return Layer.mergeAll(crm(storage), Layer.succeed(Environment, { DATABASE_URL: database_url })).pipe(
    Layer.provideMerge(storage)
  )
}))

/** The columns that can hold a word of a person. Each holds one in the test, before the erasure. */
const personal = [
  "contact_texts.search_text",
  ...[
    "birthday",
    "city",
    "company",
    "country",
    "custom_values",
    "email_key",
    "first_name",
    "identities",
    "job_title",
    "last_activity_preview",
    "last_name",
    "network_url",
    "notes",
    "postal_code",
    "primary_email",
    "primary_phone",
    "region",
    "search_text",
    "source",
    "street_address",
    "website_url"
  ].map((column) => `contacts.${column}`),
  "conversations.close_category",
  "conversations.last_activity_preview",
  "idempotency_keys.body",
  "identities.display_name",
  "identities.external_id",
  "identities.username",
  "identity_names.name",
  "media.filename",
  "media_slices.bytes",
  "messages.details",
  "messages.media",
  "messages.provider_message_id",
  "messages.sender",
  "messages.text",
  "provider_callbacks.body",
  "provider_callbacks.people",
  "provider_messages.provider_message_id",
  "sends.content",
  "sends.recipient",
  "webhook_deliveries.response_body",
  "webhook_events.full_body"
]

/** All other columns of text, JSON, bytes and lists: the organization's own words, IDs, states, and an edit without its message. */
const others: Readonly<Record<string, ReadonlyArray<string>>> = {
  api_keys: ["digest", "name", "scopes"],
  audit_records: ["operation", "request_id"],
  channel_accounts: ["account_id", "app_id", "business_account_id", "channel_type", "page_id", "sealed_token"],
  channel_holds: ["reason"],
  channels: ["address", "name", "phone_messaging_business_account_id", "type"],
  contact_fields: ["key", "name", "options", "type"],
  contacts: ["lead_status", "lifecycle_stage", "tags"],
  conversations: ["agent_id", "status"],
  idempotency_keys: ["fingerprint", "key", "request_id"],
  identities: ["channel_type"],
  identity_names: ["channel_type"],
  media: ["mime_type"],
  members: ["email", "email_key", "name", "role"],
  messages: ["direction", "status", "type"],
  messaging_crm_schema: ["hash", "name", "version"],
  organization_moves: ["other", "state"],
  organizations: ["name", "default_country"],
  provider_callbacks: ["source"],
  provider_messages: ["early_updates"],
  secret_canary: ["sealed"],
  sends: ["failure_reason", "status"],
  tags: ["color", "name", "name_key"],
  webhook_deliveries: ["event_type", "failure_code", "status"],
  webhook_events: ["body", "earlier_commits", "type"],
  webhooks: ["event_types", "sealed_secret", "status", "url"],
  work: ["kind", "lane_name", "trace"],
  work_lanes: ["kind", "name"]
}

/** Returns every column that can hold words. */
const wordy = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly name: string }>`
    SELECT table_name || '.' || column_name AS name
    FROM information_schema.columns
    WHERE table_schema NOT IN ('information_schema', 'pg_catalog')
      AND (data_type IN ('text', 'character varying', 'jsonb', 'json', 'bytea', 'ARRAY') OR udt_name = 'tsvector')
  `
).pipe(Effect.map((rows) => rows.map(({ name }) => name)))

/** Returns the columns of a list in which one of the words is found. */
const columnsWith = Effect.fnUntraced(function*(columns: ReadonlyArray<string>, words: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* Effect.forEach(columns, (column) => {
    const [table = "", name = ""] = column.split(".")
    return sql<{ readonly text: string }>`SELECT row_to_json(t)::text AS text FROM (SELECT ${sql(name)} FROM ${
      sql(table)
    }) t`
      .pipe(Effect.map((rows) => rows.some(({ text }) => words.some((word) => legible(text).includes(word)))))
  })
  return columns.filter((_, index) => found[index] === true)
})

/** Returns the text of a row, with its bytes also as they were written. */
const legible = (row: string): string =>
  [
    row,
    ...Array.from(row.matchAll(/\\\\x([0-9a-f]+)/g), ([, hex = ""]) => Buffer.from(hex, "hex").toString("latin1"))
  ].join("\n")

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
  return rows.flat().map(({ row }) => legible(row)).join("\n")
})

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
addFormats.default(ajv)

const schemaFile = new URL("../../../../docs/contact-export.schema.json", import.meta.url)

/** The response of an endpoint to an event about the person. */
const endpoint_canary = "canary-endpoint"

/** Further texts about the person, one in every text field of a contact. */
const fields = {
  birthday: "1911-11-11",
  city: "canary-city",
  company: "canary-company",
  country: "canary-country",
  job_title: "canary-job",
  network_url: "https://canary-network.example/",
  postal_code: "canary-postal",
  region: "canary-region",
  source: "canary-source",
  street_address: "canary-street",
  website_url: "https://canary-website.example/"
}

/** Further texts about the person: a custom value, and what the network reports about the sender of a message. */
const told = {
  account: "canary-account",
  alias: "canary-alias-of",
  details: "canary-details",
  provider_message_id: "canary-provider-message",
  shown: "canary-shown",
  value: "canary-value"
}

/** Runs a program of Node that can write at most 1 KiB to a file. */
const withFileLimit = (args: ReadonlyArray<string>, environment: Processes.Environment) =>
  Effect.callback<{ readonly code: number | null; readonly stderr: string }>((resume) => {
    const shell = "trap '' XFSZ; ulimit -f 1; exec \"$@\""
    const child = spawn("bash", ["-c", shell, "bash", process.execPath, ...args], {
      env: { PATH: process.env["PATH"], ...environment },
      stdio: ["ignore", "ignore", "pipe"]
    })
    let stderr = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text
    })
    child.once("close", (code) => resume(Effect.succeed({ code, stderr })))
  })

const Records = Schema.fromJsonString(Schema.Array(AuditRecord))

it("the published schema of an export is current", async () => {
  assert.deepStrictEqual(JSON.parse(await readFile(schemaFile, "utf8")), JSON.parse(JSON.stringify(export_schema)))
})

it.layer(layer, { excludeTestServices: true, timeout: "5 minutes" })("a person's data", (it) => {
  it.effect("is exported by the published schema, and erased from every table", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const environment = yield* Environment
      const { as, channel, contact_id, conversation_id, number, organization_id } = yield* person
      for (const type of EventType.literals) {
        yield* Fixtures.webhook(organization_id, { event_types: [type], include_resource: true })
      }
      const field = yield* as(
        ContactFields.use((fields) =>
          fields.create(CreateContactField.make({ key: "plan", name: "Plan", type: "text", options: null }))
        )
      )
      yield* as(
        Contacts.use((contacts) =>
          contacts.update(contact_id, UpdateContact.make({ ...fields, custom_values: { [field.id]: told.value } }))
        )
      )
      yield* Inbound.use((inbound) =>
        inbound.receive({
          event: "message_received",
          channel_id: channel.id,
          provider_message_id: told.provider_message_id,
          from: {
            external_id: number,
            aliases: [told.alias],
            display_name: told.shown,
            username: told.account
          },
          type: "interactive",
          text: canaries.text,
          media: null,
          details: {
            choice: { kind: "button", id: null, title: told.details, description: null, payload: null }
          },
          sent_at: DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
        })
      )
      yield* as(
        Conversations.use((all) => all.close(conversation_id, CloseConversation.make({ category: canaries.category })))
      )
      // No worker runs from here on.
      const webhook = yield* Fixtures.webhook(organization_id)
      for (const data of [{ conversation_id }, { contact_id }]) {
        const event = yield* Fixtures.newEvent({ body: JSON.stringify({ data }) })
        yield* Fixtures.mustCommit(organization_id, Changes.raise(event))
        yield* Fixtures.mustCommit(organization_id, Changes.expand(event.id))
      }
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
      const cut = join(yield* folder, "cut.json")
      const failed = yield* withFileLimit([Processes.main, "contacts", "export", ...of, "--output", cut], environment)
      assert.deepStrictEqual(failed, { code: 1, stderr: `${cut} cannot be read or written (EFBIG). Check its disk.\n` })
      assert.isFalse(existsSync(cut))

      const said = [...Object.values(canaries), ...Object.values(fields), ...Object.values(told)]
      const words = [...said, ...said.map(foldCase), number, number.slice(1), endpoint_canary]
      const before = yield* dump
      for (const word of words) assert.include(before, word)
      assert.sameMembers(
        Array.from(yield* wordy),
        [...personal, ...Object.entries(others).flatMap(([table, names]) => names.map((name) => `${table}.${name}`))],
        "A new column: can it hold a word of a person?"
      )
      assert.deepStrictEqual(yield* columnsWith(personal, words), personal)
      for (const _ of ["erased", "again"]) {
        const erased = yield* contacts("erase", ...of, "--yes", "--json")
        assert.deepStrictEqual([erased.code, JSON.parse(erased.stdout)], [0, { id: contact_id }], erased.stderr)
      }
      assert.deepStrictEqual(yield* columnsWith(yield* wordy, words), [])
      const after = yield* dump
      for (const word of words) assert.notInclude(after, word)
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
      for (const command of [["export"], ["erase", "--yes"]]) {
        const { code, stderr, stdout } = yield* contacts(...command, ...nobody)
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.include(stderr, "No contact of this organization has this ID.")
      }
      const unasked = yield* contacts("erase", ...of)
      assert.deepStrictEqual([unasked.code, unasked.stdout], [1, ""])
      assert.include(unasked.stderr, "add --yes")
    }))
})
