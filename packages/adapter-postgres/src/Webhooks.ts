import { OrganizationId, WebhookId } from "@messaging-crm/core/Ids"
import { Webhook, type WebhookRow, WebhookStore } from "@messaging-crm/core/Webhooks"
import { Effect, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date, OptionalAt, optionalDate } from "./Columns.ts"
import { findAndLock } from "./Reads.ts"

/** The columns of a webhook, as another statement may show them beside others. */
export const Row = Schema.Struct({
  ...Webhook.fields,
  created_at: At,
  disabled_at: OptionalAt,
  sealed_secret: Schema.String,
  consecutive_failures: Schema.Int,
  first_failure_at: OptionalAt
})

/** Returns a webhook with what goes with it. */
export const toWebhookRow = (
  { consecutive_failures, first_failure_at, sealed_secret, ...webhook }: typeof Row.Type
): WebhookRow => ({ webhook, sealed_secret, consecutive_failures, first_failure_at })

const Sealed = Schema.Struct({
  organization_id: OrganizationId,
  id: WebhookId,
  sealed_secret: Schema.String
})

/** Layer that keeps webhooks in PostgreSQL. */
export const layer = Layer.effect(
  WebhookStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const select = sql.literal(`
      SELECT id, url, event_types, status, sealed_secret, consecutive_failures, first_failure_at, created_at,
        disabled_at
      FROM webhooks
    `)

    const { find, lock } = findAndLock(sql, {
      Result: Row,
      // Not `FOR UPDATE`, for which every event that names the webhook would wait.
      locking: "FOR NO KEY UPDATE",
      execute: ({ id, organization_id }, locking) =>
        sql`
          ${select}
          WHERE organization_id = ${organization_id} AND id = ${id}
          ${locking}
        `
    })

    const list = SqlSchema.findAll({
      Request: Schema.Struct({ organization_id: OrganizationId, limit: Schema.Int }),
      Result: Row,
      execute: ({ limit, organization_id }) =>
        sql`
          ${select}
          WHERE organization_id = ${organization_id}
          ORDER BY created_at DESC, id DESC
          LIMIT ${limit}
        `
    })

    const sealedOtherwise = SqlSchema.findAll({
      Request: Schema.Struct({ prefix: Schema.String, limit: Schema.Int }),
      Result: Sealed,
      execute: ({ limit, prefix }) =>
        sql`
          SELECT organization_id, id, sealed_secret
          FROM webhooks
          WHERE status = 'active' AND NOT starts_with(sealed_secret, ${prefix})
          LIMIT ${limit}
        `
    })

    return WebhookStore.of({
      insert: (organization_id, { consecutive_failures, first_failure_at, sealed_secret, webhook }) =>
        sql`
          INSERT INTO webhooks ${
          sql.insert({
            ...Struct.omit(webhook, ["event_types"]),
            organization_id,
            event_types: [...webhook.event_types],
            sealed_secret,
            consecutive_failures,
            first_failure_at: optionalDate(first_failure_at),
            created_at: date(webhook.created_at),
            disabled_at: optionalDate(webhook.disabled_at)
          })
        }
        `.pipe(Effect.orDie, Effect.asVoid),
      find: (organization_id, id) => Effect.map(find(organization_id, id), Option.map(toWebhookRow)),
      lock: (organization_id, id) => Effect.map(lock(organization_id, id), Option.map(toWebhookRow)),
      list: (organization_id, limit) =>
        list({ organization_id, limit }).pipe(
          Effect.map((rows) => rows.map((row) => toWebhookRow(row).webhook)),
          Effect.orDie
        ),
      update: (organization_id, { consecutive_failures, first_failure_at, webhook }) =>
        sql`
          UPDATE webhooks
          SET
            status = ${webhook.status},
            disabled_at = ${optionalDate(webhook.disabled_at)},
            consecutive_failures = ${consecutive_failures},
            first_failure_at = ${optionalDate(first_failure_at)}
          WHERE organization_id = ${organization_id} AND id = ${webhook.id}
        `.pipe(Effect.orDie, Effect.asVoid),
      // Pending is asked for twice: one may have ended between the look and its lock.
      abandon: (organization_id, id, limit) =>
        sql`
          UPDATE webhook_deliveries
          SET status = 'failed', failure_code = 'webhook_disabled', next_attempt_at = NULL
          WHERE organization_id = ${organization_id}
            AND id = ANY(ARRAY(
              SELECT id
              FROM webhook_deliveries
              WHERE organization_id = ${organization_id} AND webhook_id = ${id} AND status = 'pending'
              ORDER BY created_at DESC, id DESC
              LIMIT ${limit}
            ))
            AND status = 'pending'
        `.pipe(Effect.orDie, Effect.asVoid),
      sealedOtherwise: (prefix, limit) => Effect.orDie(sealedOtherwise({ prefix, limit })),
      reseal: (organization_id, id, before, after) =>
        sql`
          UPDATE webhooks
          SET sealed_secret = ${after}
          WHERE organization_id = ${organization_id} AND id = ${id} AND sealed_secret = ${before}
        `.pipe(Effect.orDie, Effect.asVoid)
    })
  })
)
