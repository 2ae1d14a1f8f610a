/** This version on a database that the next version has migrated and written to, as in an upgrade and after a rollback. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Files from "../../../adapter-postgres/src/database/schema/Files.ts"
import { freePort } from "../../src/dev/FreePort.ts"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import * as Subscribers from "../../testing/processes/Subscribers.ts"

/** A schema to which a version adds a table, a function, and a column of each table. It works with this version. */
const next: Migrations.Schema = {
  version: "99.0.0",
  tables: [...Files.tables, {
    name: `tables/9999_next@${Files.version}.sql`,
    hash: "next",
    text: `
      DO $each$ DECLARE name text; BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
          EXECUTE format('ALTER TABLE %I ADD COLUMN next_column text', name);
        END LOOP;
      END $each$;
      CREATE TABLE next_rows (organization_id uuid PRIMARY KEY REFERENCES organizations);
    `
  }],
  functions: [...Files.functions, {
    name: "functions/next_function.sql",
    hash: "next",
    text: "CREATE OR REPLACE FUNCTION next_function() RETURNS integer LANGUAGE sql RETURN 1"
  }]
}

const One = Schema.fromJsonString(Schema.Struct({ data: Schema.Record(Schema.String, Schema.Unknown) }))
const Many = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)) })
)

interface Scene {
  readonly cluster: Cluster.Cluster
  readonly server: Servers.Server
  readonly key: string
  readonly sql: SqlClient.SqlClient
  /** Sends a request, which must succeed, and returns its response. */
  readonly call: (method: "GET" | "PATCH" | "POST", path: string, json?: unknown) => Effect.Effect<string>
}

