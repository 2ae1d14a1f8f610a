/** Accounts that core stores, together with those of a setting. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ChannelAccounts, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import type { Channel } from "@messaging-crm/core/Channels"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { accountKeyOf, CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as StoredAccounts from "@messaging-crm/provider-cloud/StoredAccounts"
import { Effect, Layer, Option, Redacted, Schema } from "effect"

const services = Crm.channelAccounts.pipe(Layer.provideMerge(Layer.merge(Memory.layer, Ids.layer)))

const apps = [{ id: "app", secret: "s", verify_token: "v" }, { id: "other", secret: "s2", verify_token: "v2" }]

/** The accounts, with one of the setting for a channel, which names another business account. */
const accountsWith = ({ id: channel_id, type }: Channel) => {
  const account = {
    type,
    channel_id,
    app_id: "app",
    token: "of the setting",
    phone_number_id: "1",
    business_account_id: "acme"
  }
  return StoredAccounts.layer(Redacted.make(JSON.stringify({ apps, channels: [account] })))
}

const store = Effect.fnUntraced(function*(channel: Channel, account_id: string, page_id: string | null = null) {
  const token = Schema.decodeSync(ChannelToken)("stored")
  const names = Option.some({ app_id: "other", account_id, page_id })
  yield* ChannelAccounts.use((accounts) => accounts.setToken(channel.id, token, names))
})

const tokenOf = <E>(account: Effect.Effect<Option.Option<{ readonly token: Redacted.Redacted }>, E>) =>
  Effect.map(Effect.orDie(account), (found) => Option.isNone(found) ? null : Redacted.value(found.value.token))

it.effect("an account of the setting is used until one is stored for its channel", () =>
  Effect.gen(function*() {
    const organization_id = yield* Fixtures.organization
    const channel = yield* Fixtures.channel(organization_id)
    const own_business = channel.phone_messaging_business_account_id ?? ""
    yield* Effect.gen(function*() {
      const accounts = yield* CloudAccounts
      const ofChannel = tokenOf(accounts.accountOfChannel(channel))
      const ofBusiness = (id: string) => tokenOf(accounts.accountOfBusinessAccount(id))
      const ofKey = (app_id: string, id: string) => {
        const key = { type: "phone_messaging", id } as const
        return Effect.all([tokenOf(accounts.accountOfKey(app_id, key)), accounts.channelOfKey(app_id, key)])
      }
      assert.deepStrictEqual([yield* ofChannel, yield* ofBusiness("acme")], ["of the setting", "of the setting"])
      assert.deepStrictEqual(yield* ofKey("app", "1"), ["of the setting", Option.some(channel.id)])
      yield* store(channel, "2")
      assert.deepStrictEqual([yield* ofChannel, yield* ofBusiness(own_business)], ["stored", "stored"])
      assert.isNull(yield* ofBusiness("acme"))
      assert.deepStrictEqual(yield* ofKey("app", "1"), [null, Option.none()])
      assert.deepStrictEqual(yield* ofKey("other", "2"), ["stored", Option.some(channel.id)])
    }).pipe(
      Effect.provideService(CurrentActor, { organization_id, member_id: null }),
      Effect.provide(accountsWith(channel))
    )
  }).pipe(Effect.provide(services)))

it.effect("an account that is stored during a lookup is found", () =>
  Effect.gen(function*() {
    const channel = yield* Fixtures.channel(yield* Fixtures.organization)
    const token_set_at = Fixtures.noon
    const account = {
      channel_id: channel.id,
      channel_type: channel.type,
      app_id: "app",
      account_id: "1",
      page_id: null
    }
    const opened = { ...account, business_account_id: "acme", token: Redacted.make("stored"), token_set_at }
    const key = { type: channel.type, id: "1" }
    /** Returns what a lookup finds if the account is stored after the first read. */
    const during = <A, E>(lookUp: (accounts: CloudAccounts["Service"]) => Effect.Effect<Option.Option<A>, E>) => {
      let reads = 0
      const read = <A>(stored: A) => Effect.sync(() => reads++ > 0 ? Option.some(stored) : Option.none())
      const layer = Layer.mock(ChannelAccounts, {
        find: () => read(opened),
        open: () => read(opened),
        openByAccount: () => read(opened),
        openByBusinessAccount: () => read(opened),
        channelOf: () => read(channel.id)
      })
      return CloudAccounts.use(lookUp).pipe(Effect.provide(Layer.provide(accountsWith(channel), layer)))
    }
    assert.strictEqual(yield* tokenOf(during(({ accountOfChannel }) => accountOfChannel(channel))), "stored")
    assert.strictEqual(yield* tokenOf(during(({ accountOfKey }) => accountOfKey("app", key))), "stored")
    assert.strictEqual(
      yield* tokenOf(during(({ accountOfBusinessAccount }) => accountOfBusinessAccount("acme"))),
      "stored"
    )
    assert.deepStrictEqual(yield* during(({ channelOfKey }) => channelOfKey("app", key)), Option.some(channel.id))
  }).pipe(Effect.provide(Layer.merge(Memory.layer, Ids.layer))))

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
