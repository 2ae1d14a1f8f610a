import { ChannelAccount, ChannelAccountStore } from "@messaging-crm/core/ChannelAccounts"
import { ChannelId, OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At } from "../database/Columns.ts"
import { first, rows } from "../database/Rows.ts"

const Columns = Schema.Struct({ ...ChannelAccount.fields, token_set_at: At, sealed_token: Schema.String })

const account = first(Schema.Struct({ ...Columns.fields, version: Schema.Int }))
const owned = first(Schema.Struct({ ...Columns.fields, organization_id: OrganizationId }))
const sealed = rows(Schema.Struct({ organization_id: OrganizationId, id: ChannelId, sealed_secret: Schema.String }))

/** Layer that reads accounts of channels in PostgreSQL. */
export const layer = Layer.effect(
  ChannelAccountStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const columns = sql.literal(Object.keys(Columns.fields).join(", "))

    const located = (statement: Parameters<typeof owned>[0]) =>
      Effect.map(owned(statement), Option.map(({ organization_id, ...account }) => ({ organization_id, account })))

    return ChannelAccountStore.of({
      find: (organization_id, channel_id) =>
        account(sql`
          SELECT ${columns}, version
          FROM channel_accounts
          WHERE organization_id = ${organization_id} AND channel_id = ${channel_id}
        `),
      locate: (channel_id) =>
        located(sql`
          SELECT ${columns}, organization_id
          FROM channel_accounts
          WHERE channel_id = ${channel_id}
        `),
      locateByAccount: (type, account_id) =>
        located(sql`
          SELECT ${columns}, organization_id
          FROM channel_accounts
          WHERE channel_type = ${type} AND account_id = ${account_id}
        `),
      locateByBusinessAccount: (id) =>
        located(sql`
          SELECT ${columns}, organization_id
          FROM channel_accounts
          WHERE business_account_id = ${id}
          ORDER BY token_set_at DESC
          LIMIT 1
        `),
      sealedOtherwise: (prefix, after, limit) =>
        sealed(sql`
          SELECT organization_id, channel_id AS id, sealed_token AS sealed_secret
          FROM channel_accounts
          WHERE NOT starts_with(sealed_token, ${prefix})
            ${after === null ? sql.literal("") : sql`AND channel_id > ${after}::uuid`}
          ORDER BY channel_id
          LIMIT ${limit}
        `),
      reseal: (organization_id, id, before, after) =>
        sql`
          UPDATE channel_accounts
          SET sealed_token = ${after}, version = version + 1
          WHERE organization_id = ${organization_id} AND channel_id = ${id} AND sealed_token = ${before}
        `.pipe(Effect.orDie, Effect.asVoid)
    })
  })
)