const scene = Effect.gen(function*() {
  const cluster = yield* Cluster.make({
    servers: 2,
    environment: { RATE_LIMIT_PER_MINUTE: "100000", WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" }
  })
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die("no server")
  const { key } = cluster.acme
  const database = yield* Layer.build(Client.layer({ url: Redacted.make(cluster.database_url), connections: 2 }))
  const sql = Context.get(database, SqlClient.SqlClient)
  const call: Scene["call"] = (method, path, json) =>
    Api.request(server, method, path, {
      key,
      ...(json === undefined ? {} : { json }),
      ...(method === "GET" ? {} : { idempotency_key: crypto.randomUUID() })
    }).pipe(
      Effect.orDie,
      Effect.map(({ status, text }) => {
        assert.isBelow(status, 300, `${method} ${path}: ${text}`)
        return text
      })
    )
  return { cluster, server, key, sql, call } satisfies Scene
})

const one = (text: string) => Schema.decodeUnknownSync(One)(text).data
const many = (text: string) => Schema.decodeUnknownSync(Many)(text).data

/** Starts a conversation and returns its send, which is queued. */
const start = ({ call, cluster }: Scene, phone: string) =>
  Effect.map(call("POST", "/conversations", Api.newConversation(cluster.acme.channel_id, phone, "Kim")), one)

const untilSent = ({ call }: Scene, id: unknown) =>
  eventually(Effect.map(call("GET", `/sends/${id}`), one), ({ status }) => status === "sent")

/** Uses each resource once, through every kind of statement, until a message is sent and its event delivered. */
const exercise = Effect.fnUntraced(function*(crm: Scene, { received }: Subscribers.Subscriber, round: number) {
  const { call, cluster: { acme } } = crm
  const before = received.length
  const contact = one(yield* call("POST", "/contacts", { first_name: `Kim ${round}`, notes: "n" }))
  yield* call("PATCH", `/contacts/${contact["id"]}`, { company: "Acme" })
  yield* call("POST", `/contacts/${contact["id"]}/notes`, { text: "one more" })
  yield* call("POST", "/contacts/upsert", {
    match: "primary_email",
    contacts: [{ primary_email: `kim${round}@acme.example`, first_name: "Kim" }]
  })
  yield* call("POST", "/tags", { name: `tag ${round}`, color: "red" })
  assert.isAbove(many(yield* call("GET", `/contacts?query=Kim ${round}`)).length, 0)
  const send = yield* start(crm, `+4915112345${round}0`)
  yield* untilSent(crm, send["id"])
  const conversation = `/conversations/${send["conversation_id"]}`
  assert.lengthOf(many(yield* call("GET", `${conversation}/messages`)), 1)
  yield* call("PATCH", `${conversation}/assignment`, { assigned_user_id: acme.member_id })
  yield* call("POST", `${conversation}/close`, {})
  yield* eventually(Effect.sync(() => received.length), (count) => count >= before + 2)
  const paths = ["conversations", "sends", "events", "webhooks", "channels", "members", "tags", "contact-fields"]
  yield* Effect.forEach([...paths, "templates"], (path) => call("GET", `/${path}`))
})

const subscriber = ({ key, server }: Scene) =>
  Subscribers.subscriber(server, key, {
    event_types: ["message.sent", "conversation.closed"],
    behavior: Subscribers.prompt
  })

it.live("this version runs during and after the migrations of the next version, and reverts none", () =>
  Effect.gen(function*() {
    const crm = yield* scene
    const { cluster, server, sql } = crm
    yield* Servers.serve(cluster.environment, server)
    const events = yield* subscriber(crm)
    yield* exercise(crm, events, 1)
    yield* Effect.provideService(Migrations.migrate(next), SqlClient.SqlClient, sql)
    yield* exercise(crm, events, 2)
    yield* Processes.untilUp(`${server.url}/health/ready`)

    // What a rollback starts: this version, on the schema of the next one.
    const [, other] = cluster.servers
    if (other === undefined) return assert.fail("There is a second server.")
    assert.deepStrictEqual(yield* Processes.command(["migrate"], cluster.environment), { applied: [] })
    yield* Servers.serve(cluster.environment, other)
    yield* exercise({ ...crm, server: other }, events, 3)
  }).pipe(Effect.scoped))

it.live("an error at startup names the version that a newer schema requires", () =>
  Effect.gen(function*() {
    const { cluster, sql } = yield* scene
    const [file] = next.tables.slice(-1)
    if (file === undefined) return assert.fail("There is a file.")
    const tables = [...Files.tables, { ...file, name: "tables/9999_next@98.1.0.sql" }]
    yield* Effect.provideService(Migrations.migrate({ ...next, tables }), SqlClient.SqlClient, sql)
    for (const command of [["serve", "--port", "0"], ["worker"], ["migrate"]]) {
      const { code, stderr } = yield* Processes.run(command, cluster.environment)
      assert.strictEqual(code, 1)
      assert.include(stderr, "a newer version changed its schema. Use version 98.1.0 or later.")
    }
  }).pipe(Effect.scoped))

it.live("this version counts work of an unknown kind, and does not claim it", () =>
  Effect.gen(function*() {
    const crm = yield* scene
    const { cluster: { acme, environment }, server, sql } = crm
    const metrics_port = yield* freePort
    const lane = crypto.randomUUID()
    yield* sql`
      INSERT INTO work_lanes (name, cap, allowed, fifo, next_due, organization_id)
      VALUES (${`next_kind:${lane}`}, 1, 1, true, now(), ${acme.organization_id})
    `
    yield* sql`
      INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at)
      VALUES (${acme.organization_id}, ${`next_kind:${lane}`}, 'next_kind', ${lane}, ${lane}, now())
    `
    yield* Servers.serve({ ...environment, METRICS_PORT: String(metrics_port) }, server)
    const { id } = yield* start(crm, "+4915112345678")
    yield* untilSent(crm, id)
    assert.deepStrictEqual(yield* sql`SELECT attempt, leased_until FROM work WHERE kind = 'next_kind'`, [
      { attempt: 0, leased_until: null }
    ])
    const metrics = yield* Effect.promise(async () => (await fetch(`http://127.0.0.1:${metrics_port}/metrics`)).text())
    assert.match(metrics, /messaging_crm_work_items\{[^}]*kind="next_kind"[^}]*state="due"[^}]*\} 1/)
    assert.match(metrics, /messaging_crm_storage_up 1/)
  }).pipe(Effect.scoped))

it.live("this version leaves a send with unknown content for the next version, and sends the others", () =>
  Effect.gen(function*() {
    const crm = yield* scene
    const { cluster: { environment }, server, sql } = crm
    yield* Servers.serveApi(environment, server)
    const unknown = yield* start(crm, "+4915112345001")
    yield* sql`UPDATE sends SET content = jsonb_build_object('type', 'poll', 'question', 'Why?', 'known', content)`
    const known = yield* start(crm, "+4915112345002")
    yield* Processes.startMain(["worker"], environment)
    yield* untilSent(crm, known["id"])
    const postponed = sql<{ readonly defects: number }>`
      SELECT defects FROM work WHERE ref = ${String(unknown["id"])} AND attempt > 0 AND due_at > now()
    `
    yield* eventually(postponed, (rows) => rows.length === 1)
    assert.deepStrictEqual(yield* postponed, [{ defects: 0 }])
    assert.strictEqual(one(yield* crm.call("GET", `/sends/${unknown["id"]}`))["status"], "queued")

    // The worker of the next version knows it.
    yield* sql`UPDATE sends SET content = content -> 'known' WHERE content ? 'known'`
    yield* sql`UPDATE work SET due_at = now()`
    yield* sql`UPDATE work_lanes SET next_due = now(), paused_until = NULL, closed = false`
    yield* untilSent(crm, unknown["id"])
  }).pipe(Effect.scoped))

