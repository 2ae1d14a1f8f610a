import { EventStore } from "@messaging-crm/core/Events"
import type { WebhookId } from "@messaging-crm/core/Ids"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { date } from "./Columns.ts"

/** Layer that keeps events, with their deliveries, in PostgreSQL. */
export const layer = Layer.effect(
  EventStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return EventStore.of({
      subscribers: (organization_id, type) =>
        sql<{ readonly id: WebhookId }>`
          SELECT id
          FROM webhooks
          WHERE organization_id = ${organization_id} AND status = 'active' AND ${type} = ANY(event_types)
          ORDER BY id
        `.pipe(Effect.map((rows) => rows.map(({ id }) => id)), Effect.orDie),
      append: (organization_id, { body, created_at, id, type }, deliveries) => {
        const at = date(created_at)
        return sql`
          WITH event AS (
            INSERT INTO webhook_events (organization_id, id, type, body, created_at)
            VALUES (${organization_id}, ${id}, ${type}, ${body}, ${at})
          )
          INSERT INTO webhook_deliveries (
            organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at
          )
          SELECT ${organization_id}, delivery.id, delivery.webhook_id, ${id}, ${type}, 'pending', 0, ${at}, ${at}
          FROM unnest(
            ${deliveries.map((delivery) => delivery.id)}::uuid[],
            ${deliveries.map((delivery) => delivery.webhook_id)}::uuid[]
          ) AS delivery (id, webhook_id)
        `.pipe(Effect.orDie, Effect.asVoid)
      },
      purge: (before, limit) =>
        sql`
          DELETE FROM webhook_events
          WHERE ctid = ANY(ARRAY(
            SELECT ctid
            FROM webhook_events
            WHERE created_at < ${date(before)}
            ORDER BY created_at
            LIMIT ${limit}
          ))
          RETURNING id
        `.pipe(Effect.map((removed) => removed.length), Effect.orDie)
    })
  })
)
