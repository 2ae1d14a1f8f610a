import { limits } from "@messaging-crm/core/Limits"
import { type ClaimedDelivery, WebhookDelivery, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookColumns } from "@messaging-crm/core/Webhooks"
import { Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { makeCommitOrTransactionClient } from "../database/CommitConnections.ts"
import { columnsOf, rows, stored } from "../database/RowCodecs.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"
import { claimWork, Item } from "../work/WorkQueue.ts"

const deliveries = rows(stored(WebhookDelivery))

const Outgoing = Schema.Struct({
  delivery: Schema.Struct({ ...WebhookDelivery.fields, version: Schema.Int }),
  body: Schema.String,
  full_body: Schema.NullOr(Schema.String),
  webhook: Schema.Struct({ ...WebhookColumns.fields, version: Schema.Int })
})

const outgoingDeliveries = rows(Outgoing)

const claimedDeliveries = rows(Schema.Struct({
  ...Item.fields,
  ...Struct.map(Outgoing.fields, Schema.NullOr)
}))

/**
 * A claim reads no longer resource, because one claim has up to 64 deliveries. The attempt of such a delivery loads it by itself.
 * The length in bytes is known without reading the resource.
 */
const claimed_bytes_max = limits.page_bytes_max / 64

/** Makes the function that claims deliveries, and reads each together with its event and its webhook. */
const makeClaim = Effect.gen(function*() {
  const claiming = yield* makeCommitOrTransactionClient
  const claim: WebhookDeliveryStore["Service"]["claim"] = (wanted) =>
    Effect.flatMap(claiming, (client) =>
      // A delivery that was committed while the claim began may be claimed, but is not seen by the rest of the statement.
      claimedDeliveries(client`
        SELECT item.organization_id, item.kind, item.lane, item.lane_cap, item.ref, item.attempt, item.defects, item.token,
          item.trace, to_jsonb(delivery) AS delivery, event.body, event.full_body, to_jsonb(webhook) AS webhook
        FROM ${claimWork(client, wanted)} item
        LEFT JOIN webhook_deliveries delivery ON delivery.organization_id = item.organization_id
          AND delivery.id = item.ref
        LEFT JOIN webhook_events event ON event.organization_id = delivery.organization_id
          AND event.id = delivery.event_id
          AND coalesce(octet_length(event.full_body), 0) <= ${client.literal(String(claimed_bytes_max))}
        LEFT JOIN webhooks webhook ON webhook.organization_id = delivery.organization_id
          AND webhook.id = delivery.webhook_id
      `)).pipe(
        Effect.map((found) =>
          found.map(({ body, delivery, full_body, webhook, ...claimed }): ClaimedDelivery => ({
            claimed,
            outgoing: delivery === null || body === null || webhook === null
              ? null
              : { delivery, body, full_body, webhook }
          }))
        )
      )
  return claim
})

/** Layer that reads deliveries in PostgreSQL. */
export const layer = Layer.effect(
  WebhookDeliveryStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(columnsOf(WebhookDelivery))

    const load = StatementBatcher.makeByKey(sql, {
      key: { organization_id: "uuid", id: "uuid" },
      select: `
        SELECT to_jsonb(delivery) AS delivery, event.body, event.full_body, to_jsonb(webhook) AS webhook
        FROM webhook_deliveries delivery
        JOIN webhook_events event ON event.organization_id = delivery.organization_id AND event.id = delivery.event_id
        JOIN webhooks webhook ON webhook.organization_id = delivery.organization_id AND webhook.id = delivery.webhook_id
        WHERE delivery.organization_id = key.organization_id AND delivery.id = key.id`,
      decode: outgoingDeliveries
    })

    return WebhookDeliveryStore.of({
      list: (organization_id, webhook_id, limit) =>
        deliveries(sql`
          SELECT ${columns}
          FROM webhook_deliveries
          WHERE organization_id = ${organization_id} AND webhook_id = ${webhook_id}
          ORDER BY created_at DESC, id DESC
          LIMIT ${limit}
        `),
      load: (organization_id, id) => load({ organization_id, id }),
      claim: yield* makeClaim
    })
  })
)
