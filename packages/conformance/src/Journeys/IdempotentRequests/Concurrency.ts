/** Requests with an idempotency key, and concurrent changes and requests. */
import { assert } from "@effect/vitest"
import { Commit, Conflict, Unconfirmed } from "@messaging-crm/core/Commit"
import * as Crm from "@messaging-crm/core/Crm"
import { ConflictBackoff } from "@messaging-crm/core/Decide"
import { Effect, Layer, Option } from "effect"
import type * as Scene from "../JourneyScene.ts"
import { createTag, makeScene, request, respondToErrors } from "./RequestScene.ts"

/** The operations over a storage that commits as the function does. */
const crmWith = (commit: Commit["Service"]["commit"]) =>
  Layer.build(
    Layer.fresh(Crm.layer).pipe(
      Layer.provide(Layer.succeed(Commit, { commit })),
      Layer.provide(Layer.succeed(ConflictBackoff, { pauses: [] }))
    )
  )

export const conflicts = (it: Scene.It) => {
  it.effect("that others' changes prevent is rejected, leaves its key free, and runs when it is repeated", () =>
    Effect.gen(function*() {
      const { as, get, rename, storedRecord } = yield* makeScene
      const port = yield* Commit
      let isContended = true
      const crm = yield* crmWith((organization_id, changes) =>
        Effect.suspend(() => isContended ? Effect.fail(new Conflict()) : port.commit(organization_id, changes))
      )
      const attempt = Effect.provideContext(as(request(rename("Ada"))), crm)
      assert.strictEqual((yield* Effect.flip(attempt))._tag, "ConcurrentChanges")
      assert.deepStrictEqual(yield* storedRecord, Option.none())
      isContended = false
      assert.isFalse((yield* attempt).replayed)
      assert.strictEqual((yield* get()).first_name, "Ada")
    }).pipe(Effect.scoped))

  it.effect("whose commit was not confirmed once and then prevented by others is still processing", () =>
    Effect.gen(function*() {
      const { as, rename, storedRecord } = yield* makeScene
      let commits = 0
      const crm = yield* crmWith(() =>
        Effect.suspend(() => Effect.fail(commits++ === 0 ? new Unconfirmed() : new Conflict()))
      )
      const failure = yield* Effect.flip(Effect.provideContext(as(request(rename("Ada"))), crm))
      assert.strictEqual(failure._tag, "RequestProcessing")
      assert.deepStrictEqual(yield* storedRecord, Option.none())
    }).pipe(Effect.scoped))
}

export const repetitions = (it: Scene.It) => {
  it.effect("that arrives ten times concurrently runs once, and all get the same bytes", () =>
    Effect.gen(function*() {
      const { addNote, as, get } = yield* makeScene
      const outcomes = yield* as(Effect.all(
        Array.from({ length: 10 }, (_, index) => request(addNote(), { request_id: `r-${index}` })),
        { concurrency: "unbounded" }
      ))
      assert.lengthOf(outcomes.filter(({ replayed }) => !replayed), 1)
      assert.strictEqual(new Set(outcomes.map(({ body }) => body)).size, 1)
      assert.strictEqual(new Set(outcomes.map(({ request_id }) => request_id)).size, 1)
      assert.strictEqual((yield* get()).notes, "Called")
    }))

  it.effect("conflicts with another request under its key, which changes nothing", () =>
    Effect.gen(function*() {
      const { as, tags } = yield* makeScene
      yield* as(request(createTag()))
      for (const other of [createTag("new"), respondToErrors(409)(createTag("VIP"))]) {
        const conflict = yield* as(Effect.flip(request(other, { fingerprint: "e".repeat(64) })))
        assert.strictEqual(conflict._tag, "IdempotencyConflict")
      }
      assert.lengthOf(yield* tags, 1)
    }))
}
