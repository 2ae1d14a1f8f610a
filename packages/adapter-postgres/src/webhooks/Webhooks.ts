import { OrganizationId, WebhookId } from "@messaging-crm/core/Ids"
import { Webhook, WebhookStore } from "@messaging-crm/core/Webhooks"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { columnsOf, first, rows, run, stored } from "../database/RowCodecs.ts"

const webhooks = rows(stored(Webhook))
const webhookCount = first(Schema.Struct({ count: Schema.Int }))
const sealedSecrets = rows(
  Schema.Struct({ organization_id: OrganizationId, id: WebhookId, sealed_secret: Schema.String })
)

/** Layer that reads webhooks in PostgreSQL. */
export const layer = Layer.effect(
  WebhookStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Webhook))

    return WebhookStore.of({
      list: (organization_id, { status }, limit) =>
        webhooks(sql`
          SELECT ${columns}
          FROM webhooks
          WHERE organization_id = ${organization_id} ${status === null ? sql.literal("") : sql`AND status = ${status}`}
          ORDER BY created_at DESC, id DESC
          LIMIT ${limit}
        `),
      countActive: (organization_id) =>
        Effect.map(
          webhookCount(sql`
            SELECT count(*)::int AS count
            FROM webhooks
            WHERE organization_id = ${organization_id} AND status = 'active'
          `),
          Option.match({ onNone: () => 0, onSome: ({ count }) => count })
        ),
      sealedOtherwise: (prefix, after, limit) =>
        sealedSecrets(sql`
          SELECT organization_id, id, sealed_secret
          FROM webhooks
          WHERE status = 'active'
            AND NOT starts_with(sealed_secret, ${prefix})
            ${after === null ? sql.literal("") : sql`AND id > ${after}::uuid`}
          ORDER BY id
          LIMIT ${limit}
        `),
      reseal: (organization_id, id, before, after) =>
        run(sql`
          UPDATE webhooks
          SET sealed_secret = ${after}, version = version + 1
          WHERE organization_id = ${organization_id} AND id = ${id} AND sealed_secret = ${before}
        `)
    })
  })
)
