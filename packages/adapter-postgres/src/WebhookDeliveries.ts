import { OrganizationId, WebhookDeliveryId, WebhookId } from "@messaging-crm/core/Ids"
import { type Attempt, WebhookDelivery, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date, OptionalAt, optionalDate } from "./Columns.ts"
import * as Webhooks from "./Webhooks.ts"

const Row = Schema.Struct({
  ...WebhookDelivery.fields,
  last_attempt_at: OptionalAt,
  next_attempt_at: OptionalAt,
  created_at: At
})

/** A delivery, with its event's bytes and its webhook under names of their own. */
const OutgoingRow = Schema.Struct({
  ...Row.fields,
  body: Schema.String,
  url: Webhooks.Row.fields.url,
  event_types: Webhooks.Row.fields.event_types,
  sealed_secret: Webhooks.Row.fields.sealed_secret,
  consecutive_failures: Webhooks.Row.fields.consecutive_failures,
  first_failure_at: Webhooks.Row.fields.first_failure_at,
  webhook_status: Webhooks.Row.fields.status,
  webhook_created_at: At,
  webhook_disabled_at: OptionalAt
})

const Key = Schema.Struct({ organization_id: OrganizationId, id: WebhookDeliveryId })

const toOutgoing = (
  {
    body,
    consecutive_failures,
    event_types,
    first_failure_at,
    sealed_secret,
    url,
    webhook_created_at: created_at,
    webhook_disabled_at: disabled_at,
    webhook_status: status,
    ...delivery
  }: typeof OutgoingRow.Type
) => ({
  delivery,
  body,
  webhook: {
    webhook: { id: delivery.webhook_id, url, event_types, status, created_at, disabled_at },
    sealed_secret,
    consecutive_failures,
    first_failure_at
  }
})

/** Layer that keeps deliveries, with every attempt, in PostgreSQL. */
export const layer = Layer.effect(
  WebhookDeliveryStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const columns = sql.literal(`
      d.id, d.webhook_id, d.event_id, d.event_type, d.status, d.attempt_count, d.response_status, d.response_body,
      d.failure_code, d.duration_ms, d.last_attempt_at, d.next_attempt_at, d.created_at
    `)

    const list = SqlSchema.findAll({
      Request: Schema.Struct({ organization_id: OrganizationId, webhook_id: WebhookId, limit: Schema.Int }),
      Result: Row,
      execute: ({ limit, organization_id, webhook_id }) =>
        sql`
          SELECT ${columns}
          FROM webhook_deliveries d
          WHERE d.organization_id = ${organization_id} AND d.webhook_id = ${webhook_id}
          ORDER BY d.created_at DESC, d.id DESC
          LIMIT ${limit}
        `
    })

    const load = SqlSchema.findOneOption({
      Request: Key,
      Result: OutgoingRow,
      execute: ({ id, organization_id }) =>
        sql`
          SELECT ${columns}, e.body, w.url, w.event_types, w.sealed_secret, w.consecutive_failures, w.first_failure_at,
            w.status AS webhook_status, w.created_at AS webhook_created_at, w.disabled_at AS webhook_disabled_at
          FROM webhook_deliveries d
          JOIN webhook_events e ON e.organization_id = d.organization_id AND e.id = d.event_id
          JOIN webhooks w ON w.organization_id = d.organization_id AND w.id = d.webhook_id
          WHERE d.organization_id = ${organization_id} AND d.id = ${id}
        `
    })

    const lock = SqlSchema.findOneOption({
      Request: Key,
      Result: Row,
      execute: ({ id, organization_id }) =>
        sql`
          SELECT ${columns}
          FROM webhook_deliveries d
          WHERE d.organization_id = ${organization_id} AND d.id = ${id}
          FOR UPDATE
        `
    })

    const write = (organization_id: OrganizationId, delivery: WebhookDelivery) =>
      sql`
        UPDATE webhook_deliveries
        SET
          status = ${delivery.status},
          attempt_count = ${delivery.attempt_count},
          response_status = ${delivery.response_status},
          response_body = ${delivery.response_body},
          failure_code = ${delivery.failure_code},
          duration_ms = ${delivery.duration_ms},
          last_attempt_at = ${optionalDate(delivery.last_attempt_at)},
          next_attempt_at = ${optionalDate(delivery.next_attempt_at)}
        WHERE organization_id = ${organization_id} AND id = ${delivery.id}
      `

    const writeWith = (organization_id: OrganizationId, delivery: WebhookDelivery, { at, ...attempt }: Attempt) =>
      sql`
        WITH attempt AS (
          INSERT INTO webhook_attempts ${
        sql.insert({
          ...attempt,
          organization_id,
          delivery_id: delivery.id,
          number: delivery.attempt_count,
          at: date(at)
        })
      }
          ON CONFLICT (organization_id, delivery_id, number) DO NOTHING
        )
        ${write(organization_id, delivery)}
      `

    return WebhookDeliveryStore.of({
      list: (organization_id, webhook_id, limit) => Effect.orDie(list({ organization_id, webhook_id, limit })),
      load: (organization_id, id) =>
        load({ organization_id, id }).pipe(Effect.map(Option.map(toOutgoing)), Effect.orDie),
      lock: (organization_id, id) => Effect.orDie(lock({ organization_id, id })),
      update: (organization_id, delivery, attempt) => {
        const statement = attempt === null
          ? write(organization_id, delivery)
          : writeWith(organization_id, delivery, attempt)
        return statement.pipe(Effect.orDie, Effect.asVoid)
      }
    })
  })
)
