import { Timestamp } from "@messaging-crm/core/Timestamps"
import { WebhookDelivery, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { Webhook } from "@messaging-crm/core/Webhooks"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, OptionalAt } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"

const deliveries = rows(Schema.Struct({
  ...WebhookDelivery.fields,
  last_attempt_at: OptionalAt,
  next_attempt_at: OptionalAt,
  created_at: At
}))

const outgoing = first(Schema.Struct({
  delivery: Schema.Struct({ ...WebhookDelivery.fields, version: Schema.Int }),
  body: Schema.String,
  webhook: Schema.Struct({
    ...Webhook.fields,
    sealed_secret: Schema.String,
    consecutive_failures: Schema.Int,
    first_failure_at: Schema.NullOr(Timestamp),
    version: Schema.Int
  })
}))

/** Layer that reads deliveries in PostgreSQL. */
export const layer = Layer.effect(
  WebhookDeliveryStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const columns = sql.literal(Object.keys(WebhookDelivery.fields).join(", "))

    return WebhookDeliveryStore.of({
      list: (organization_id, webhook_id, limit) =>
        deliveries(sql`
          SELECT ${columns}
          FROM webhook_deliveries
          WHERE organization_id = ${organization_id} AND webhook_id = ${webhook_id}
          ORDER BY created_at DESC, id DESC
          LIMIT ${limit}
        `),
      load: (organization_id, id) =>
        outgoing(sql`
          SELECT to_jsonb(d) AS delivery, e.body, to_jsonb(w) AS webhook
          FROM webhook_deliveries d
          JOIN webhook_events e ON e.organization_id = d.organization_id AND e.id = d.event_id
          JOIN webhooks w ON w.organization_id = d.organization_id AND w.id = d.webhook_id
          WHERE d.organization_id = ${organization_id} AND d.id = ${id}
        `)
    })
  })
)
