/** API keys: their format, the member they act for, their expiry, and their rate limit (contract §4). */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, ApiKeyStore, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId, MemberId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { checksum } from "../src/accounts/KeyChecksum.ts"

/** Counts the lookups of keys. */
let lookups = 0
const counting = Layer.effect(
  ApiKeyStore,
  ApiKeyStore.useSync((store) => ({
    ...store,
    authenticate: (...request) => Effect.suspend(() => (lookups++, store.authenticate(...request)))
  }))
)

const crm = Provider.crm(counting.pipe(Layer.provideMerge(Memory.layer)))

const founded = Effect.map(Fixtures.organizationWithOwner, ({ organization_id, owner }) => ({
  owner,
  as: Effect.provideService(CurrentActor, { organization_id, member_id: owner.id }),
  organization_id
}))

const create = (created_by: MemberId, expires: "1y" | "90d" = "90d") =>
  ApiKeys.use((keys) => keys.create(CreateApiKey.make({ created_by, name: "key", scopes: ["tags:read"], expires })))

const authenticate = (key: string) =>
  ApiKeys.use((keys) => Effect.flatMap(keys.digest(Redacted.make(key)), keys.authenticate))

describe("an API key", () => {
  it.effect("is 37 random characters and their checksum, and acts for the member that it was created for", () =>
    Effect.gen(function*() {
      const { as, organization_id, owner } = yield* founded
      const { api_key, key } = yield* as(create(owner.id))
      const [, random = "", digits] = /^svc_live_([0-9A-Za-z]{37})([0-9A-Za-z]{6})$/.exec(Redacted.value(key)) ?? []
      assert.strictEqual(digits, checksum(random))
      const { actor, key_id } = yield* authenticate(Redacted.value(key))
      assert.strictEqual(key_id, api_key.id)
      assert.deepStrictEqual(actor, { organization_id, member_id: owner.id, key_id, scopes: ["tags:read"] })
      assert.deepInclude((yield* as(ApiKeys.use(({ list }) => list))).map(({ id }) => id), api_key.id)
    }).pipe(Effect.provide(crm)))

  it.effect("expires after 90 days or a year", () =>
    Effect.gen(function*() {
      const { as, owner } = yield* founded
      for (const [expires, day] of [["90d", "1970-04-01"], ["1y", "1971-01-01"]] as const) {
        const { api_key } = yield* as(create(owner.id, expires))
        assert.include(DateTime.formatIso(api_key.expires_at), day)
        assert.deepInclude(api_key, { revoked_at: null, last_used_at: null, name: "key", created_by: owner.id })
      }
    }).pipe(Effect.provide(crm)))

  it.effect("is for owners and admins only", () =>
    Effect.gen(function*() {
      const { as, organization_id } = yield* founded
      const member = yield* Fixtures.member(organization_id, "member")
      const rejected = (id: MemberId) => Effect.map(Effect.flip(as(create(id))), ({ _tag }) => _tag)
      assert.strictEqual(yield* rejected(member.id), "MemberMayNotHoldKeys")
      assert.strictEqual(yield* rejected(MemberId.make(yield* Fixtures.uuid)), "MemberNotFound")
    }).pipe(Effect.provide(crm)))

  it.effect("that does not exist is rejected, without a lookup if it is malformed", () =>
    Effect.gen(function*() {
      const { as, owner } = yield* founded
      const key = Redacted.value((yield* as(create(owner.id))).key)
      lookups = 0
      for (const text of ["", key.slice(1), key.slice(0, -1), `${key}x`, `x${key}`, `svc_live_${"ä".repeat(43)}`]) {
        assert.strictEqual((yield* Effect.flip(authenticate(text)))._tag, "Unauthorized", text)
      }
      assert.strictEqual(lookups, 0)
      assert.strictEqual((yield* Effect.flip(authenticate(`svc_live_${"x".repeat(43)}`)))._tag, "Unauthorized")
      assert.strictEqual(lookups, 1)
    }).pipe(Effect.provide(crm)))

  it.effect("is rejected once it is revoked, which a second revocation does not change", () =>
    Effect.gen(function*() {
      const { as, owner } = yield* founded
      const { api_key, key } = yield* as(create(owner.id))
      const revoke = as(ApiKeys.use((keys) => keys.revoke(api_key.id)))
      yield* authenticate(Redacted.value(key))
      yield* revoke
      assert.strictEqual((yield* Effect.flip(authenticate(Redacted.value(key))))._tag, "Unauthorized")
      yield* TestClock.adjust("1 second")
      yield* revoke
      const listed = yield* as(ApiKeys.use(({ list }) => list))
      assert.deepStrictEqual(listed.map(({ revoked_at }) => revoked_at?.epochMilliseconds), [0])
      const unknown = ApiKeyId.make(yield* Fixtures.uuid)
      assert.strictEqual(
        (yield* Effect.flip(as(ApiKeys.use((keys) => keys.revoke(unknown)))))._tag,
        "ApiKeyNotFound"
      )
    }).pipe(Effect.provide(crm)))

  it.effect("has 120 requests per minute, and is then told how many seconds to wait", () =>
    Effect.gen(function*() {
      const { as, owner } = yield* founded
      const key = Redacted.value((yield* as(create(owner.id))).key)
      yield* TestClock.setTime(500)
      for (let remaining = 119; remaining >= 0; remaining--) {
        const { quota } = yield* authenticate(key)
        assert.deepStrictEqual(quota, { limit: 120, remaining, reset_seconds: 61, seconds_left: 60 })
      }
      const rejected = Effect.flatMap(Effect.flip(authenticate(key)), (error) =>
        error._tag === "RateLimited" ? Effect.succeed(error) : Effect.die(error))
      assert.deepStrictEqual((yield* rejected).quota, { limit: 120, remaining: 0, reset_seconds: 61, seconds_left: 60 })
      yield* TestClock.setTime(30_000)
      assert.strictEqual((yield* rejected).quota.seconds_left, 31)
      yield* TestClock.setTime(60_499)
      assert.strictEqual((yield* rejected).quota.seconds_left, 1)
      yield* TestClock.setTime(60_500)
      assert.strictEqual((yield* authenticate(key)).quota.remaining, 119)
    }).pipe(Effect.provide(crm)))
})

it("a key's checksum is the CRC32 in base62, padded", () => {
  // CRC-32 of "123456789" is 0xCBF43926 (3421780262), of "" it is 0.
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  const value = Array.from(checksum("123456789")).reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
  assert.strictEqual(value, 0xcbf43926)
  assert.strictEqual(checksum(""), "000000")
})
