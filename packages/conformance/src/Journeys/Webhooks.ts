/** An event from the change that raises it to the endpoint that accepts it. */
import { assert, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import * as Events from "@messaging-crm/core/Events"
import { limits } from "@messaging-crm/core/Limits"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { sign } from "@messaging-crm/core/WebhookSignature"
import { Worker } from "@messaging-crm/core/Worker"
import { DateTime, Deferred, Duration, Effect, Fiber, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"
import { makeWebhookScene, responded, subscribed } from "./WebhookScene.ts"

const { work } = Scene

const signedEvents = (it: Scene.It) => {
  it.effect("gets exactly the event of its delivery, signed at each attempt", () =>
    Effect.gen(function*() {
      const { close, deliveries, posted, respond, secret } = yield* subscribed
      yield* respond(() => responded(500))
      const created_at = yield* DateTime.now
      const conversation_id = yield* close()
      yield* work
      yield* respond(() => responded(204))
      yield* TestClock.adjust("5 seconds")
      yield* work
      const [delivery] = yield* deliveries
      const [first, second] = yield* posted
      if (delivery === undefined || first === undefined || second === undefined) {
        return assert.fail("The delivery or one of its two requests is missing.")
      }
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
}

const testEvents = (it: Scene.It) => {
  it.effect("that is tested gets one signed event, whatever it subscribes to, and no other webhook gets it", () =>
    Effect.gen(function*() {
      const { as, subscribe } = yield* makeWebhookScene
      const [tested, other] = [yield* subscribe("conversation.closed"), yield* subscribe("conversation.closed")]
      const { id } = tested
      const delivery = yield* as(WebhookDeliveries.use((deliveries) => deliveries.test(id)))
      assert.deepStrictEqual(yield* tested.deliveries, [delivery])
      assert.deepStrictEqual([delivery.status, delivery.attempt_count, delivery.webhook_id], ["pending", 0, id])
      yield* work
      assert.deepStrictEqual((yield* tested.deliveries).map(({ status }) => status), ["succeeded"])
      const expected = {
        id: delivery.event_id,
        type: "webhook.test" as const,
        timestamp: delivery.created_at,
        data: { conversation_id: null, webhook_id: id }
      }
      const [request = assert.fail("Nothing was posted.")] = yield* tested.posted
      assert.strictEqual(
        request.body,
        JSON.stringify({ ...expected, timestamp: DateTime.formatIso(expected.timestamp) })
      )
      const signed = { id: delivery.event_id, timestamp: yield* DateTime.now, body: request.body }
      assert.strictEqual(request.headers["webhook-signature"], yield* sign(tested.secret, signed))
      assert.deepStrictEqual([(yield* tested.posted).length, (yield* other.posted).length], [1, 0])
      const page = { cursor: null, page_size: 1 }
      const listed = yield* as(Events.Events.use((events) => events.list(page)))
      assert.deepStrictEqual(listed, { data: [expected], next_cursor: null })
    }))
}

const rotations = (it: Scene.It) => {
  it.effect("that rotates its secret gets a signature of each for 24 hours, and of five at most", () =>
    Effect.gen(function*() {
      const { as, close, id, posted, secret } = yield* subscribed
      const rotate = as(Webhooks.use((webhooks) => webhooks.rotateSecret(id)))
      /** Raises an event, and asserts that exactly these secrets signed it, in this order. */
      const signed = Effect.fnUntraced(function*(...secrets: ReadonlyArray<Redacted.Redacted>) {
        yield* close()
        yield* work
        const { body, headers } = (yield* posted).at(-1) ?? assert.fail("Nothing was posted.")
        const timestamp = yield* DateTime.now
        const expected = yield* Effect.forEach(
          secrets,
          (secret) => sign(secret, { id: headers["webhook-id"] ?? "", timestamp, body })
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
}

const committedEvents = (it: Scene.It) => {
  it.effect("gets no event of a change that was not committed", () =>
    Effect.gen(function*() {
      const { close, deliveries, organization_id, posted, start } = yield* subscribed
      const { conversation_id } = yield* start()
      const event = Events.make("conversation.closed", { conversation_id }, yield* Fixtures.decisionContext)
      const stale = ConversationRows.update({ id: conversation_id, version: 9 }, { status: "closed" })
      assert.strictEqual(yield* Fixtures.commitOutcome(organization_id, stale, Changes.raise(event)), "Conflict")
      yield* work
      assert.deepStrictEqual(yield* posted, [])
      assert.deepStrictEqual(yield* deliveries, [])
      yield* close()
      yield* work
      assert.lengthOf(yield* posted, 1)
    }))
}

const concurrentAttempts = (it: Scene.It) => {
  it.effect("gets at most 16 concurrent attempts, and does not delay another webhook", () =>
    Effect.gen(function*() {
      const { close, subscribe } = yield* makeWebhookScene
      const hanging = yield* subscribe("conversation.closed")
      const healthy = yield* subscribe("conversation.closed")
      const may_respond = yield* Deferred.make<void>()
      yield* hanging.respond(() => Effect.andThen(Deferred.await(may_respond), responded(200)))
      for (let count = 0; count < 36; count++) yield* close()
      const stuck = yield* Effect.forkChild(Worker.use((worker) => worker.runOnce))
      while ((yield* hanging.posted).length < 16) yield* Effect.yieldNow
      // Another worker now claims deliveries of the healthy webhook only.
      while ((yield* healthy.posted).length < 36) yield* Worker.use((worker) => worker.runOnce)
      assert.lengthOf(yield* hanging.posted, 16)
      yield* Deferred.succeed(may_respond, undefined)
      yield* Fiber.join(stuck)
      yield* work
      const done = (yield* hanging.deliveries).filter(({ status }) => status === "succeeded")
      assert.lengthOf(done, 36)
    }))

  it.effect("gets one attempt at a time while its responses take 14 s, and 16 after a fast one", () =>
    Effect.gen(function*() {
      const { close, posted, respond } = yield* subscribed
      yield* respond(() => Effect.delay(responded(200), "14 seconds"))
      for (let count = 0; count < 36; count++) yield* close()
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
      assert.deepStrictEqual([yield* run, yield* run, yield* run], [16, 1, 1])
      yield* respond(() => responded(200))
      assert.deepStrictEqual([yield* run, yield* run, yield* run], [1, 16, 1])
    }))
}

const bounds = (it: Scene.It) => {
  it.effect("is one of at most 100 active ones, and a disabled one does not count", () =>
    Effect.gen(function*() {
      const { as, organization_id, subscribe } = yield* makeWebhookScene
      const first = yield* subscribe("conversation.closed")
      yield* Effect.replicateEffect(Fixtures.webhook(organization_id), limits.webhooks_active_max - 2)
      const create = Webhooks.use((webhooks) =>
        webhooks.create(CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] }))
      ).pipe(as)
      // Of concurrent requests for the last place, one succeeds.
      const results = yield* Effect.all(Array.from({ length: 5 }, () => Effect.result(create)), {
        concurrency: "unbounded"
      })
      const rejections = results.filter(Result.isFailure)
      assert.deepStrictEqual(rejections.map(({ failure }) => failure._tag), Array<string>(4).fill("TooManyWebhooks"))
      const active = as(Webhooks.use((webhooks) => webhooks.list({ status: "active" })))
      assert.lengthOf(yield* active, limits.webhooks_active_max)
      yield* Webhooks.use((webhooks) => webhooks.disable(first.id)).pipe(as)
      assert.isFalse((yield* active).some(({ id }) => id === first.id))
      yield* create
      assert.lengthOf(yield* active, limits.webhooks_active_max)
    }))

  it.effect("keeps its deliveries for 30 days", () =>
    Effect.gen(function*() {
      const { close, deliveries } = yield* subscribed
      const purge = Events.Events.use(({ purge }) => purge)
      yield* close()
      yield* work
      yield* TestClock.adjust(Duration.subtract(Duration.days(30), Duration.millis(1)))
      while ((yield* purge) > 0) continue
      assert.lengthOf(yield* deliveries, 1)
      yield* TestClock.adjust("2 millis")
      while ((yield* purge) > 0) continue
      assert.lengthOf(yield* deliveries, 0)
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("a webhook", (it) => {
    signedEvents(it)
    testEvents(it)
    rotations(it)
    committedEvents(it)
    concurrentAttempts(it)
    bounds(it)
  })
}
