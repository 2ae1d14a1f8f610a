/** Accounts that core stores, together with those of a setting. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ChannelAccounts, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import type { Channel, ChannelType } from "@messaging-crm/core/Channels"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { accountKeyOf, CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as StoredAccounts from "@messaging-crm/provider-cloud/StoredAccounts"
import { Effect, Layer, Option, Redacted, Schema } from "effect"

const services = Crm.channelAccounts.pipe(Layer.provideMerge(Layer.merge(Memory.layer, Ids.layer)))

const apps = [{ id: "app", secret: "s", verify_token: "v" }, { id: "other", secret: "s2", verify_token: "v2" }]

/** The accounts, with one of the setting for a channel. */
const accountsWith = (channel: Channel) => {
  const { id: channel_id, phone_messaging_business_account_id: business_account_id, type } = channel
  const account = {
    type,
    channel_id,
    app_id: "app",
    token: "of the setting",
    phone_number_id: "1",
    business_account_id
  }
  return StoredAccounts.layer(Redacted.make(JSON.stringify({ apps, channels: [account] })))
}

const store = Effect.fnUntraced(function*(channel: Channel, account_id: string, page_id: string | null = null) {
  const token = Schema.decodeSync(ChannelToken)("stored")
  const names = Option.some({ app_id: "other", account_id, page_id })
  yield* ChannelAccounts.use((accounts) => accounts.setToken(channel.id, token, names))
})

const tokenOf = <E>(account: Effect.Effect<Option.Option<{ readonly token: Redacted.Redacted }>, E, CloudAccounts>) =>
  Effect.map(Effect.orDie(account), (found) => Option.isNone(found) ? null : Redacted.value(found.value.token))

it.effect("an account of the setting is used until one is stored for its channel", () =>
  Effect.gen(function*() {
    const organization_id = yield* Fixtures.organization
    const channel = yield* Fixtures.channel(organization_id)
    const business_account_id = channel.phone_messaging_business_account_id ?? ""
    yield* Effect.gen(function*() {
      const ofChannel = tokenOf(CloudAccounts.use((accounts) => accounts.accountOfChannel(channel)))
      const ofBusiness = tokenOf(
        CloudAccounts.use((accounts) => accounts.accountOfBusinessAccount(business_account_id))
      )
      const ofKey = (app_id: string, id: string, type: ChannelType = "phone_messaging") =>
        tokenOf(CloudAccounts.use((accounts) => accounts.accountOfKey(app_id, { type, id })))
      assert.deepStrictEqual([yield* ofChannel, yield* ofBusiness], ["of the setting", "of the setting"])
      assert.strictEqual(yield* ofKey("app", "1"), "of the setting")
      yield* store(channel, "2")
      assert.deepStrictEqual([yield* ofChannel, yield* ofBusiness], ["stored", "stored"])
      assert.isNull(yield* ofKey("app", "1"))
      assert.strictEqual(yield* ofKey("other", "2"), "stored")
      // Another app must not send events for it, and another type is another account.
      assert.isNull(yield* ofKey("app", "2"))
      assert.isNull(yield* ofKey("other", "2", "page_messaging"))
    }).pipe(
      Effect.provideService(CurrentActor, { organization_id, member_id: null }),
      Effect.provide(accountsWith(channel))
    )
  }).pipe(Effect.provide(services)))

it.effect("each type of channel has the names of its network", () =>
  Effect.gen(function*() {
    const organization_id = yield* Fixtures.organization
    const as = Effect.provideService(CurrentActor, { organization_id, member_id: null })
    for (
      const [type, page_id, expected] of [
        ["phone_messaging", null, { phone_number_id: "7" }],
        ["page_messaging", null, { page_id: "7" }],
        ["photo_social", "99", { account_id: "7", page_id: "99" }]
      ] as const
    ) {
      const channel = yield* Fixtures.channel(organization_id, type)
      yield* store(channel, "7", page_id).pipe(as)
      const account = yield* CloudAccounts.use((accounts) => accounts.accountOfChannel(channel)).pipe(
        Effect.provide(StoredAccounts.layer(Redacted.make(JSON.stringify({ apps }))))
      )
      assert.deepInclude(Option.getOrNull(account), { type, ...expected })
      assert.deepStrictEqual(Option.getOrNull(Option.map(account, accountKeyOf)), { type, id: "7" })
    }
  }).pipe(Effect.provide(services)))
