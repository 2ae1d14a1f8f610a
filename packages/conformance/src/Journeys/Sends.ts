/** A send from its request to its end, with every outcome of the provider. */
import { assert, it } from "@effect/vitest"
import { ProviderBusy, ProviderOutcomeUnknown } from "@messaging-crm/core/MessagingProvider"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { accept, ScriptedProvider } from "../Provider.ts"
import { begin, crm, type It, type Storage, work } from "./Scene.ts"
import { attempts } from "./Sends/Attempts.ts"
import { unknownOutcomes } from "./Sends/LostResponses.ts"
import { attemptsOf, busy } from "./Sends/Scene.ts"

const order = (it: It) => {
  it.effect("reaches the provider after the earlier sends of its conversation", () =>
    Effect.gen(function*() {
      const { start } = yield* begin
      const sends = yield* Effect.forEach(["a", "b", "c", "d"], start)
      yield* work
      const order = (yield* ScriptedProvider.use((provider) => provider.received)).map(({ reference }) => reference)
      const ids = sends.map(({ id }) => id)
      assert.deepStrictEqual(order.filter((reference) => ids.includes(reference)), ids)
    }))
}

const retries = (it: It) => {
  it.effect("is retried after 1, 5, 15, 30 and 60 seconds when nothing was sent, and delays the next send", () =>
    Effect.gen(function*() {
      const { get, provider, start } = yield* begin
      yield* provider.respond(() => Effect.fail(busy))
      const [head, next] = [yield* start("a"), yield* start("b")]
      yield* work
      assert.strictEqual((yield* get(head.id)).status, "queued")
      for (const [index, seconds] of [1, 5, 15, 30, 60].entries()) {
        yield* TestClock.adjust(`${seconds * 1000 - 1} millis`)
        yield* work
        assert.strictEqual(yield* attemptsOf(head.id), index + 1)
        yield* TestClock.adjust("1 millis")
        yield* work
        assert.strictEqual(yield* attemptsOf(head.id), index + 2)
      }
      const ended = yield* get(head.id)
      assert.strictEqual(ended.status, "failed")
      assert.strictEqual(ended.failure_reason, "provider_unavailable")
      // The first send has failed, so the next one was attempted.
      assert.strictEqual(yield* attemptsOf(next.id), 1)
      yield* provider.respond(accept)
      yield* TestClock.adjust("1 seconds")
      yield* work
      assert.strictEqual((yield* get(next.id)).status, "sent")
    }))

  it.effect("waits as long as the provider requests", () =>
    Effect.gen(function*() {
      const { get, provider, start } = yield* begin
      yield* provider.respond(() => Effect.fail(new ProviderBusy({ reason: "rate_limited", retry_after_seconds: 20 })))
      const { id } = yield* start()
      yield* work
      yield* TestClock.adjust("19 seconds")
      yield* work
      assert.strictEqual(yield* attemptsOf(id), 1)
      yield* provider.respond(accept)
      yield* TestClock.adjust("1 seconds")
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
    }))
}

const deduplicatedSends = (it: It) => {
  it.effect("is retried with the same reference when the response was lost", () =>
    Effect.gen(function*() {
      const { get, provider, start } = yield* begin
      yield* provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
      const { id } = yield* start()
      yield* work
      yield* provider.respond(accept)
      yield* TestClock.adjust("1 seconds")
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
      assert.strictEqual(yield* attemptsOf(id), 2)
    }))

  it.effect("has an unknown outcome after five defects, and the send behind it is sent within 90 s", () =>
    Effect.gen(function*() {
      const { get, provider, start } = yield* begin
      yield* provider.respond((message) => message.content.text === "Hello b" ? accept(message) : Effect.die("bug"))
      const [head, next] = [yield* start("a"), yield* start("b")]
      const attempts: Array<number> = []
      for (let seconds = 0; seconds <= 90; seconds += 2) {
        yield* work
        attempts.push(yield* attemptsOf(head.id))
        if (attempts.at(-1) === 4) assert.strictEqual((yield* get(head.id)).status, "sending")
        if (seconds < 90) yield* TestClock.adjust("2 seconds")
      }
      assert.deepStrictEqual(Array.from(new Set(attempts)), [1, 2, 3, 4, 5])
      assert.strictEqual((yield* get(head.id)).status, "unknown")
      assert.strictEqual((yield* get(next.id)).status, "sent")
      yield* TestClock.adjust("15 minutes")
      yield* work
      const { failure_reason, status } = yield* get(head.id)
      assert.deepStrictEqual([status, failure_reason], ["failed", "outcome_unknown"])
    }))
}

export const journeyTests = (storage: Storage) => {
  it.layer(crm(storage), { timeout: "5 minutes" })("a send", (it) => {
    order(it)
    retries(it)
    unknownOutcomes(it)
    attempts(it)
  })

  it.layer(crm(storage, "client_ref"), { timeout: "5 minutes" })(
    "a send to a provider that deduplicates by reference",
    deduplicatedSends
  )
}
