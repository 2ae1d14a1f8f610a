import { ChannelAccountColumns, ChannelAccountStore } from "@messaging-crm/core/ChannelAccounts"
import { ChannelId, OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { first, rows, run, stored } from "../database/RowCodecs.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

const Owned = Schema.Struct({
  ...stored(ChannelAccountColumns).fields,
  version: Schema.Int,
  organization_id: OrganizationId
})
const [ownedAccount, ownedAccounts] = [first(Owned), rows(Owned)]
const sealedTokens = rows(
  Schema.Struct({ organization_id: OrganizationId, id: ChannelId, sealed_secret: Schema.String })
)

const separateOwner = Effect.map(
  Option.map(({ organization_id, ...row }: typeof Owned.Type) => ({ organization_id, row }))
)

const select = `
  SELECT ${Object.keys(Owned.fields).map((column) => `account.${column}`).join(", ")}
  FROM channel_accounts account`

/** Layer that reads accounts of channels in PostgreSQL. */
export const layer = Layer.effect(
  ChannelAccountStore,
  SqlClient.SqlClient.useSync((sql) => {
    // Concurrent callbacks look up their accounts in one statement.
    const findByAccount = StatementBatcher.makeByKey(sql, {
      key: { type: "text", account_id: "text" },
      select: `${select} WHERE account.channel_type = key.type AND account.account_id = key.account_id`,
      decode: ownedAccounts
    })

    return ChannelAccountStore.of({
      locateByAccount: (type, account_id) => separateOwner(findByAccount({ type, account_id })),
      locateByBusinessAccount: (id) =>
        separateOwner(ownedAccount(sql`
          ${sql.literal(select)}
          WHERE account.business_account_id = ${id}
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
