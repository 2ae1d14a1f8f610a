/** The promises of `CloudAccounts`, which each of its layers keeps. */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ChannelAccounts, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { type Channel, ChannelRows, type ChannelType } from "@messaging-crm/core/Channels"
import * as Crm from "@messaging-crm/core/Crm"
import { ChannelId, Ids } from "@messaging-crm/core/Ids"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { type AccountKey, accountKeyOf, CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as StoredAccounts from "@messaging-crm/provider-cloud/StoredAccounts"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import * as FakeAccounts from "../src/fake/FakeAccounts.ts"
import { app } from "./Network.ts"

const channel = (digit: number, type: ChannelType): Channel => ({
  id: ChannelId.make(`01990000-0000-7000-8000-00000000000${digit}`),
  type,
  name: "Support",
  address: `address-${digit}`,
  phone_messaging_business_account_id: type === "phone_messaging" ? `business-${digit}` : null,
  connected_at: Fixtures.noon
})

const connected = [
  channel(1, "phone_messaging"),
  channel(2, "phone_messaging"),
  channel(3, "page_messaging"),
  channel(4, "photo_social")
]
const unconnected = channel(5, "phone_messaging")

/** The IDs of no account: one of another type has the first. */
const unknown_keys: ReadonlyArray<AccountKey> = [
  { type: "page_messaging", id: connected[0]?.id ?? "" },
  { type: "phone_messaging", id: unconnected.id }
]

const apps = [app.id, "other"].map((id) => ({ id, secret: "secret", verify_token: "verify" }))

/** The accounts of a setting. The network's ID of each is that of its channel. */
const setting = JSON.stringify({
  apps,
  channels: connected.map(({ id, phone_messaging_business_account_id, type }) => ({
    type,
    channel_id: id,
    app_id: app.id,
    token: "token",
    phone_number_id: id,
    account_id: id,
    page_id: id,
    business_account_id: phone_messaging_business_account_id
  }))
})

const accountsUnder = (byte: number) =>
  Layer.fresh(Crm.channelAccounts).pipe(
    Layer.provide(Layer.succeed(RootKeys, [Redacted.make(new Uint8Array(32).fill(byte))]))
  )

/** Layer for the same accounts in storage, which another root key than theirs does not decrypt. */
const storedUnder = (byte: number) =>
  Layer.unwrap(
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      const token = Schema.decodeSync(ChannelToken)("token")
      for (const row of connected) {
        yield* Fixtures.mustCommit(organization_id, ChannelRows.insert(row))
        const account_ids = Option.some({ app_id: app.id, account_id: row.id, page_id: null })
        yield* ChannelAccounts.use(({ setToken }) => setToken(row.id, token, account_ids)).pipe(
          Effect.provideService(CurrentActor, { organization_id, member_id: null }),
          Effect.provide(accountsUnder(1))
        )
      }
      return StoredAccounts.layer(Redacted.make(JSON.stringify({ apps }))).pipe(Layer.provide(accountsUnder(byte)))
    })
  ).pipe(Layer.provide(Layer.merge(Memory.layer, Ids.layer)))

/** The tests of the promises. Where `isFake`, every channel has an account, and every ID of a channel is that of one. */
const promises = <E>(layer: Layer.Layer<CloudAccounts, E>, { isFake = false } = {}) => {
  it.effect("every app is listed", () =>
    Effect.gen(function*() {
      const { apps } = yield* CloudAccounts
      assert.deepStrictEqual((yield* apps).map(({ id }) => id), isFake ? ["app"] : ["app", "other"])
    }).pipe(Effect.provide(layer)))

  it.effect("a channel has its account, and none if it is not connected", () =>
    Effect.gen(function*() {
      const { accountOfChannel } = yield* CloudAccounts
      for (const row of connected) {
        const { id, type } = row
        const account = Option.getOrThrow(yield* accountOfChannel(row))
        assert.deepInclude(account, { type, channel_id: id, app_id: "app" })
        assert.deepStrictEqual(accountKeyOf(account), { type, id })
        assert.strictEqual(Redacted.value(account.token), "token")
      }
      if (!isFake) assert.isTrue(Option.isNone(yield* accountOfChannel(unconnected)))
    }).pipe(Effect.provide(layer)))

  it.effect("a business account has an account with a token for its templates, and an unknown one has none", () =>
    Effect.gen(function*() {
      const { accountOfBusinessAccount } = yield* CloudAccounts
      for (const business_account_id of ["business-1", "business-2"]) {
        const account = Option.getOrThrow(yield* accountOfBusinessAccount(business_account_id))
        assert.deepInclude(account, { type: "phone_messaging", business_account_id })
        assert.strictEqual(Redacted.value(account.token), "token")
      }
      if (!isFake) assert.isTrue(Option.isNone(yield* accountOfBusinessAccount("business-5")))
    }).pipe(Effect.provide(layer)))

  it.effect("the IDs of a callback have their account and its channel, for the app of the account alone", () =>
    Effect.gen(function*() {
      const { accountOfKey, channelOfKey } = yield* CloudAccounts
      const found = (app_id: string, key: AccountKey) =>
        Effect.all([
          Effect.map(accountOfKey(app_id, key), Option.map(({ channel_id, type }) => ({ channel_id, type }))),
          channelOfKey(app_id, key)
        ])
      for (const { id, type } of connected) {
        assert.deepStrictEqual(
          yield* found("app", { type, id }),
          [Option.some({ channel_id: id, type }), Option.some(id)]
        )
        assert.deepStrictEqual(yield* found("other", { type, id }), [Option.none(), Option.none()])
      }
      for (const key of isFake ? [{ type: "phone_messaging", id: "106" } as const] : unknown_keys) {
        assert.deepStrictEqual(yield* found("app", key), [Option.none(), Option.none()], key.type)
      }
    }).pipe(Effect.provide(layer)))
}

describe("accounts of a setting", () => promises(CloudAccounts.layerJson(Redacted.make(setting))))

describe("stored accounts", () => {
  promises(storedUnder(1))

  it.effect("fail while no key decrypts their tokens, but their channels are found", () =>
    Effect.gen(function*() {
      const { accountOfBusinessAccount, accountOfChannel, accountOfKey, channelOfKey } = yield* CloudAccounts
      const [row = unconnected] = connected
      const key = { type: row.type, id: row.id }
      for (const account of [accountOfChannel(row), accountOfKey("app", key), accountOfBusinessAccount("business-1")]) {
        assert.strictEqual((yield* Effect.flip(account))._tag, "SecretUnreadable")
      }
      assert.deepStrictEqual(yield* channelOfKey("app", key), Option.some(row.id))
    }).pipe(Effect.provide(storedUnder(2))))
})

describe("accounts of the fake network", () =>
  promises(FakeAccounts.layer(app, Redacted.make("token")), { isFake: true }))
