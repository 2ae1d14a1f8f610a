/** A send from its request to its end, with every outcome of the provider. */
import { assert, it } from "@effect/vitest"
import {
  ProviderBusy,
  ProviderHeld,
  ProviderOutcomeUnknown,
  ProviderRejected
} from "@messaging-crm/core/MessagingProvider"
import type { Send } from "@messaging-crm/core/Sends"
import { DateTime, Duration, Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import { accept, type Outcome, ScriptedProvider } from "../Provider.ts"
import { crm, type It, makeScene, type Storage, work, workFor } from "./JourneyScene.ts"
import { attempts } from "./Sends/Attempts.ts"
import { unknownOutcomes } from "./Sends/LostResponses.ts"
import { attemptsOf, busy } from "./Sends/SendScene.ts"

const order = (it: It) => {
  it.effect("reaches the provider after the earlier sends of its conversation", () =>
    Effect.gen(function*() {
      const { start } = yield* makeScene
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
      const { get, provider, start } = yield* makeScene
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
      const { get, provider, start } = yield* makeScene
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

/** A send to a provider that deduplicates, whose first response is lost, and after which each attempt has an outcome. */
const makeLostSend = Effect.fnUntraced(function*(outcome: Outcome) {
  const scene = yield* makeScene
  const began_at = yield* DateTime.now
  const attempts: Array<number> = []
  yield* scene.provider.respond((message) =>
    Effect.gen(function*() {
      if (message.channel.id !== scene.channel.id) return yield* accept(message)
      attempts.push(Duration.toSeconds(DateTime.distance(began_at, yield* DateTime.now)))
      return yield* attempts.length === 1 ? new ProviderOutcomeUnknown() : outcome
    })
  )
  const send = yield* scene.start()
  return { ...scene, attempts, send }
})

/** Checks that a send with an unknown outcome is not attempted again, and fails after 15 minutes. */
const assertStaysUnknown = Effect.fnUntraced(function*(
  { attempts, get, send }: Pick<Effect.Success<ReturnType<typeof makeLostSend>>, "attempts" | "get"> & {
    readonly send: Send
  }
) {
  const made = attempts.length
  const { failure_reason, status } = yield* get(send.id)
  assert.deepStrictEqual([status, failure_reason], ["unknown", null])
  yield* workFor("15 minutes", "1 minute")
  assert.lengthOf(attempts, made)
  const ended = yield* get(send.id)
  assert.deepStrictEqual([ended.status, ended.failure_reason], ["failed", "outcome_unknown"])
})

const unresolvedSends = (it: It) => {
  it.effect.each([
    busy,
    new ProviderBusy({ reason: "rate_limited", retry_after_seconds: null, throttles: "channel" }),
    new ProviderHeld({ reason: "provider_auth" }),
    new ProviderOutcomeUnknown(),
    new ProviderRejected({ reason: "provider_rejected" }),
    new ProviderRejected({ reason: "provider_auth", pauses_channel: true })
  ])(
    "is unknown two minutes after an attempt whose response was lost if later ones end with $_tag",
    (outcome) =>
      Effect.gen(function*() {
        const scene = yield* makeLostSend(outcome)
        yield* work
        yield* workFor("2 minutes", "1 second")
        const { attempts } = scene
        assert.isAtMost(attempts.length, 6)
        assert.deepStrictEqual(attempts, [0, 1, 6, 21, 51, 111].slice(0, attempts.length))
        yield* assertStaysUnknown(scene)
      })
  )

  it.effect("is unknown two minutes after its first attempt if the worker stops during each", () =>
    Effect.gen(function*() {
      const begun = yield* Latch.make()
      const scene = yield* makeLostSend(Effect.andThen(begun.open, Effect.never))
      for (let minute = 0; minute <= 3; minute++) {
        yield* Effect.race(work, begun.await)
        yield* begun.close
        yield* TestClock.adjust("1 minute")
      }
      assert.deepStrictEqual(scene.attempts, [0, 60, 120])
      yield* assertStaysUnknown(scene)
    }))
}

const deduplicatedSends = (it: It) => {
  it.effect("is retried with the same reference when the response was lost", () =>
    Effect.gen(function*() {
      const { get, provider, start } = yield* makeScene
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
      const { get, provider, start } = yield* makeScene
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
    (it) => {
      deduplicatedSends(it)
      unresolvedSends(it)
    }
  )
}
