import {
  type ChannelAccountColumns,
  ChannelAccountRows,
  ChannelAccountStore,
  type OwnedAccount
} from "@messaging-crm/core/ChannelAccounts"
import { DateTime, Layer, Option, Result } from "effect"
import { apply } from "../work/Commit.ts"
import { sealedOtherwise } from "../work/SealedSecrets.ts"
import * as Table from "../world/Table.ts"
import { World, type WorldState } from "../world/World.ts"

const allAccounts = ({ tables }: WorldState): ReadonlyArray<OwnedAccount> =>
  Table.allOfEveryOwner(tables, ChannelAccountRows).map(({ organization_id, row }) => ({
    organization_id,
    account: Table.plain(row)
  }))

const findAccount = (state: WorldState, matches: (account: ChannelAccountColumns) => boolean) =>
  Option.fromUndefinedOr(allAccounts(state).find(({ account }) => matches(account)))

/** Layer that keeps accounts of channels in the in-memory world. */
export const layer = Layer.effect(
  ChannelAccountStore,
  World.useSync(({ modify, read }) =>
    ChannelAccountStore.of({
      find: (organization_id, channel_id) =>
        read(({ tables }) => Table.get(tables, ChannelAccountRows, organization_id, channel_id)),
      locate: (channel_id) => read((state) => findAccount(state, (account) => account.channel_id === channel_id)),
      locateByAccount: (type, account_id) =>
        read((state) =>
          findAccount(state, (account) => account.channel_type === type && account.account_id === account_id)
        ),
      locateByBusinessAccount: (id) =>
        read((state) =>
          Option.fromUndefinedOr(
            allAccounts(state)
              .filter(({ account }) => account.business_account_id === id)
              .toSorted((a, b) => DateTime.Order(b.account.token_set_at, a.account.token_set_at))[0]
          )
        ),
      sealedOtherwise: (prefix, after, limit) =>
        read((state) => {
          const secrets = allAccounts(state).map(({ account, organization_id }) => ({
            organization_id,
            id: account.channel_id,
            sealed_secret: account.sealed_token
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
