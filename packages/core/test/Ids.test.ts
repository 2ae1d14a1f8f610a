import { assert, it } from "@effect/vitest"
import { ContactId, Ids } from "@messaging-crm/core/Ids"
import { Effect, Schema } from "effect"

it.effect("makes ids that are UUIDs of version 7, each greater than the one before, also within a millisecond", () =>
  Effect.gen(function*() {
    const { next } = yield* Ids
    const ids = Array.from({ length: 5000 }, next)
    assert.deepStrictEqual(ids, Array.from(new Set(ids)).toSorted())
    assert.isTrue(ids.every((id) => Schema.is(ContactId)(id) && id[14] === "7"))
  }).pipe(Effect.provide(Ids.layer)))
