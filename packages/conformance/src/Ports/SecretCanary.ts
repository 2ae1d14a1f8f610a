/** Tests of the guarantees of `SecretCanaryStore`. The canary is global: a test changes what it finds. */
import { assert } from "@effect/vitest"
import { SecretCanaryStore } from "@messaging-crm/core/SecretCanary"
import { Effect, Option } from "effect"
import type { It } from "../Fixtures.ts"

export const portTests = (it: It) => {
  it.effect("stores one canary, and replaces it only while it is the one before", () =>
    Effect.gen(function*() {
      const store = yield* SecretCanaryStore
      yield* Effect.forEach(["first", "second", "third"], store.insert, { concurrency: "unbounded" })
      const canary = Option.getOrThrow(yield* store.find)
      yield* store.insert("fourth")
      yield* store.replace("another", "wrong")
      assert.deepStrictEqual(yield* store.find, Option.some(canary))
      const next = `${canary}.next`
      yield* store.replace(canary, next)
      yield* store.replace(canary, "wrong")
      assert.deepStrictEqual(yield* store.find, Option.some(next))
    }))
}
