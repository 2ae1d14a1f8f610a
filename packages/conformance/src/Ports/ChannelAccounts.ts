/** Tests of the guarantees of `ChannelAccountStore`. */
import { assert } from "@effect/vitest"
import {
  type ChannelAccountColumns,
  ChannelAccountRows,
  ChannelAccountStore
} from "@messaging-crm/core/ChannelAccounts"
import type { ChannelType } from "@messaging-crm/core/Channels"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { Effect, Option } from "effect"
import { hardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

/** An account of a new channel, which is not stored yet. */
const newAccount = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  fields: Partial<ChannelAccountColumns> = {},
  type: ChannelType = "phone_messaging"
) {
  const channel = yield* Fixtures.channel(organization_id, type)
  const account: ChannelAccountColumns = {
    channel_id: channel.id,
    channel_type: type,
    app_id: "1500000001",
    account_id: channel.id,
    page_id: null,
    business_account_id: channel.phone_messaging_business_account_id,
    token_set_at: Fixtures.noon,
    sealed_token: `v1.${channel.id}`,
    ...fields
  }
  return account
})

const accounts = (it: It, { runs }: Options) => {
  it.effect.prop("finds an account of any organization by its type and ID", {
    id: hardText({ min: 1, max: 100 })
  }, ({ id }) =>
    Effect.gen(function*() {
      const store = yield* ChannelAccountStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const account_id = `${id}-${yield* Fixtures.uuid}`
      const account = yield* newAccount(ours, { account_id })
      const page = yield* newAccount(theirs, { account_id }, "page_messaging")
      assert.deepStrictEqual(yield* store.locateByAccount("phone_messaging", account_id), Option.none())
      yield* Fixtures.mustCommit(ours, ChannelAccountRows.insert(account))
      yield* Fixtures.mustCommit(theirs, ChannelAccountRows.insert(page))
      assert.deepStrictEqual(
        yield* store.locateByAccount("phone_messaging", account_id),
        Option.some({ organization_id: ours, row: { ...account, version: 1 } })
      )
      assert.deepStrictEqual(
        yield* store.locateByAccount("page_messaging", account_id),
        Option.some({ organization_id: theirs, row: { ...page, version: 1 } })
      )
    }), { arbitrary: { runs } })
}

const businessAccounts = (it: It) => {
  it.effect("finds the account of a business account whose token was set last", () =>
    Effect.gen(function*() {
      const store = yield* ChannelAccountStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const business_account_id = yield* Fixtures.uuid
      assert.deepStrictEqual(yield* store.locateByBusinessAccount(business_account_id), Option.none())
      const younger = yield* newAccount(ours, { business_account_id, token_set_at: afterNoon(2) })
      const older = yield* newAccount(theirs, { business_account_id, token_set_at: afterNoon(1) })
      yield* Fixtures.mustCommit(ours, ChannelAccountRows.insert(younger))
      yield* Fixtures.mustCommit(theirs, ChannelAccountRows.insert(older))
      assert.deepStrictEqual(
        yield* store.locateByBusinessAccount(business_account_id),
        Option.some({ organization_id: ours, row: { ...younger, version: 1 } })
      )
    }))
}

const sealedTokens = (it: It) => {
  it.effect("finds the tokens that another key sealed, a page at a time, and replaces them", () =>
    Effect.gen(function*() {
      const rows = yield* Rows
      const store = yield* ChannelAccountStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const prefix = `${yield* Fixtures.uuid}.`
      const old = yield* newAccount(ours)
      const young = yield* newAccount(ours, { sealed_token: `${prefix}token` })
      const other = yield* newAccount(theirs)
      yield* Fixtures.mustCommit(ours, ChannelAccountRows.insert(old))
      yield* Fixtures.mustCommit(ours, ChannelAccountRows.insert(young))
      yield* Fixtures.mustCommit(theirs, ChannelAccountRows.insert(other))
      const outdated = yield* Fixtures.sealedOtherwise(store, prefix, 2)
      assert.deepStrictEqual(
        outdated.filter(({ organization_id }) => organization_id === ours || organization_id === theirs),
        [
          { organization_id: ours, id: old.channel_id, sealed_secret: old.sealed_token },
          { organization_id: theirs, id: other.channel_id, sealed_secret: other.sealed_token }
        ]
      )
      yield* store.reseal(ours, old.channel_id, "what it is not", "x")
      yield* store.reseal(theirs, old.channel_id, old.sealed_token, "x")
      yield* store.reseal(ours, old.channel_id, old.sealed_token, `${prefix}again`)
      const resealed = Option.getOrThrow(yield* rows.find(ChannelAccountRows, ours, old.channel_id))
      assert.strictEqual(resealed.sealed_token, `${prefix}again`)
      assert.deepStrictEqual(
        yield* rows.find(ChannelAccountRows, ours, young.channel_id),
        Option.some({ ...young, version: 1 })
      )
    }))
}

export const portTests = (it: It, options: Options) => {
  accounts(it, options)
  businessAccounts(it)
  sealedTokens(it)
}