it.live("this version reads rows with values that the next version has added, and delivers its events", () =>
  Effect.gen(function*() {
    const crm = yield* scene
    const { call, cluster: { acme, environment }, server, sql } = crm
    yield* Servers.serve(environment, server)
    const events = yield* subscriber(crm)
    const send = yield* start(crm, "+4915112345678")
    yield* untilSent(crm, send["id"])
    const organization_id = acme.organization_id
    yield* sql`UPDATE messages SET type = 'poll', sender = '{"type":"bot","name":null,"model":"m"}', details = '{"poll":[1]}'`
    yield* sql`
      UPDATE sends
      SET status = 'failed', message_id = NULL, failure_reason = 'next_reason', content = '{"type":"poll","question":"Why?"}'
    `
    yield* sql`UPDATE api_keys SET scopes = scopes || '["next:read"]'`
    yield* sql`UPDATE webhooks SET event_types = event_types || 'next.happened'::text`
    yield* sql`
      INSERT INTO audit_records (organization_id, at, id, operation, resource_id)
      VALUES (${organization_id}, now(), gen_random_uuid(), 'next.operation', gen_random_uuid())
    `
    // An event of a new type, with its delivery, and a new value in one of a known type.
    const [event_id, delivery_id, other_id] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
    const body = JSON.stringify({
      id: event_id,
      type: "next.happened",
      timestamp: "2026-01-01T00:00:00.000Z",
      data: {}
    })
    const other = JSON.stringify({
      id: other_id,
      type: "webhook.disabled",
      timestamp: "2026-01-01T00:00:00.000Z",
      data: { webhook_id: events.webhook_id, reason: "next_reason" }
    })
    yield* sql`
      INSERT INTO webhook_events (organization_id, id, type, body, created_at) VALUES
      (${organization_id}, ${event_id}, 'next.happened', ${body}, now()),
      (${organization_id}, ${other_id}, 'webhook.disabled', ${other}, now())
    `
    yield* sql`
      INSERT INTO webhook_deliveries (
        organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at
      )
      VALUES (
        ${organization_id}, ${delivery_id}, ${events.webhook_id}, ${event_id}, 'next.happened', 'pending', 0, now(), now()
      )
    `
    yield* sql`
      INSERT INTO work_lanes (name, cap, allowed, fifo, next_due, organization_id)
      VALUES (${`webhook_delivery:${events.webhook_id}`}, 8, 8, false, now(), ${organization_id})
      ON CONFLICT (name) DO UPDATE SET next_due = now(), emptied_at = NULL
    `
    yield* sql`
      INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at)
      VALUES (
        ${organization_id}, ${`webhook_delivery:${events.webhook_id}`}, 'webhook_delivery', ${events.webhook_id},
        ${delivery_id}, now()
      )
    `
    yield* eventually(Effect.sync(() => events.received), (all) => all.some((each) => each.event_id === event_id))
    assert.deepStrictEqual(events.received.filter((each) => each.event_id === event_id).map(({ body }) => body), [body])

    const [message] = many(yield* call("GET", `/conversations/${send["conversation_id"]}/messages`))
    assert.strictEqual(message?.["type"], "poll")
    assert.strictEqual(one(yield* call("GET", `/sends/${send["id"]}`))["failure_reason"], "next_reason")
    const types = many(yield* call("GET", "/events")).map(({ type }) => type)
    assert.includeMembers(types, ["message.sent", "contact.created"])
    yield* call("PATCH", `/webhooks/${events.webhook_id}`, { url: "https://shop.example/webhook" })
    const webhook = one(yield* call("GET", `/webhooks/${events.webhook_id}`))
    assert.deepStrictEqual(webhook["event_types"], ["message.sent", "conversation.closed", "next.happened"])
    const [delivery] = many(yield* call("GET", `/webhooks/${events.webhook_id}/deliveries`))
    assert.deepInclude(delivery, { event_type: "next.happened", status: "succeeded" })
    yield* call("GET", "/sends?status=failed")
    const flags = ["--organization", organization_id]
    const [contact] = many(yield* call("GET", "/contacts"))
    const of = ["--contact", String(contact?.["id"])]
    const { code, stderr, stdout } = yield* Processes.run(["contacts", "export", ...flags, ...of], environment)
    assert.strictEqual(code, 0, stderr)
    const [{ messages, sends }] = JSON.parse(stdout).conversations
    assert.deepInclude(messages[0], { type: "poll", sender: { type: "bot", name: null } })
    assert.deepInclude(sends[0], { failure_reason: "next_reason", content: { type: "poll", question: "Why?" } })
    yield* Processes.command(["audit", "list", ...flags], environment)
    yield* Processes.command(["webhooks", "list", ...flags], environment)
    yield* Processes.command(["keys", "list", ...flags], environment)
    yield* Processes.command(["doctor"], environment)
  }).pipe(Effect.scoped))
