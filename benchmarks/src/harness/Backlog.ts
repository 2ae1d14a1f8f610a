/** The work queue of the measured service, in its database. */
import { kind_rules } from "@messaging-crm/core/WorkQueue"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { untilPasses } from "./Waiting.ts"

const { cap, fifo } = kind_rules.webhook_delivery

/** Inserts `count` due deliveries for each webhook, with their events and work. */
export const enqueueDeliveries = Effect.fnUntraced(function*(
  organization_id: string,
  webhooks: ReadonlyArray<string>,
  count: number
) {
  const sql = yield* SqlClient.SqlClient
  const now = new Date(yield* Clock.currentTimeMillis)
  for (const webhook_id of webhooks) {
    const lane = `webhook_delivery:${webhook_id}`
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`
        WITH event AS (
          INSERT INTO webhook_events (organization_id, id, type, body, created_at)
          SELECT ${organization_id}, gen_random_uuid(), 'message.received', '{"padding":"' || repeat('x', 200) || '"}', ${now}
          FROM generate_series(1, ${count}::integer)
          RETURNING id
        )
        INSERT INTO webhook_deliveries (
          organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at
        )
        SELECT ${organization_id}, gen_random_uuid(), ${webhook_id}, id, 'message.received', 'pending', 0, ${now}, ${now}
        FROM event
      `
      yield* sql`
        INSERT INTO work (organization_id, kind, lane, lane_name, ref, due_at)
        SELECT organization_id, 'webhook_delivery', webhook_id, ${lane}, id, ${now}
        FROM webhook_deliveries
        WHERE webhook_id = ${webhook_id} AND status = 'pending'
        ON CONFLICT DO NOTHING
      `
      yield* sql`
        INSERT INTO work_lanes (organization_id, name, cap, allowed, fifo, next_due)
        VALUES (${organization_id}, ${lane}, ${cap}, ${cap}, ${fifo}, ${now})
        ON CONFLICT (name) DO UPDATE SET next_due = excluded.next_due, closed = false, emptied_at = NULL
      `
    }))
  }
})

const isIdle = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly is_idle: boolean }>`
    SELECT NOT EXISTS (SELECT FROM provider_callbacks)
      AND NOT EXISTS (SELECT FROM work WHERE kind <> 'send_outcome') AS is_idle
  `
).pipe(Effect.map(([row]) => row?.is_idle === true))

/** Waits until all callbacks and queued work are processed. */
export const untilIdle = untilPasses(isIdle, { interval: "100 millis", times: 3000, until: (is_idle) => is_idle })
