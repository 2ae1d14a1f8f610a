/** The order of one person's callbacks, over claims and failures (contract §15.5). */
import { assert } from "@effect/vitest"
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../../Fixtures.ts"
import { type It, makeScene } from "../JourneyScene.ts"

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]

/** A process claims and processes the due callbacks. The first of them waits, then fails. */
const makeCallbackScene = Effect.gen(function*() {
  yield* Fixtures.emptyQueue
  const { channel } = yield* makeScene
  const inbox = yield* CallbackInbox
  const [isProcessed, mayFail] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const processed: Array<string> = []
  const store = (name: string, ...people: ReadonlyArray<string>) =>
    inbox.store("app", [{ channel_id: channel.id, people, body: encoder.encode(name) }])
  const waitAndFail = Deferred.succeed(isProcessed, undefined).pipe(
    Effect.andThen(Deferred.await(mayFail)),
    Effect.andThen(Effect.die("broken"))
  )
  const runOnce = inbox.runOnce(Effect.fnUntraced(function*({ attempt, body }) {
    const name = decoder.decode(body)
    if (name === "first" && attempt === 1) yield* waitAndFail
    processed.push(name)
  }))
  /** Begins to process the due callbacks. Returns an effect that lets the first one fail. */
  const begin = Effect.gen(function*() {
    const running = yield* Effect.forkChild(runOnce)
    yield* Deferred.await(isProcessed)
    // The others of the claim begin meanwhile.
    yield* Effect.replicateEffect(Effect.yieldNow, 100, { discard: true })
    return Effect.andThen(Deferred.succeed(mayFail, undefined), Fiber.join(running))
  })
  return { begin, processed, runOnce, store }
})

export const callbackOrder = (it: It) => {
  it.effect("keeps a person's callbacks in order if one fails while the next one of the same claim waits", () =>
    Effect.gen(function*() {
      const { begin, processed, runOnce, store } = yield* makeCallbackScene
      yield* store("first", "kim")
      yield* store("change of ID", "kim", "lee")
      yield* store("last", "lee")
      yield* store("other person", "ada")
      assert.strictEqual(yield* Effect.flatten(begin), 4)
      assert.deepStrictEqual(processed.splice(0), ["other person"])
      // The others are due earlier than the first.
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(yield* runOnce, 2)
      assert.deepStrictEqual(processed, [])
      yield* TestClock.adjust("1 second")
      yield* runOnce
      assert.deepStrictEqual(processed, ["first", "change of ID", "last"])
    }))

  it.effect("keeps a person's callbacks in order if one fails after another process has claimed the next one", () =>
    Effect.gen(function*() {
      const { begin, processed, runOnce, store } = yield* makeCallbackScene
      yield* store("first", "kim")
      const fail = yield* begin
      yield* store("next", "kim")
      yield* store("other person", "ada")
      assert.strictEqual(yield* runOnce, 2)
      assert.deepStrictEqual(processed.splice(0), ["other person"])
      yield* fail
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(yield* runOnce, 1)
      assert.deepStrictEqual(processed, [])
      yield* TestClock.adjust("1 second")
      yield* runOnce
      assert.deepStrictEqual(processed, ["first", "next"])
    }))
}
