import { ChannelAccountRows, ChannelAccountStore } from "@messaging-crm/core/ChannelAccounts"
import { DateTime, Layer, Option, Result } from "effect"
import { apply } from "../work/Commit.ts"
import { sealedOtherwise } from "../work/SealedSecrets.ts"
import * as Table from "../world/Table.ts"
import { World, type WorldState } from "../world/World.ts"

const allAccounts = ({ tables }: WorldState) => Table.allOfEveryOwner(tables, ChannelAccountRows)

/** Layer that keeps accounts of channels in the in-memory world. */
export const layer = Layer.effect(
  ChannelAccountStore,
  World.useSync(({ modify, read }) =>
    ChannelAccountStore.of({
      locateByAccount: (type, account_id) =>
        read(({ tables }) => Table.findByUnique(tables, ChannelAccountRows, type, account_id)),
      locateByBusinessAccount: (id) =>
        read((state) =>
          Option.fromUndefinedOr(
            allAccounts(state)
              .filter(({ row }) => row.business_account_id === id)
              .toSorted((a, b) => DateTime.Order(b.row.token_set_at, a.row.token_set_at))[0]
          )
        ),
      sealedOtherwise: (prefix, after, limit) =>
        read((state) => {
          const secrets = allAccounts(state).map(({ organization_id, row }) => ({
            organization_id,
            id: row.channel_id,
            sealed_secret: row.sealed_token
          }))
          return sealedOtherwise(secrets, prefix, after, limit)
        }),
      reseal: (organization_id, id, before, sealed_token) =>
        modify((state) => {
          const account = Table.get(state.tables, ChannelAccountRows, organization_id, id)
          if (Option.isNone(account) || account.value.sealed_token !== before) return [undefined, state]
          const changes = ChannelAccountRows.update(account.value, { sealed_token })
          return [undefined, Result.getOrThrow(apply(state, organization_id, changes, null))]
        })
    })
  )
)
