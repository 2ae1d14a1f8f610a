/** The accounts of channels: who gets a token, and in what form it is stored. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { type AccountIds, ChannelAccountRows, ChannelAccounts, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { ChannelHoldRows, ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { ChannelId } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { Effect, Option, Redacted, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { old, other, outside, under, young } from "./RootKeys.ts"

const token = (text: string) => Schema.decodeSync(ChannelToken)(text)
const accountIds = (account_id: string): AccountIds => ({ app_id: "15", account_id, page_id: null })
const input = {
  type: "phone_messaging",
  name: "Support",
  address: "+493012345678",
  phone_messaging_business_account_id: "acme"
} as const

/** An organization whose operator calls. */
const operator = Effect.map(Fixtures.organization, (organization_id) => ({
  organization_id,
  as: Effect.provideService(CurrentActor, { organization_id, member_id: null })
}))

const connect = (account_id: string) =>
  ChannelAccounts.use((accounts) =>
    accounts.connect(ConnectChannel.make(input), accountIds(account_id), token("swordfish"))
  )
const setToken = (id: ChannelId, text: string, account_id: Option.Option<string> = Option.none()) =>
  ChannelAccounts.use((accounts) => accounts.setToken(id, token(text), Option.map(account_id, accountIds)))
const open = (id: ChannelId) =>
  ChannelAccounts.use((accounts) => accounts.open(id)).pipe(
    Effect.map(Option.map(({ token }) => Redacted.value(token))),
    Effect.map(Option.getOrNull),
    Effect.catchTag("SecretUnreadable", ({ _tag }) => Effect.succeed(_tag))
  )

it.effect("a token is stored encrypted, for its channel alone, and shown nowhere", () =>
  Effect.gen(function*() {
    const { as, organization_id } = yield* operator
    const channel = yield* connect("106540352242922").pipe(as, under(old))
    const row = Option.getOrThrow(yield* Rows.use((rows) => rows.find(ChannelAccountRows, organization_id, channel.id)))
    assert.notInclude(JSON.stringify(row), "swordfish")
    assert.deepInclude(row, { ...accountIds("106540352242922"), channel_id: channel.id, business_account_id: "acme" })
    assert.strictEqual(yield* open(channel.id).pipe(under(old)), "swordfish")
    const opened = yield* ChannelAccounts.use((accounts) =>
      accounts.openByAccount("phone_messaging", "106540352242922")
    )
      .pipe(under(old))
    assert.isTrue(Option.isSome(opened))
    assert.notInclude(JSON.stringify(opened) + String(opened), "swordfish")
    // The ciphertext of one channel is worth nothing in the row of another.
    const { as: asOther, organization_id: theirs } = yield* operator
    const thief = yield* connect("2").pipe(asOther, under(old))
    const stolen = ChannelAccountRows.update({ channel_id: thief.id, version: 1 }, { sealed_token: row.sealed_token })
    yield* Fixtures.mustCommit(theirs, stolen)
    assert.strictEqual(yield* open(thief.id).pipe(under(old)), "SecretUnreadable")
  }).pipe(Effect.provide(outside)))

it.effect("a token is encrypted anew under another root key, and none decrypts it without its key", () =>
  Effect.gen(function*() {
    const { as } = yield* operator
    const { id } = yield* connect("1").pipe(as, under(old))
    const reseal = ChannelAccounts.use((accounts) => accounts.reseal)
    assert.strictEqual(yield* reseal.pipe(under(other)), 0)
    assert.strictEqual(yield* reseal.pipe(under(young, old)), 1)
    assert.strictEqual(yield* reseal.pipe(under(young, old)), 0)
    assert.strictEqual(yield* open(id).pipe(under(young)), "swordfish")
    assert.strictEqual(yield* open(id).pipe(under(old)), "SecretUnreadable")
    const found = yield* ChannelAccounts.use((accounts) => accounts.find(id)).pipe(under(old))
    assert.deepInclude(Option.getOrNull(found), accountIds("1"))
    assert.notProperty(Option.getOrNull(found), "sealed_token")
  }).pipe(Effect.provide(outside)))

