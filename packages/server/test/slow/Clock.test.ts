/** A host whose clock is wrong makes nothing late and nothing early: the database's clock is everyone's. */
import { assert, it } from "@effect/vitest"
import { layer as stores } from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { type ClaimedWork, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import { shiftedClock } from "../../testing/processes/ShiftedClock.ts"

const nowhere: Servers.Server = { port: 0, url: "" }

/** Puts a process on a host whose clock is hours ahead, or behind. */
const ahead = (hours: number) => shiftedClock(hours * 3_600_000)

/** The times that commands, requests and workers wrote, which the provider had no say in. */
const written = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly name: string; readonly is_now: boolean | null }>`
    SELECT name, bool_and(at BETWEEN now() - interval '5 minutes' AND now() + interval '1 second') AS is_now
    FROM (
      SELECT 'organization', created_at FROM organizations
      UNION ALL SELECT 'key', created_at FROM api_keys
      UNION ALL SELECT 'contact', updated_at FROM contacts
      UNION ALL SELECT 'conversation', created_at FROM conversations
      UNION ALL SELECT 'message', created_at FROM messages
      UNION ALL SELECT 'attempt', first_attempt_at FROM sends
    ) AS times (name, at)
    GROUP BY name
  `
)

it.live(
  "commands, requests and workers on a host that is 73 hours ahead write the database's time",
  () =>
    Effect.gen(function*() {
      const { acme, database_url, environment, servers: [server = nowhere] } = yield* Cluster.make({
        servers: 1,
        environment: ahead(73)
      })
      yield* Servers.serve(environment, server)
      const json = Api.newConversation(acme.channel_id, "+49 151 7654321", "Kim")
      const options = { key: acme.key, json, idempotency_key: "start-1234" }
      assert.strictEqual((yield* Api.request(server, "POST", "/conversations", options)).status, 202)

      const done = eventually(written, (rows) => rows.length === 6 && rows.every(({ is_now }) => is_now !== null)).pipe(
        Effect.provide(Client.layer({ url: Redacted.make(database_url), connections: 1 }))
      )
      const times = Object.fromEntries((yield* done).map(({ is_now, name }) => [name, is_now]))
      const names = ["organization", "key", "contact", "conversation", "message", "attempt"]
      assert.deepStrictEqual(times, Object.fromEntries(names.map((name) => [name, true])))

      const ready = yield* Effect.promise(() => fetch(`${server.url}/health/ready`))
      assert.strictEqual(ready.status, 200)
      assert.deepStrictEqual(yield* Effect.promise(() => ready.json()), {
        status: "ok",
        warning: "This host's clock is 3d 1h ahead of the database's. The service uses the database's clock."
      })
    }).pipe(Effect.scoped)
)

/** How many rows there are that a purge may remove. */
const kept = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly records: number; readonly events: number; readonly deliveries: number }>`
    SELECT (SELECT count(*)::int FROM idempotency_keys) AS records,
      (SELECT count(*)::int FROM webhook_events) AS events,
      (SELECT count(*)::int FROM webhook_deliveries) AS deliveries
  `
)

const statusOf = (id: string) =>
  SqlClient.SqlClient.use((sql) => sql<{ readonly status: string }>`SELECT status FROM sends WHERE id = ${id}::uuid`)
    .pipe(Effect.map(([row]) => row?.status))

const untilSent = (id: string) => eventually(statusOf(id), (status) => status === "sent")

/** Claims the one send that is due, as a worker with the right time that is busy with it. */
const claimSend = Effect.gen(function*() {
  const now = yield* DateTime.now
  const lease_until = DateTime.add(now, { seconds: 60 })
  const options = { kind: "send", limit: 1, now, lease_until, token: globalThis.crypto.randomUUID() } as const
  const [claimed] = yield* WorkQueue.use((queue) => queue.claim(options))
  return claimed ?? assert.fail("No send is due.")
})

/** Starts a worker with a wrong clock, and returns the check that this changed nothing. */
const withWorker = Effect.fnUntraced(
  function*(environment: Processes.Environment, hours: number, claimed: ClaimedWork) {
    const [before] = yield* kept
    yield* Processes.startMain(["worker"], { ...environment, ...ahead(hours) })
    return Effect.gen(function*() {
      assert.strictEqual(yield* statusOf(claimed.ref), "queued", "a live lease was swept")
      const [after] = yield* kept
      for (const name of ["records", "events", "deliveries"] as const) {
        assert.isAtLeast(after?.[name] ?? 0, before?.[name] ?? Infinity, `${name} were purged`)
      }
      assert.isTrue(yield* Fixtures.releaseWork(claimed), "the lease was lost")
      yield* untilSent(claimed.ref)
    })
  }
)

const Started = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Struct({ id: Schema.String, conversation_id: Schema.String }) })
)

it.live(
  "workers on hosts that are 1 hour behind, and 1, 73 and 744 hours ahead, sweep no lease, freeze no lane, purge nothing",
  () =>
    Effect.gen(function*() {
      const { acme, database_url, environment, servers: [server = nowhere] } = yield* Cluster.make({
        servers: 1,
        environment: {}
      })
      yield* Processes.startMain(["serve", "--no-worker", "--port", String(server.port)], environment)
      yield* Processes.untilUp(`${server.url}/health/ready`)
      const post = (path: string, idempotency_key: string, json: unknown) =>
        Api.request(server, "POST", path, { key: acme.key, json, idempotency_key })
      const start = Effect.fnUntraced(function*(phone: string) {
        const { text } = yield* post(
          "/conversations",
          `start ${phone}`,
          Api.newConversation(acme.channel_id, phone, "Kim")
        )
        return (yield* Schema.decodeUnknownEffect(Started)(text)).data
      })
      yield* post("/webhooks", "subscribe", { url: "https://example.com/hook", event_types: ["conversation.closed"] })
      const created = yield* post("/contacts", "one contact", { first_name: "Kim" })

      yield* Effect.forEach([-1, 1, 73, 744], (hours, index) =>
        Effect.gen(function*() {
          const held = yield* start(`+49151700${index}5678`)
          const closed = yield* post(`/conversations/${held.conversation_id}/close`, `closing after ${hours}`, {})
          assert.strictEqual(closed.status, 200, closed.text)
          const claimed = yield* claimSend
          const asBefore = yield* withWorker(environment, hours, claimed)
          // Once it has sent this, it has swept leases and purged records too, as every worker does first.
          yield* untilSent((yield* start(`+49151800${index}5678`)).id)
          yield* asBefore
        }).pipe(Effect.scoped)).pipe(
          Effect.provide(
            stores.pipe(Layer.provideMerge(Client.layer({ url: Redacted.make(database_url), connections: 2 })))
          )
        )

      const again = yield* post("/contacts", "one contact", { first_name: "Kim" })
      assert.strictEqual(again.text, created.text)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
    }).pipe(Effect.scoped)
)
