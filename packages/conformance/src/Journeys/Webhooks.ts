/** An event from the change that raises it to the endpoint that accepts it, through retries, pauses and outages. */
import { assert, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import * as Events from "@messaging-crm/core/Events"
import { limits } from "@messaging-crm/core/Limits"
import { delays, WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { sign } from "@messaging-crm/core/WebhookSignature"
import { Worker } from "@messaging-crm/core/Worker"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Deferred, Duration, Effect, Fiber, Redacted, Ref, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Outcome } from "../Endpoints.ts"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./Scene.ts"
import { answered, begin, refused } from "./WebhookScene.ts"

const { work } = Scene

/** Lets time pass in steps, and runs the worker after each. */
const pass = Effect.fnUntraced(function*(time: Duration.Duration, step: Duration.Duration) {
  for (let passed = Duration.zero; Duration.isLessThan(passed, time); passed = Duration.sum(passed, step)) {
    yield* TestClock.adjust(step)
    yield* work
  }
})

export const suite = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("a webhook", (it) => {
    it.effect("gets exactly what its deliveries say, signed at each attempt", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, deliveries, posted, secret } = yield* subscribe("conversation.closed")
        yield* answer(() => answered(500))
        const created_at = yield* DateTime.now
        const conversation_id = yield* close()
        yield* work
        yield* answer(() => answered(204))
        yield* TestClock.adjust("5 seconds")
        yield* work
        const [delivery] = yield* deliveries
        const [first, second] = yield* posted
        if (delivery === undefined || first === undefined || second === undefined) return assert.fail("Nothing came.")
        const { event_id: id } = delivery
        const timestamp = DateTime.formatIso(created_at)
        const expected = { id, type: "conversation.closed", timestamp, data: { conversation_id } }
        assert.strictEqual(first.body, JSON.stringify(expected))
        assert.strictEqual(second.body, first.body)
        for (const [index, request] of [first, second].entries()) {
          const timestamp = DateTime.add(created_at, { seconds: 5 * index })
          assert.strictEqual(request.headers["webhook-id"], id)
          const signature = yield* sign(secret, { id, timestamp, body: request.body })
          assert.strictEqual(request.headers["webhook-signature"], signature)
        }
        assert.strictEqual(delivery.status, "succeeded")
        assert.strictEqual(delivery.attempt_count, 2)
        assert.strictEqual(delivery.response_status, 204)
        assert.isNull(delivery.next_attempt_at)
      }))

    it.effect("that is tested gets one signed event, whatever it subscribes to, and no other webhook gets it", () =>
      Effect.gen(function*() {
        const { as, subscribe } = yield* begin
        const [tested, other] = [yield* subscribe("conversation.closed"), yield* subscribe("conversation.closed")]
        const { id } = tested
        const delivery = yield* as(WebhookDeliveries.use((all) => all.test(id)))
        assert.deepStrictEqual(yield* tested.deliveries, [delivery])
        assert.deepStrictEqual([delivery.status, delivery.attempt_count, delivery.webhook_id], ["pending", 0, id])
        yield* work
        assert.deepStrictEqual((yield* tested.deliveries).map(({ status }) => status), ["succeeded"])
        const expected = {
          id: delivery.event_id,
          type: "webhook.test" as const,
          timestamp: delivery.created_at,
          data: { webhook_id: id }
        }
        const [request = assert.fail("Nothing was posted.")] = yield* tested.posted
        assert.strictEqual(
          request.body,
          JSON.stringify({ ...expected, timestamp: DateTime.formatIso(expected.timestamp) })
        )
        const signed = { id: delivery.event_id, timestamp: yield* DateTime.now, body: request.body }
        assert.strictEqual(request.headers["webhook-signature"], yield* sign(tested.secret, signed))
        assert.deepStrictEqual([(yield* tested.posted).length, (yield* other.posted).length], [1, 0])
        const page = { type: null, since: null, cursor: null, page_size: 1 }
        const listed = yield* as(Events.Events.use((events) => events.list(page)))
        assert.deepStrictEqual(listed, { data: [expected], next_cursor: null })
      }))

    it.effect("that rotates its secret gets a signature of each for 24 hours, and of five at most", () =>
      Effect.gen(function*() {
        const { as, close, subscribe } = yield* begin
        const { id, posted, secret } = yield* subscribe("conversation.closed")
        const rotate = as(Webhooks.use((webhooks) => webhooks.rotateSecret(id)))
        /** Raises an event, and returns how many secrets signed it, which must be the newest of those given. */
        const signed = Effect.fnUntraced(function*(...secrets: ReadonlyArray<Redacted.Redacted>) {
          yield* close()
          yield* work
          const { body, headers } = (yield* posted).at(-1) ?? assert.fail("Nothing was posted.")
          const timestamp = yield* DateTime.now
          const expected = yield* Effect.forEach(
            secrets,
            (one) => sign(one, { id: headers["webhook-id"] ?? "", timestamp, body })
          )
          assert.deepStrictEqual(headers["webhook-signature"]?.split(" "), expected)
        })
        yield* signed(secret)
        const second = Redacted.make((yield* rotate).signing_secret)
        yield* signed(second, secret)
        yield* TestClock.adjust("1 hour")
        const third = Redacted.make((yield* rotate).signing_secret)
        yield* signed(third, second, secret)
        yield* TestClock.adjust(Duration.subtract(Duration.hours(23), Duration.millis(1)))
        yield* signed(third, second, secret)
        yield* TestClock.adjust("1 millis")
        yield* signed(third, second)
        yield* TestClock.adjust("1 hour")
        yield* signed(third)
        let last = third
        for (let count = 1; count < limits.webhook_secrets_max; count++) {
          last = Redacted.make((yield* rotate).signing_secret)
        }
        assert.strictEqual((yield* Effect.flip(rotate))._tag, "TooManySecrets")
        yield* TestClock.adjust("24 hours")
        yield* signed(Redacted.make((yield* rotate).signing_secret), last)
      }))

    it.effect("gets nothing of a change that was not committed", () =>
      Effect.gen(function*() {
        const { close, organization_id, start, subscribe } = yield* begin
        const { deliveries, posted } = yield* subscribe("conversation.closed")
        const { conversation_id } = yield* start()
        const event = Events.make("conversation.closed", { conversation_id }, yield* Fixtures.context)
        const stale = ConversationRows.update({ id: conversation_id, version: 9 }, { status: "closed" })
        assert.strictEqual(yield* Fixtures.outcome(organization_id, stale, Changes.raise(event)), "Conflict")
        yield* work
        assert.deepStrictEqual(yield* posted, [])
        assert.deepStrictEqual(yield* deliveries, [])
        yield* close()
        yield* work
        assert.lengthOf(yield* posted, 1)
      }))

    it.effect("that is down for three days gets its events afterwards, at the times of the schedule", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, deliveries, status } = yield* subscribe("conversation.closed")
        const times = yield* Ref.make<ReadonlyArray<DateTime.Utc>>([])
        const down = (outcome: Outcome) =>
          Effect.andThen(Effect.flatMap(DateTime.now, (now) => Ref.update(times, (all) => [...all, now])), outcome)
        yield* answer(() => down(refused))
        yield* close()
        yield* work
        for (const [index, delay] of delays.slice(0, 8).entries()) {
          const spread = index === 0 ? Duration.zero : Duration.times(delay, 0.1)
          yield* TestClock.adjust(Duration.subtract(Duration.subtract(delay, spread), Duration.millis(1)))
          yield* work
          assert.lengthOf(yield* Ref.get(times), index + 1, "before its time")
          const [{ next_attempt_at, ...delivery } = assert.fail("There is no delivery.")] = yield* deliveries
          assert.strictEqual(delivery.failure_code, "connection_refused")
          assert.isNotNull(next_attempt_at)
          const now = yield* DateTime.now
          yield* TestClock.adjust(next_attempt_at === null ? Duration.zero : DateTime.distance(now, next_attempt_at))
          yield* work
          assert.lengthOf(yield* Ref.get(times), index + 2, "at its time")
        }
        const all = yield* Ref.get(times)
        all.slice(1).forEach((at, index) => {
          const [waited, usual] = [DateTime.distance(all[index] ?? at, at), delays[index] ?? Duration.zero]
          const off = Math.abs(Duration.toMillis(waited) / Duration.toMillis(usual) - 1)
          assert.isAtMost(off, index === 0 ? 0 : 0.1, `delay ${index}`)
        })
        yield* answer(() => down(answered(200)))
        yield* pass(Duration.hours(27), Duration.hours(1))
        const [delivery] = yield* deliveries
        assert.strictEqual(delivery?.status, "succeeded")
        assert.strictEqual(delivery?.attempt_count, 10)
        assert.strictEqual(yield* status, "active")
      }))

    it.effect("that is down for longer than the schedule gets no more attempts, and a retry when it asks", () =>
      Effect.gen(function*() {
        const { as, close, subscribe } = yield* begin
        const { answer, deliveries, id, posted } = yield* subscribe("conversation.closed")
        yield* answer(() => answered(503))
        yield* close()
        yield* work
        for (const delay of delays) yield* pass(Duration.times(delay, 1.1), Duration.times(delay, 0.55))
        const [delivery = assert.fail("There is no delivery.")] = yield* deliveries
        assert.strictEqual(delivery.status, "failed")
        assert.strictEqual(delivery.attempt_count, 10)
        assert.strictEqual(delivery.failure_code, "http_status")
        assert.strictEqual(delivery.response_status, 503)
        assert.isNull(delivery.next_attempt_at)
        yield* answer(() => answered(200))
        const retry = WebhookDeliveries.use((all) => all.retry(id, delivery.id)).pipe(as)
        const pending = yield* retry
        assert.strictEqual(pending.status, "pending")
        assert.deepStrictEqual(pending.next_attempt_at, yield* DateTime.now)
        assert.deepStrictEqual(yield* retry, pending)
        yield* work
        assert.strictEqual((yield* deliveries)[0]?.status, "succeeded")
        const all = yield* posted
        assert.lengthOf(all, 11)
        assert.strictEqual(new Set(all.map(({ body }) => body)).size, 1)
        assert.strictEqual(new Set(all.map(({ headers }) => headers["webhook-id"])).size, 1)
      }))

    it.effect("gets the time that it asks for, up to an hour or twice the usual", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, posted } = yield* subscribe("conversation.closed")
        const now = yield* DateTime.now
        const until = DateTime.startOf(DateTime.add(now, { seconds: 100 }), "second")
        const date = DateTime.toDateUtc(until).toUTCString()
        for (
          const [retry_after, seconds] of [["60", 60], [date, 0], ["86400", 3600], ["1", 5], ["soon", 5]] as const
        ) {
          yield* answer(() => answered(429, retry_after))
          yield* close()
          yield* work
          const before = (yield* posted).length
          yield* answer(() => answered(200))
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

    it.effect("that is gone is disabled at once, with all that was still to be posted", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, deliveries, posted, status } = yield* subscribe("conversation.closed")
        yield* answer(() => answered(503))
        yield* close()
        yield* work
        yield* answer(() => answered(410))
        yield* close()
        yield* work
        assert.strictEqual(yield* status, "disabled")
        const [gone, waiting] = yield* deliveries
        assert.strictEqual(gone?.failure_code, "http_status")
        assert.strictEqual(gone?.response_status, 410)
        assert.strictEqual(waiting?.status, "failed")
        assert.strictEqual(waiting?.failure_code, "webhook_disabled")
        yield* close()
        yield* pass(Duration.minutes(10), Duration.minutes(5))
        assert.lengthOf(yield* posted, 2)
        assert.lengthOf(yield* deliveries, 2)
      }))

    it.effect("that fails for five days, ten times or more, is disabled", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, deliveries, status } = yield* subscribe("conversation.closed")
        yield* answer(() => refused)
        yield* close()
        yield* work
        yield* pass(Duration.hours(119), Duration.hours(1))
        assert.strictEqual(yield* status, "active")
        yield* close()
        yield* work
        yield* TestClock.adjust("2 hours")
        yield* work
        assert.strictEqual(yield* status, "disabled")
        assert.deepStrictEqual((yield* deliveries).map(({ status }) => status), ["failed", "failed"])
      }))

    it.effect("that keeps failing is given pauses and tried by one attempt at a time, until it succeeds", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, deliveries, posted } = yield* subscribe("conversation.closed")
        yield* answer(() => refused)
        for (let count = 0; count < 12; count++) yield* close()
        yield* work
        // Eight requests were sent together, and the fifth failure began the pause.
        assert.lengthOf(yield* posted, 8)
        yield* TestClock.adjust("10 minutes")
        yield* Worker.use((worker) => worker.runOnce)
        assert.lengthOf(yield* posted, 9)
        yield* answer(() => answered(200))
        yield* pass(Duration.minutes(10), Duration.minutes(10))
        assert.lengthOf((yield* deliveries).filter(({ status }) => status === "succeeded"), 12)
      }))

    it.effect("gets at most eight concurrent attempts, and does not delay another webhook", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const hanging = yield* subscribe("conversation.closed")
        const healthy = yield* subscribe("conversation.closed")
        const may_answer = yield* Deferred.make<void>()
        yield* hanging.answer(() => Effect.andThen(Deferred.await(may_answer), answered(200)))
        for (let count = 0; count < 20; count++) yield* close()
        const stuck = yield* Effect.forkChild(Worker.use((worker) => worker.runOnce))
        while ((yield* hanging.posted).length < 8) yield* Effect.yieldNow
        // Another worker now claims deliveries of the healthy webhook only.
        while ((yield* healthy.posted).length < 20) yield* Worker.use((worker) => worker.runOnce)
        assert.lengthOf(yield* hanging.posted, 8)
        yield* Deferred.succeed(may_answer, undefined)
        yield* Fiber.join(stuck)
        yield* work
        const done = (yield* hanging.deliveries).filter(({ status }) => status === "succeeded")
        assert.lengthOf(done, 20)
      }))

    it.effect("gets one attempt at a time while its answers take 14 s, and eight after a fast one", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, posted } = yield* subscribe("conversation.closed")
        yield* answer(() => Effect.delay(answered(200), "14 seconds"))
        for (let count = 0; count < 20; count++) yield* close()
        /** Runs a worker once, and returns how many attempts it made. */
        const run = Effect.gen(function*() {
          const before = (yield* posted).length
          const running = yield* Effect.forkChild(Worker.use((worker) => worker.runOnce))
          while (running.pollUnsafe() === undefined) {
            yield* TestClock.adjust("14 seconds")
            yield* Effect.yieldNow
          }
          yield* TestClock.adjust("1 second")
          yield* Fiber.join(running)
          return (yield* posted).length - before
        })
        assert.deepStrictEqual([yield* run, yield* run, yield* run], [8, 1, 1])
        yield* answer(() => answered(200))
        assert.deepStrictEqual([yield* run, yield* run, yield* run], [1, 8, 1])
      }))

    it.effect("gets an event again, with the same id and bytes, after a worker died in the middle", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, deliveries, posted } = yield* subscribe("conversation.closed")
        yield* answer(() => Effect.die("killed"))
        yield* close()
        yield* work
        yield* answer(() => answered(200))
        yield* TestClock.adjust("60 seconds")
        yield* WorkQueue.use((queue) => Effect.flatMap(DateTime.now, queue.sweep))
        yield* work
        const [first, second, ...more] = yield* posted
        assert.strictEqual(second?.body, first?.body)
        assert.strictEqual(second?.headers["webhook-id"], first?.headers["webhook-id"])
        assert.lengthOf(more, 0)
        assert.strictEqual((yield* deliveries)[0]?.status, "succeeded")
      }))

    it.effect("ends a delivery that dies of a defect five times, visibly", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { answer, deliveries, posted } = yield* subscribe("conversation.closed")
        yield* answer(() => Effect.die("bug"))
        yield* close()
        yield* work
        yield* pass(Duration.seconds(120), Duration.seconds(30))
        assert.lengthOf(yield* posted, 5)
        assert.deepStrictEqual((yield* deliveries).map(({ status }) => status), ["pending"])
        yield* pass(Duration.seconds(300), Duration.seconds(30))
        assert.lengthOf(yield* posted, 5)
        const [delivery] = yield* deliveries
        assert.strictEqual(delivery?.status, "failed")
        assert.strictEqual(delivery?.failure_code, "protocol_error")
        assert.isNull(delivery?.next_attempt_at)
      }))

    it.effect("is one of 100 active ones at most, and a disabled one makes room", () =>
      Effect.gen(function*() {
        const { as, organization_id, subscribe } = yield* begin
        const first = yield* subscribe("conversation.closed")
        yield* Effect.replicateEffect(Fixtures.webhook(organization_id), limits.webhooks_active_max - 2)
        const create = Webhooks.use((webhooks) =>
          webhooks.create(CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] }))
        ).pipe(as)
        // Of concurrent requests for the last place, one succeeds.
        const results = yield* Effect.all(Array.from({ length: 5 }, () => Effect.result(create)), {
          concurrency: "unbounded"
        })
        const refusals = results.filter(Result.isFailure)
        assert.deepStrictEqual(refusals.map(({ failure }) => failure._tag), Array<string>(4).fill("TooManyWebhooks"))
        const active = as(Webhooks.use((webhooks) => webhooks.list({ status: "active" })))
        assert.lengthOf(yield* active, limits.webhooks_active_max)
        yield* Webhooks.use((webhooks) => webhooks.disable(first.id)).pipe(as)
        assert.isFalse((yield* active).some(({ id }) => id === first.id))
        yield* create
        assert.lengthOf(yield* active, limits.webhooks_active_max)
      }))

    it.effect("has its history for 30 days", () =>
      Effect.gen(function*() {
        const { close, subscribe } = yield* begin
        const { deliveries } = yield* subscribe("conversation.closed")
        const purge = WebhookDeliveries.use((all) => all.purge)
        yield* close()
        yield* work
        yield* TestClock.adjust(Duration.subtract(Duration.days(30), Duration.millis(1)))
        while ((yield* purge) > 0) continue
        assert.lengthOf(yield* deliveries, 1)
        yield* TestClock.adjust("2 millis")
        while ((yield* purge) > 0) continue
        assert.lengthOf(yield* deliveries, 0)
      }))
  })
}