it.effect("a channel and its account are connected together or not at all", () =>
  Effect.gen(function*() {
    const [ours, theirs] = [yield* operator, yield* operator]
    yield* connect("1").pipe(theirs.as)
    assert.strictEqual((yield* Effect.flip(connect("1").pipe(ours.as)))._tag, "AccountTaken")
    assert.deepStrictEqual(yield* Channels.use(({ list }) => list).pipe(ours.as), [])
    yield* connect("2").pipe(ours.as)
    assert.strictEqual((yield* Effect.flip(connect("3").pipe(ours.as)))._tag, "ChannelAddressTaken")
  }).pipe(under(old), Effect.provide(outside)))

it.effect("a new token takes the place of the old one, and resumes the channel", () =>
  Effect.gen(function*() {
    const [ours, theirs] = [yield* operator, yield* operator]
    const { id } = yield* connect("1").pipe(ours.as)
    yield* connect("2").pipe(theirs.as)
    const pause = { reason: "provider_auth", held_at: Fixtures.noon, until: null, level: 0 } as const
    yield* Fixtures.mustCommit(ours.organization_id, ChannelHoldRows.insert({ channel_id: id, ...pause }))
    const rejected = (effect: ReturnType<typeof setToken>, as = ours.as) =>
      Effect.map(Effect.flip(as(effect)), ({ _tag }) => _tag)
    assert.strictEqual(yield* rejected(setToken(id, "new"), theirs.as), "ChannelNotFound")
    assert.strictEqual(yield* rejected(setToken(ChannelId.make(yield* Fixtures.uuid), "new")), "ChannelNotFound")
    assert.strictEqual(yield* rejected(setToken(id, "new", Option.some("2"))), "AccountTaken")
    assert.strictEqual(yield* open(id), "swordfish")
    assert.lengthOf(yield* ChannelHolds.use(({ list }) => list).pipe(ours.as), 1)
    yield* setToken(id, "new").pipe(ours.as)
    assert.strictEqual(yield* open(id), "new")
    assert.deepStrictEqual(yield* ChannelHolds.use(({ list }) => list).pipe(ours.as), [])
    // Both organizations use the business account, and the token that was set last counts.
    yield* TestClock.adjust("1 millis")
    yield* setToken(id, "newer", Option.some("3")).pipe(ours.as)
    const account = yield* ChannelAccounts.use((accounts) => accounts.openByBusinessAccount("acme"))
    assert.deepInclude(Option.getOrNull(account), { channel_id: id, account_id: "3" })
  }).pipe(under(old), Effect.provide(outside)))

it.effect("a channel that was connected without an account needs its IDs with the first token", () =>
  Effect.gen(function*() {
    const { as } = yield* operator
    const { id } = yield* Channels.use((channels) => channels.connect(ConnectChannel.make(input))).pipe(as)
    assert.isNull(yield* open(id))
    assert.strictEqual((yield* Effect.flip(setToken(id, "new").pipe(as)))._tag, "AccountUnknown")
    yield* setToken(id, "new", Option.some("1")).pipe(as)
    assert.strictEqual(yield* open(id), "new")
  }).pipe(under(old), Effect.provide(outside)))

it("a token is visible ASCII, as an HTTP header needs it, and an error does not contain it", () => {
  const decode = Schema.decodeUnknownResult(ChannelToken)
  for (const text of ["", " ", "sword fish", "sword\nfish", "schwertfisch\u00df", "x".repeat(4097)]) {
    const result = decode(text)
    if (Result.isSuccess(result)) return assert.fail(text)
    if (text.length > 1) assert.notInclude(String(result.failure), text)
  }
  assert.isTrue(Result.isSuccess(decode("EAAGm0PX4ZCpsBA|x.y-z_=")))
})
