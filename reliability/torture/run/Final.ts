/** The end of a run: waits until no work is left, and reads all data. */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Redacted, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Api from "../../../packages/server/testing/processes/Api.ts"
import { readAudit, readLists, toJson } from "../FinalState.ts"
import type { FinalState } from "../History.ts"
import type { Installation, Organization } from "./Cluster.ts"
import type { Operators } from "./Operators.ts"

const Page = Schema.fromJsonString(Schema.Struct({
  data: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
  next_cursor: Schema.NullOr(Schema.String)
}))

const attempts_max = 50

/** Reads a page of a list. It retries, because a server can still close a connection after the faults. */
const get = ({ servers: [server] }: Installation, { key }: Organization) => (path: string) =>
  server === undefined
    ? Effect.die(new Error("There is no server."))
    : Api.request(server, "GET", path, { key }).pipe(
      Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Page)(text)),
      Effect.retry({ schedule: Schedule.spaced("200 millis"), times: attempts_max }),
      Effect.orDie
    )

/** Reads all data of an organization. */
export const read = Effect.fnUntraced(
  function*(installation: Installation, operators: Operators, organization: Organization) {
    const run = operators(organization)
    const sql = yield* SqlClient.SqlClient
    // The API lists the 100 most recent.
    const webhooks = toJson(
      yield* sql`
      SELECT id, url, event_types, status, created_at, disabled_at FROM webhooks
      WHERE organization_id = ${organization.organization_id}::uuid ORDER BY created_at DESC, id DESC
    `
    )
    const deliveries = toJson(
      yield* sql`
      SELECT id, webhook_id, event_id, event_type, status, attempt_count, response_status, failure_code, created_at
      FROM webhook_deliveries
      WHERE organization_id = ${organization.organization_id}::uuid ORDER BY created_at DESC, id DESC
    `
    )
    const uncertain = toJson(
      yield* sql`SELECT id FROM sends WHERE organization_id = ${organization.organization_id}::uuid AND may_be_sent`
    )
    return {
      ...yield* readLists(get(installation, organization)),
      uncertain_sends: uncertain.map(({ id }) => String(id)),
      webhooks,
      deliveries: Object.fromEntries(
        webhooks.map(({ id }) => [String(id), deliveries.filter(({ webhook_id }) => webhook_id === id)])
      ),
      audit: yield* run(readAudit)
    } satisfies FinalState
  }
)

/** The remaining work, and the number of messages and events, which grows while the service makes progress. */
const progress = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly left: ReadonlyArray<string>; readonly rows: number }>`
    SELECT
      array(SELECT kind || ' ' || ref FROM work UNION ALL SELECT 'callback' FROM provider_callbacks) AS left,
      ((SELECT count(*) FROM messages) + (SELECT count(*) FROM webhook_events))::integer AS rows
  `
).pipe(Effect.map(([row]) => row ?? { left: ["unknown"], rows: -1 }))

/** Makes attempts due now, because pauses between them last minutes. An unknown outcome keeps its time. */
const makeAttemptsDue = SqlClient.SqlClient.use((sql) =>
  Effect.andThen(
    sql`
      UPDATE work SET due_at = now()
      WHERE kind <> 'send_outcome' AND leased_until IS NULL AND due_at > now()
    `,
    sql`
      UPDATE work_lanes SET next_due = least(next_due, now()), paused_until = NULL
      WHERE kind <> 'send_outcome' AND next_due < 'infinity'
    `
  )
)

/** The number of consecutive checks with an empty queue, because the network reports after up to 200 ms. */
const empty_checks = 4

/**
 * Waits until the queue stays empty, or until there was no progress for a number of seconds, and returns the remaining work.
 * It has no other limit, because in a long run many sends wait for the send before them.
 */
export const waitUntilIdle = Effect.fnUntraced(function*(seconds: number) {
  let [empty, idle] = [0, 0]
  let before = yield* progress
  while (empty < empty_checks && idle < seconds * 2) {
    yield* makeAttemptsDue
    yield* Effect.sleep("500 millis")
    const now = yield* progress
    const isSame = now.rows === before.rows && now.left.length === before.left.length
    idle = isSame ? idle + 1 : 0
    empty = isSame && now.left.length === 0 ? empty + 1 : 0
    before = now
  }
  return before.left
})

/** Layer for a client of a database, without a proxy. */
export const databaseLayer = (database_url: string) =>
  Client.layer({ url: Redacted.make(database_url), connections: 2 })
