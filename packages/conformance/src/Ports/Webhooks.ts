/** Tests of the guarantees of `WebhookStore`. */
import { assert } from "@effect/vitest"
import { Rows } from "@messaging-crm/core/Rows"
import { toWebhook, type WebhookColumns, WebhookRows, WebhookStore } from "@messaging-crm/core/Webhooks"
import { Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"

const disabled = { status: "disabled", disabled_at: afterNoon(1) } as const

const lists = (it: It) => {
  it.effect("lists the newest first, then by id descending, including those of one status, and counts the active ones", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const rows = yield* Effect.forEach(
        [0, 2, 1, 2, 0],
        (millis) => Fixtures.webhook(ours, { created_at: afterNoon(millis) })
      )
      const gone = yield* Effect.forEach(
        [1, 4],
        (millis) => Fixtures.webhook(ours, { created_at: afterNoon(millis), ...disabled })
      )
      const sorted = (some: ReadonlyArray<WebhookColumns>) =>
        Fixtures.newestFirst(some.map(toWebhook), ({ created_at }) => created_at)
      for (
        const [status, expected] of [
          [null, sorted([...rows, ...gone])],
          ["active", sorted(rows)],
          ["disabled", sorted(gone)]
        ] as const
      ) {
        for (const limit of [1, 3, 6, 9]) {
          assert.deepStrictEqual(yield* store.list(ours, { status }, limit), expected.slice(0, limit))
        }
        assert.deepStrictEqual(yield* store.list(theirs, { status }, 9), [])
      }
      assert.strictEqual(yield* store.countActive(ours), 5)
      assert.strictEqual(yield* store.countActive(theirs), 0)
    }))
}

const sealedSecrets = (it: It) => {
  it.effect("finds the secrets that another key sealed, a page at a time, and replaces them", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const prefix = `${yield* Fixtures.uuid}.`
      const [old, young] = [
        yield* Fixtures.webhook(ours),
        yield* Fixtures.webhook(ours, { sealed_secret: `${prefix}secret` })
      ]
      yield* Fixtures.webhook(ours, disabled)
      const other = yield* Fixtures.webhook(theirs)
      const outdated = yield* Fixtures.sealedOtherwise(store, prefix, 50)
      assert.deepStrictEqual(
        outdated.filter(({ organization_id }) => organization_id === ours || organization_id === theirs),
        [
          { organization_id: ours, id: old.id, sealed_secret: old.sealed_secret },
          { organization_id: theirs, id: other.id, sealed_secret: other.sealed_secret }
        ]
      )
      const { sealed_secret } = old
      yield* store.reseal(ours, old.id, "what it is not", "x")
      yield* store.reseal(theirs, old.id, sealed_secret, "x")
      yield* store.reseal(ours, old.id, sealed_secret, `${prefix}again`)
      const rows = yield* Rows
      const resealed = Option.getOrThrow(yield* rows.find(WebhookRows, ours, old.id))
      assert.strictEqual(resealed.sealed_secret, `${prefix}again`)
      assert.deepStrictEqual(yield* rows.find(WebhookRows, ours, young.id), Option.some({ ...young, version: 1 }))
    }))
}

export const portTests = (it: It) => {
  lists(it)
  sealedSecrets(it)
}
