/** The window of a key, tested with a clock that a test can set. A shared store uses its own clock instead. */
import { assert, it } from "@effect/vitest"
import { layer } from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { afterNoon } from "@messaging-crm/conformance/Fixtures"
import { type ApiKey, ApiKeyRows, ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId, Ids } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { DateTime, Effect, Layer, Option } from "effect"

const digest = "a".repeat(64)

const begin = Effect.gen(function*() {
  const store = yield* ApiKeyStore
  const organization_id = yield* Fixtures.organization
  const { id } = yield* Fixtures.member(organization_id)
  const key: ApiKey = {
    id: ApiKeyId.make(yield* Fixtures.uuid),
    name: "key",
    scopes: ["tags:read"],
    created_by: id,
    created_at: Fixtures.noon,
    expires_at: afterNoon(200_000),
    revoked_at: null,
    last_used_at: null
  }
  yield* Fixtures.mustCommit(organization_id, ApiKeyRows.insert({ ...key, digest }))
  return {
    authenticate: (millis: number) => store.authenticate(digest, 2, afterNoon(millis)),
    lastUse: Effect.map(Rows.use((rows) => rows.list(ApiKeyRows, organization_id)), ([key]) => key?.last_used_at)
  }
})

it.layer(Layer.merge(layer, Ids.layer))("a key's window", (it) => {
  it.effect("begins with the first request, lasts 60 seconds, and is not extended by requests above the limit", () =>
    Effect.gen(function*() {
      const { authenticate, lastUse } = yield* begin
      const at = (millis: number) =>
        Effect.map(authenticate(millis), (found) => {
          const { count, now, window_ends_at } = Option.getOrThrow(found)
          assert.deepStrictEqual(now, afterNoon(millis))
          return { count, ends: DateTime.distance(Fixtures.noon, window_ends_at) }
        })
      assert.isNull(yield* lastUse)
      const first = yield* at(500)
      const rest = yield* Effect.forEach([500, 30_000, 60_000, 60_499], at)
      assert.deepStrictEqual([first, ...rest].map(({ count }) => count), [1, 2, 3, 3, 3])
      for (const { ends } of [first, ...rest]) assert.deepStrictEqual(ends, first.ends)
      assert.deepStrictEqual(yield* lastUse, afterNoon(500))
      const next = yield* at(60_500)
      assert.deepStrictEqual(yield* lastUse, afterNoon(60_500))
      assert.strictEqual(next.count, 1)
      assert.notDeepEqual(next.ends, first.ends)
      assert.strictEqual((yield* at(120_499)).count, 2)
      assert.strictEqual((yield* at(120_500)).count, 1)
      assert.isTrue(Option.isSome(yield* authenticate(199_999)))
      assert.isTrue(Option.isNone(yield* authenticate(200_000)))
    }))
})
