import { ChannelAccount, ChannelAccountStore } from "@messaging-crm/core/ChannelAccounts"
import { ChannelId, OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, columnsOf } from "../database/Columns.ts"
import { first, rows, run } from "../database/Rows.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

const Columns = Schema.Struct({ ...ChannelAccount.fields, token_set_at: At, sealed_token: Schema.String })

const account = first(Schema.Struct({ ...Columns.fields, version: Schema.Int }))
const Owned = Schema.Struct({ ...Columns.fields, organization_id: OrganizationId })
const [ownedAccount, ownedAccounts] = [first(Owned), rows(Owned)]
const sealedTokens = rows(
  Schema.Struct({ organization_id: OrganizationId, id: ChannelId, sealed_secret: Schema.String })
)

const separateOwner = Effect.map(
  Option.map(({ organization_id, ...account }: typeof Owned.Type) => ({ organization_id, account }))
)

/** Makes the lookups of callbacks: concurrent callbacks look up their accounts in one statement. */
const makeLookups = (sql: SqlClient.SqlClient) => {
  const ownedColumns = Object.keys(Owned.fields).map((column) => `account.${column}`).join(", ")
  return {
    byChannel: StatementBatcher.makeByKey(sql, {
      key: { channel_id: "uuid" },
      select: `SELECT ${ownedColumns} FROM channel_accounts account WHERE account.channel_id = key.channel_id`,
      decode: ownedAccounts
    }),
    byAccount: StatementBatcher.makeByKey(sql, {
      key: { type: "text", account_id: "text" },
      select: `
        SELECT ${ownedColumns}
        FROM channel_accounts account
        WHERE account.channel_type = key.type AND account.account_id = key.account_id`,
      decode: ownedAccounts
    })
  }
}

/** Layer that reads accounts of channels in PostgreSQL. */
export const layer = Layer.effect(
  ChannelAccountStore,
  SqlClient.SqlClient.useSync((sql) => {
    const columns = sql.literal(columnsOf(Columns))
    const lookups = makeLookups(sql)

    return ChannelAccountStore.of({
      find: (organization_id, channel_id) =>
        account(sql`
          SELECT ${columns}, version
          FROM channel_accounts
          WHERE organization_id = ${organization_id} AND channel_id = ${channel_id}
        `),
      locate: (channel_id) => separateOwner(lookups.byChannel({ channel_id })),
      locateByAccount: (type, account_id) => separateOwner(lookups.byAccount({ type, account_id })),
      locateByBusinessAccount: (id) =>
        separateOwner(ownedAccount(sql`
          SELECT ${columns}, organization_id
          FROM channel_accounts
          WHERE business_account_id = ${id}
          ORDER BY token_set_at DESC
          LIMIT 1
        `)),
      sealedOtherwise: (prefix, after, limit) =>
        sealedTokens(sql`
          SELECT organization_id, channel_id AS id, sealed_token AS sealed_secret
          FROM channel_accounts
          WHERE NOT starts_with(sealed_token, ${prefix})
            ${after === null ? sql.literal("") : sql`AND channel_id > ${after}::uuid`}
          ORDER BY channel_id
          LIMIT ${limit}
        `),
      reseal: (organization_id, id, before, after) =>
        run(sql`
          UPDATE channel_accounts
          SET sealed_token = ${after}, version = version + 1
          WHERE organization_id = ${organization_id} AND channel_id = ${id} AND sealed_token = ${before}
        `)
    })
  })
)
