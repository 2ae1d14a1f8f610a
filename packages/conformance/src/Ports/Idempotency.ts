/** Tests of the guarantees of `IdempotencyStore`. */
import { assert } from "@effect/vitest"
import { IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Option } from "effect"
import { jsonText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

const { key } = Fixtures.keyedRequest

const write = (organization_id: OrganizationId, key: IdempotencyKey, body: string, created_at = Fixtures.noon) =>
  Fixtures.mustCommit(organization_id, {
    response: { ...Fixtures.idempotencyRecord, key, body, sealed: true, created_at }
  })

export const portTests = (it: It, { runs }: Options) => {
  it.effect.prop(
    "returns the exact text of a response",
    { body: jsonText({ min: 0, max: 64 }) },
    ({ body }) =>
      Effect.gen(function*() {
        const store = yield* IdempotencyStore
        const ours = yield* Fixtures.organization
        yield* write(ours, key, body)
        const stored = Option.getOrThrow(yield* store.find(ours, key))
        assert.strictEqual(stored.body, body)
        assert.strictEqual(stored.fingerprint, Fixtures.keyedRequest.fingerprint)
        assert.strictEqual(stored.status, 201)
        assert.isTrue(stored.sealed)
        assert.strictEqual(stored.request_id, "r-1")
        assert.deepStrictEqual(yield* store.find(ours, IdempotencyKey.make("another-key")), Option.none())
      }),
    { arbitrary: { runs } }
  )

  it.effect("deletes records that are old enough, the oldest first, up to the limit", () =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      while ((yield* store.purge(afterNoon(0), 1000)) > 0) continue
      const keys = ["first-key", "second-key", "third-key"].map((value) => IdempotencyKey.make(value))
      yield* Effect.forEach(keys, (oldKey, index) =>
        write(index === 1 ? theirs : ours, oldKey, "", afterNoon(-10 - index)))
      yield* write(ours, key, "")
      assert.strictEqual(yield* store.purge(afterNoon(0), 2), 2)
      const left = yield* Effect.forEach(keys, (oldKey, index) =>
        store.find(index === 1 ? theirs : ours, oldKey))
      assert.deepStrictEqual(left.map(Option.isSome), [true, false, false])
      assert.strictEqual(yield* store.purge(afterNoon(0), 2), 1)
      assert.strictEqual(yield* store.purge(afterNoon(0), 2), 0)
      assert.isTrue(Option.isSome(yield* store.find(ours, key)))
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      yield* write(ours, key, "1")
      assert.deepStrictEqual(yield* store.find(theirs, key), Option.none())
      yield* write(theirs, key, "2")
      assert.strictEqual(Option.getOrThrow(yield* store.find(ours, key)).body, "1")
    }))
}
