/** Tests of the guarantees of `ApiKeyStore`. */
import { assert } from "@effect/vitest"
import { type ApiKey, ApiKeyRows, ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { Country } from "@messaging-crm/core/Countries"
import { ApiKeyId, type MemberId, type OrganizationId } from "@messaging-crm/core/Ids"
import { MemberRows } from "@messaging-crm/core/Members"
import { OrganizationRows, OrganizationStore } from "@messaging-crm/core/Organizations"
import { Rows } from "@messaging-crm/core/Rows"
import { DateTime, Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"

/** A store that several processes share uses its own clock, not the test's. So keys of these tests expire far in the future or the past. */
const never = DateTime.makeUnsafe("2150-01-01T00:00:00.000Z")
const longAgo = DateTime.makeUnsafe("2001-01-01T00:00:00.000Z")

const newKey = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  created_by: MemberId,
  fields: Partial<ApiKey> = {}
) {
  const id = ApiKeyId.make(yield* Fixtures.uuid)
  const key: ApiKey = {
    id,
    name: "key",
    scopes: ["tags:read"],
    created_by,
    created_at: Fixtures.noon,
    expires_at: never,
    revoked_at: null,
    last_used_at: null,
    ...fields
  }
  const digest = id.replaceAll("-", "").padEnd(64, "0")
  yield* Fixtures.mustCommit(organization_id, ApiKeyRows.insert({ ...key, digest }))
  return { key, digest }
})

const authenticate = (digest: string, limit = 3) =>
  ApiKeyStore.use((store) => store.authenticate(digest, limit, Fixtures.noon))
const isAuthenticated = (digest: string) => Effect.map(authenticate(digest), Option.isSome)

/** Returns a key as it is stored. */
const stored = (organization_id: OrganizationId, id: ApiKeyId) =>
  Effect.map(Rows.use((rows) => rows.find(ApiKeyRows, organization_id, id)), Option.getOrThrow)

const authentication = (it: It) => {
  it.effect("authenticates a known key of a current owner or admin, and returns for whom it acts", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      for (const role of ["owner", "admin"] as const) {
        const { id } = yield* Fixtures.member(ours, role)
        const { digest, key } = yield* newKey(ours, id, { scopes: ["tags:read", "messages:send"] })
        const metered = Option.getOrThrow(yield* authenticate(digest))
        assert.strictEqual(metered.key_id, key.id)
        assert.strictEqual(metered.organization_id, ours)
        assert.strictEqual(metered.created_by, id)
        assert.deepStrictEqual(metered.scopes, ["tags:read", "messages:send"])
      }
      assert.isFalse(yield* isAuthenticated("f".repeat(64)))
    }))

  it.effect("returns the default country of the key's organization, as it is at the moment", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.member(ours)
      const { digest } = yield* newKey(ours, id)
      const country = Effect.map(authenticate(digest), (found) => Option.getOrThrow(found).default_country)
      assert.isNull(yield* country)
      const row = Option.getOrThrow(yield* OrganizationStore.use((store) => store.find(ours)))
      yield* Fixtures.mustCommit(ours, OrganizationRows.update(row, { default_country: Country.make("DE") }))
      assert.strictEqual(yield* country, "DE")
    }))

  it.effect("does not authenticate a revoked or expired key", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.member(ours)
      const { digest, key } = yield* newKey(ours, id)
      assert.isTrue(yield* isAuthenticated(digest))
      yield* Fixtures.mustCommit(ours, ApiKeyRows.update({ id: key.id, version: 1 }, { revoked_at: afterNoon(1) }))
      assert.isFalse(yield* isAuthenticated(digest))
      const expired = yield* newKey(ours, id, { expires_at: longAgo })
      assert.isFalse(yield* isAuthenticated(expired.digest))
    }))

  it.effect("does not authenticate a key whose creator lost the role or left, at once", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.member(ours)
      const { digest } = yield* newKey(ours, id)
      yield* Fixtures.mustCommit(ours, MemberRows.update({ id, version: 1 }, { role: "member" }))
      assert.isFalse(yield* isAuthenticated(digest))
      yield* Fixtures.mustCommit(ours, MemberRows.update({ id, version: 2 }, { role: "admin" }))
      assert.isTrue(yield* isAuthenticated(digest))
      yield* Fixtures.mustCommit(ours, MemberRows.update({ id, version: 3 }, { left_at: afterNoon(1) }))
      assert.isFalse(yield* isAuthenticated(digest))
    }))
}

const reads = (it: It) => {
  it.effect("keeps when a key was last used, once for each window, and leaves its version", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.member(ours)
      const [used, unused] = [yield* newKey(ours, id), yield* newKey(ours, id)]
      const row = stored(ours, used.key.id)
      assert.isNull((yield* row).last_used_at)
      const { now } = Option.getOrThrow(yield* authenticate(used.digest))
      const first = yield* row
      assert.isNotNull(first.last_used_at)
      assert.isAtMost(Math.abs(DateTime.toEpochMillis(first.last_used_at ?? never) - DateTime.toEpochMillis(now)), 1)
      yield* authenticate(used.digest)
      assert.deepStrictEqual(yield* row, first)
      assert.strictEqual(first.version, 1)
      assert.isNull((yield* stored(ours, unused.key.id)).last_used_at)
    }))
}

const concurrentRequests = (it: It) => {
  it.effect("gives each of many concurrent requests a count of its own, up to one beyond the limit", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.member(ours)
      const [one, other] = [yield* newKey(ours, id), yield* newKey(ours, id)]
      const results = yield* Effect.all(Array.from({ length: 60 }, () => authenticate(one.digest, 20)), {
        concurrency: "unbounded"
      })
      const counts = results.map((result) => Option.getOrThrow(result).count).toSorted((a, b) => a - b)
      assert.deepStrictEqual(counts.slice(0, 20), Array.from({ length: 20 }, (_, index) => index + 1))
      assert.isTrue(counts.slice(20).every((count) => count === 21))
      assert.strictEqual(Option.getOrThrow(yield* authenticate(other.digest, 20)).count, 1)
    }))

  it.effect("authenticates each of many concurrent requests as the key that it presents", () =>
    Effect.gen(function*() {
      const keys = yield* Effect.replicateEffect(
        Effect.gen(function*() {
          const ours = yield* Fixtures.organization
          const { id } = yield* Fixtures.member(ours)
          return yield* newKey(ours, id)
        }),
        10
      )
      const [revoked] = keys.splice(4, 1)
      if (revoked !== undefined) {
        const theirs = Option.getOrThrow(yield* authenticate(revoked.digest)).organization_id
        yield* Fixtures.mustCommit(
          theirs,
          ApiKeyRows.update({ id: revoked.key.id, version: 1 }, { revoked_at: afterNoon(1) })
        )
      }
      const presented = [...keys, revoked, ...keys, undefined, ...keys]
      const results = yield* Effect.forEach(presented, (key) => authenticate(key?.digest ?? "e".repeat(64), 2), {
        concurrency: "unbounded"
      })
      for (const [index, result] of results.entries()) {
        const key = presented[index] === revoked ? undefined : presented[index]?.key.id
        assert.strictEqual(Option.getOrUndefined(result)?.key_id, key)
      }
      for (const { key } of keys) {
        const counts = results.flatMap(Option.toArray).filter(({ key_id }) => key_id === key.id).map(({ count }) =>
          count
        )
        assert.deepStrictEqual(counts.toSorted(), [1, 2, 3])
      }
    }))
}

export const portTests = (it: It) => {
  authentication(it)
  reads(it)
  concurrentRequests(it)
}
