/** Attempts that fail: their retries, the pauses of their webhook, and the end of a delivery or of a webhook. */
import { assert, it } from "@effect/vitest"
import { delays, WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { Worker } from "@messaging-crm/core/Worker"
import { DateTime, Deferred, Duration, Effect, Fiber, Ref } from "effect"
import { TestClock } from "effect/testing"
import type { Outcome } from "../Endpoints.ts"
import * as Scene from "./JourneyScene.ts"
import { refused, responded, subscribed } from "./WebhookScene.ts"

const { work, workAgain, workFor } = Scene

const scheduledRetries = (it: Scene.It) => {
  it.effect("a webhook whose endpoint is down for three days gets its events afterwards, at the times of the schedule", () =>
    Effect.gen(function*() {
      const { close, deliveries, respond, status } = yield* subscribed
      const times = yield* Ref.make<ReadonlyArray<DateTime.Utc>>([])
      const down = (outcome: Outcome) =>
        Effect.andThen(
          Effect.flatMap(DateTime.now, (now) => Ref.update(times, (earlier) => [...earlier, now])),
          outcome
        )
      yield* respond(() => down(refused))
      yield* close()
      yield* work
      for (let attempts = 1; attempts <= 8; attempts++) {
        const [{ failure_code, next_attempt_at } = assert.fail("There is no delivery.")] = yield* deliveries
        assert.strictEqual(failure_code, "connection_refused")
        const due_at = next_attempt_at ?? assert.fail("There is no further attempt.")
        yield* TestClock.setTime(due_at.epochMilliseconds - 1)
        yield* work
        assert.lengthOf(yield* Ref.get(times), attempts, "before its time")
        yield* TestClock.adjust("1 millis")
        yield* work
        assert.lengthOf(yield* Ref.get(times), attempts + 1, "at its time")
      }
      const attempted_at = yield* Ref.get(times)
      attempted_at.slice(1).forEach((at, index) => {
        const [waited, usual] = [DateTime.distance(attempted_at[index] ?? at, at), delays[index] ?? Duration.zero]
        const off = Math.abs(Duration.toMillis(waited) / Duration.toMillis(usual) - 1)
        assert.isAtMost(off, index === 0 ? 0 : 0.1, `delay ${index}`)
      })
      yield* respond(() => down(responded(200)))
      yield* workFor(Duration.hours(27), Duration.hours(1))
      const [delivery] = yield* deliveries
      assert.strictEqual(delivery?.status, "succeeded")
      assert.strictEqual(delivery?.attempt_count, 10)
      assert.strictEqual(yield* status, "active")
    }))
}

const statuses = (it: Scene.It) => {
  it.effect("an attempt succeeds only with a 2xx", () =>
    Effect.gen(function*() {
      const { close, deliveries, respond } = yield* subscribed
      for (const status of [199, 200, 300, 204, 302, 299, 304, 200, 399, 200, 400]) {
        yield* respond(() => responded(status))
        yield* close()
        yield* work
        const isSuccess = status >= 200 && status <= 299
        const [delivery] = yield* deliveries
        assert.strictEqual(delivery?.status, isSuccess ? "succeeded" : "pending", String(status))
        assert.strictEqual(delivery?.failure_code, isSuccess ? null : "http_status", String(status))
        yield* TestClock.adjust("1 minutes")
      }
    }))
}

const manualRetries = (it: Scene.It) => {
  it.effect("a webhook whose endpoint is down for longer than the schedule gets no more attempts, and a retry on request", () =>
    Effect.gen(function*() {
      const { as, close, deliveries, id, posted, respond } = yield* subscribed
      yield* respond(() => responded(503))
      yield* close()
      yield* work
      for (const delay of delays) yield* workFor(Duration.times(delay, 1.1), Duration.times(delay, 0.55))
      const [delivery = assert.fail("There is no delivery.")] = yield* deliveries
      assert.strictEqual(delivery.status, "failed")
      assert.strictEqual(delivery.attempt_count, 10)
      assert.strictEqual(delivery.failure_code, "http_status")
      assert.strictEqual(delivery.response_status, 503)
      assert.isNull(delivery.next_attempt_at)
      yield* respond(() => responded(200))
      const retry = WebhookDeliveries.use((deliveries) => deliveries.retry(id, delivery.id)).pipe(as)
      const pending = yield* retry
      assert.strictEqual(pending.status, "pending")
      assert.deepStrictEqual(pending.next_attempt_at, yield* DateTime.now)
      assert.deepStrictEqual(yield* retry, pending)
      // The tenth failure in a row has paused the webhook.
      yield* workFor(Duration.minutes(9), Duration.minutes(1))
      assert.lengthOf(yield* posted, 10)
      yield* TestClock.adjust("1 minutes")
      yield* work
      assert.strictEqual((yield* deliveries)[0]?.status, "succeeded")
      const requests = yield* posted
      assert.lengthOf(requests, 11)
      assert.strictEqual(new Set(requests.map(({ body }) => body)).size, 1)
      assert.strictEqual(new Set(requests.map(({ headers }) => headers["webhook-id"])).size, 1)
    }))
}

const earlyRetries = (it: Scene.It) => {
  it.effect("a delivery between two attempts is attempted at once on request, and then follows its schedule", () =>
    Effect.gen(function*() {
      const { as, close, deliveries, id, posted, respond } = yield* subscribed
      yield* respond(() => responded(503))
      yield* close()
      yield* work
      yield* workFor(Duration.seconds(6), Duration.seconds(3))
      const [waiting = assert.fail("There is no delivery.")] = yield* deliveries
      assert.deepStrictEqual([waiting.status, waiting.attempt_count], ["pending", 2])
      const retry = WebhookDeliveries.use((deliveries) => deliveries.retry(id, waiting.id)).pipe(as)
      const now = yield* DateTime.now
      const wait = DateTime.distance(now, waiting.next_attempt_at ?? assert.fail("There is no further attempt."))
      assert.isAbove(Duration.toMinutes(wait), 4)
      const retried = yield* retry
      assert.deepStrictEqual(retried, { ...waiting, next_attempt_at: now })
      assert.deepStrictEqual(yield* retry, retried)
      yield* work
      assert.lengthOf(yield* posted, 3)
      const [third = assert.fail("There is no delivery.")] = yield* deliveries
      assert.deepStrictEqual([third.status, third.attempt_count, third.response_body], [
        "pending",
        3,
        waiting.response_body
      ])
      const delay = DateTime.distance(now, third.next_attempt_at ?? assert.fail("There is no further attempt."))
      assert.isAtMost(Math.abs(Duration.toMinutes(delay) - 30), 3)
      yield* respond(() => responded(200))
      yield* workFor(Duration.minutes(33), Duration.minutes(3))
      assert.deepStrictEqual((yield* deliveries).map(({ status }) => status), ["succeeded"])
      assert.lengthOf(yield* posted, 4)
    }))

  it.effect("a delivery that is being attempted is not attempted a second time on request", () =>
    Effect.gen(function*() {
      const { as, close, deliveries, id, posted, respond } = yield* subscribed
      const [posting, may_respond] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      yield* respond(() =>
        Deferred.succeed(posting, undefined).pipe(
          Effect.andThen(Deferred.await(may_respond)),
          Effect.andThen(responded(503))
        )
      )
      yield* close()
      const working = yield* Effect.forkChild(work)
      yield* Deferred.await(posting)
      const [attempted = assert.fail("There is no delivery.")] = yield* deliveries
      const retried = yield* WebhookDeliveries.use((deliveries) => deliveries.retry(id, attempted.id)).pipe(as)
      assert.deepStrictEqual(retried, attempted)
      yield* Deferred.succeed(may_respond, undefined)
      yield* Fiber.join(working)
      yield* work
      assert.lengthOf(yield* posted, 1)
      const [after = assert.fail("There is no delivery.")] = yield* deliveries
      assert.deepStrictEqual([after.status, after.attempt_count, after.response_status], ["pending", 1, 503])
    }))
}

const requestedDelays = (it: Scene.It) => {
  it.effect("a delivery is retried after the time that its endpoint requests, up to an hour or twice the usual delay", () =>
    Effect.gen(function*() {
      const { close, posted, respond } = yield* subscribed
      const now = yield* DateTime.now
      const until = DateTime.startOf(DateTime.add(now, { seconds: 100 }), "second")
      const date = DateTime.toDateUtc(until).toUTCString()
      for (
        const [retry_after, seconds] of [["60", 60], [date, 0], ["86400", 3600], ["1", 5], ["soon", 5]] as const
      ) {
        yield* respond(() => responded(429, retry_after))
        yield* close()
        yield* work
        const before = (yield* posted).length
        yield* respond(() => responded(200))
        const wait = retry_after === date
          ? DateTime.distance(yield* DateTime.now, until)
          : Duration.seconds(seconds)
        yield* TestClock.adjust(Duration.subtract(wait, Duration.millis(1)))
        yield* work
        assert.lengthOf(yield* posted, before, retry_after)
        yield* TestClock.adjust("1 millis")
        yield* work
        assert.lengthOf(yield* posted, before + 1, retry_after)
      }
    }))
}

const disabling = (it: Scene.It) => {
  it.effect("a webhook whose endpoint is gone is disabled at once, with its pending deliveries", () =>
    Effect.gen(function*() {
      const { close, deliveries, posted, respond, status } = yield* subscribed
      yield* respond(() => responded(503))
      yield* close()
      yield* work
      yield* respond(() => responded(410))
      // The list has the newer event first. Two events of one millisecond have no order.
      yield* TestClock.adjust("1 millis")
      yield* close()
      yield* work
      assert.strictEqual(yield* status, "disabled")
      const [gone, waiting] = yield* deliveries
      assert.strictEqual(gone?.failure_code, "http_status")
      assert.strictEqual(gone?.response_status, 410)
      assert.strictEqual(waiting?.status, "failed")
      assert.strictEqual(waiting?.failure_code, "webhook_disabled")
      yield* close()
      yield* workFor(Duration.minutes(10), Duration.minutes(5))
      assert.lengthOf(yield* posted, 2)
      assert.lengthOf(yield* deliveries, 2)
    }))

  it.effect("a webhook that fails for five days, ten times or more, is disabled", () =>
    Effect.gen(function*() {
      const { close, deliveries, respond, status } = yield* subscribed
      yield* respond(() => refused)
      yield* close()
      yield* work
      yield* workFor(Duration.hours(119), Duration.hours(1))
      assert.strictEqual(yield* status, "active")
      yield* close()
      yield* work
      yield* TestClock.adjust("2 hours")
      yield* work
      assert.strictEqual(yield* status, "disabled")
      assert.deepStrictEqual((yield* deliveries).map(({ status }) => status), ["failed", "failed"])
    }))
}

const pauses = (it: Scene.It) => {
  it.effect("a webhook that keeps failing is paused, and gets one attempt at a time until one succeeds", () =>
    Effect.gen(function*() {
      const { close, deliveries, posted, respond } = yield* subscribed
      yield* respond(() => refused)
      for (let count = 0; count < 20; count++) yield* close()
      yield* work
      // Sixteen requests were sent together, and the fifth failure began the pause.
      assert.lengthOf(yield* posted, 16)
      yield* TestClock.adjust("10 minutes")
      yield* Worker.use((worker) => worker.runOnce)
      assert.lengthOf(yield* posted, 17)
      yield* respond(() => responded(200))
      yield* workFor(Duration.minutes(10), Duration.minutes(10))
      assert.lengthOf((yield* deliveries).filter(({ status }) => status === "succeeded"), 20)
    }))

  it.effect("a webhook that keeps failing stays paused when no delivery is left, and then gets one attempt at a time", () =>
    Effect.gen(function*() {
      const { close, deliveries, posted, respond } = yield* subscribed
      yield* respond(() => refused)
      yield* close()
      while ((yield* deliveries)[0]?.status !== "failed") yield* workFor(Duration.hours(1), Duration.hours(1))
      assert.lengthOf(yield* posted, 10)
      for (let count = 0; count < 3; count++) yield* close()
      yield* workFor(Duration.minutes(9), Duration.minutes(1))
      assert.lengthOf(yield* posted, 10)
      yield* TestClock.adjust("1 minutes")
      yield* Worker.use((worker) => worker.runOnce)
      assert.lengthOf(yield* posted, 11)
      yield* respond(() => responded(200))
      yield* workFor(Duration.minutes(10), Duration.minutes(10))
      assert.deepStrictEqual((yield* deliveries).map(({ status }) => status), [
        ...Array(3).fill("succeeded"),
        "failed"
      ])
    }))
}

const defects = (it: Scene.It) => {
  it.effect("a webhook gets an event again, with the same ID and bytes, after a worker died during an attempt", () =>
    Effect.gen(function*() {
      const { close, deliveries, posted, respond } = yield* subscribed
      yield* respond(() => Effect.die("killed"))
      yield* close()
      yield* work
      yield* respond(() => responded(200))
      yield* TestClock.adjust("60 seconds")
      yield* workAgain
      const [first, second, ...more] = yield* posted
      assert.strictEqual(second?.body, first?.body)
      assert.strictEqual(second?.headers["webhook-id"], first?.headers["webhook-id"])
      assert.lengthOf(more, 0)
      assert.strictEqual((yield* deliveries)[0]?.status, "succeeded")
    }))

  it.effect("a webhook whose attempts fail with five defects has a failed delivery", () =>
    Effect.gen(function*() {
      const { close, deliveries, posted, respond } = yield* subscribed
      yield* respond(() => Effect.die("bug"))
      yield* close()
      yield* work
      yield* workFor(Duration.seconds(120), Duration.seconds(30))
      assert.lengthOf(yield* posted, 5)
      assert.deepStrictEqual((yield* deliveries).map(({ status }) => status), ["pending"])
      yield* workFor(Duration.seconds(300), Duration.seconds(30))
      assert.lengthOf(yield* posted, 5)
      const [delivery] = yield* deliveries
      assert.strictEqual(delivery?.status, "failed")
      assert.strictEqual(delivery?.failure_code, "protocol_error")
      assert.isNull(delivery?.next_attempt_at)
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("failed webhook deliveries", (it) => {
    scheduledRetries(it)
    statuses(it)
    manualRetries(it)
    earlyRetries(it)
    requestedDelays(it)
    disabling(it)
    pauses(it)
    defects(it)
  })
}
