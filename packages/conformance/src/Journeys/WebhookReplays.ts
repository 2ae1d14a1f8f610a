/** Replays of stored events to a webhook that also receives live ones. */
import { assert, it } from "@effect/vitest"
import { Conversations } from "@messaging-crm/core/Conversations"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Scene from "./JourneyScene.ts"
import { makeWebhookScene, refused, responded, subscribed } from "./WebhookScene.ts"

const { work } = Scene

/** A scene with a webhook, and `count` events in the past that it was subscribed to. */
const makeReplayScene = Effect.fnUntraced(function*(count: number) {
  const scene = yield* subscribed
  const since = yield* DateTime.now
  for (let raised = 0; raised < count; raised++) {
    yield* scene.close()
    yield* TestClock.adjust("1 seconds")
  }
  yield* work
  const ids = (yield* scene.events).map(({ id }) => id)
  const replay = (from: DateTime.Utc = since) =>
    scene.as(WebhookReplays.use((replays) => replays.start(scene.id, ReplayWebhook.make({ since: from }))))
  /** The events that were posted again. */
  const again = Effect.map(scene.events, (events) => events.slice(ids.length).map(({ id }) => id))
  return { ...scene, again, ids, replay, since }
})

const events = (it: Scene.It) => {
  it.effect("posts the same events in order, signed anew, and makes no deliveries", () =>
    Effect.gen(function*() {
      const { again, deliveries, ids, posted, replay, since } = yield* makeReplayScene(3)
      const before = yield* deliveries
      const bodies = (yield* posted).map(({ body }) => body)
      const started = yield* replay()
      assert.deepStrictEqual([started.since, started.created_at], [since, yield* DateTime.now])
      yield* work
      assert.sameMembers(ids, yield* again)
      assert.deepStrictEqual((yield* posted).slice(3).map(({ body }) => body), bodies.toSorted())
      assert.deepStrictEqual(yield* deliveries, before)
      yield* replay(DateTime.add(since, { seconds: 1 }))
      yield* work
      assert.lengthOf(yield* again, 5)
      yield* replay(yield* DateTime.now)
      yield* work
      assert.lengthOf(yield* again, 5)
    }))

  it.effect("posts even events from before the webhook, and none that it does not subscribe to", () =>
    Effect.gen(function*() {
      const { as, close, ids, since, subscribe } = yield* makeReplayScene(2)
      const late = yield* subscribe("conversation.closed")
      const other = yield* subscribe("send.failed")
      yield* TestClock.adjust("1 seconds")
      yield* close()
      for (const { id } of [late, other]) {
        yield* as(WebhookReplays.use((replays) => replays.start(id, ReplayWebhook.make({ since }))))
      }
      yield* work
      const posted = (yield* late.events).map(({ id }) => id)
      assert.includeMembers(posted, ids)
      // Raised in the same millisecond as the replay: it was posted once, live.
      assert.lengthOf(posted, 3)
      assert.deepStrictEqual(yield* other.events, [])
    }))
}

const retries = (it: Scene.It) => {
  it.effect("continues with the event that failed, after a pause, while live events are posted", () =>
    Effect.gen(function*() {
      const { again, respond, close, deliveries, ids, replay } = yield* makeReplayScene(3)
      yield* respond(() => responded(503))
      yield* replay()
      yield* work
      assert.deepStrictEqual(yield* again, ids.toSorted().slice(0, 1))
      yield* respond(() => responded(200))
      yield* close()
      yield* work
      assert.deepStrictEqual((yield* deliveries).map(({ status }) => status), Array(4).fill("succeeded"))
      yield* TestClock.adjust("29 seconds")
      yield* work
      assert.lengthOf(yield* again, 2)
      yield* TestClock.adjust("1 seconds")
      yield* work
      const [failed, live, ...rest] = yield* again
      assert.strictEqual(failed, ids.toSorted()[0])
      assert.notInclude(ids, live)
      assert.deepStrictEqual(rest, ids.toSorted())
    }))

  it.effect("waits longer after more failures in a row, until one attempt succeeds", () =>
    Effect.gen(function*() {
      const { again, respond, ids, replay } = yield* makeReplayScene(2)
      yield* respond(() => refused)
      yield* replay()
      yield* work
      for (const [index, seconds] of [30, 30, 30, 30, 30, 60].entries()) {
        assert.lengthOf(yield* again, index + 1)
        yield* TestClock.adjust(Duration.millis(seconds * 1000 - 1))
        yield* work
        assert.lengthOf(yield* again, index + 1)
        if (index === 5) yield* respond(() => responded(200))
        yield* TestClock.adjust("1 millis")
        yield* work
      }
      assert.deepStrictEqual((yield* again).slice(6), ids.toSorted())
    }))
}

const webhookFailures = (it: Scene.It) => {
  it.effect("pauses the webhook, so that live events wait too", () =>
    Effect.gen(function*() {
      const { close, deliveries, respond, replay } = yield* makeReplayScene(2)
      yield* respond(() => refused)
      yield* replay()
      for (const seconds of [0, 30, 30, 30, 30]) {
        yield* TestClock.adjust(Duration.seconds(seconds))
        yield* work
      }
      yield* respond(() => responded(200))
      yield* close()
      yield* work
      assert.strictEqual((yield* deliveries)[0]?.attempt_count, 0)
      yield* TestClock.adjust("30 seconds")
      yield* work
      assert.strictEqual((yield* deliveries)[0]?.status, "succeeded")
    }))

  it.effect("counts the failures in a row from 0 again after an event that succeeds", () =>
    Effect.gen(function*() {
      const { again, respond, ids, replay, status } = yield* makeReplayScene(2)
      const [first, second] = ids.toSorted()
      yield* respond(() => refused)
      yield* replay()
      for (let failed = 0; failed < 10; failed++) {
        yield* work
        yield* TestClock.adjust("10 minutes")
      }
      yield* TestClock.adjust("5 days")
      yield* respond(({ body }) => body.includes(`${first}`) ? responded(200) : refused)
      yield* work
      assert.deepStrictEqual((yield* again).slice(-2), [first, second])
      assert.strictEqual(yield* status, "active")
      yield* respond(() => responded(200))
      yield* TestClock.adjust("30 seconds")
      yield* work
      assert.deepStrictEqual((yield* again).slice(-2), [second, second])
    }))

  it.effect("ends with its webhook, which an endpoint that is gone disables", () =>
    Effect.gen(function*() {
      const { again, respond, replay, status } = yield* makeReplayScene(2)
      yield* respond(() => responded(410))
      yield* replay()
      yield* work
      assert.strictEqual(yield* status, "disabled")
      yield* TestClock.adjust("1 hours")
      yield* work
      assert.lengthOf(yield* again, 1)
      assert.strictEqual((yield* Effect.flip(replay()))._tag, "WebhookDisabled")
    }))
}

const changes = (it: Scene.It) => {
  it.effect("makes no attempt after its webhook is disabled", () =>
    Effect.gen(function*() {
      const { again, as, id, ids, replay, respond } = yield* makeReplayScene(3)
      const { disable } = yield* Webhooks
      yield* respond(() => Effect.andThen(Effect.orDie(as(disable(id))), responded(200)))
      yield* replay()
      yield* work
      assert.deepStrictEqual(yield* again, ids.toSorted().slice(0, 1))
    }))

  it.effect("signs each attempt with the secrets that the webhook has by then", () =>
    Effect.gen(function*() {
      const { as, id, posted, replay, respond } = yield* makeReplayScene(3)
      const { rotateSecret } = yield* Webhooks
      yield* respond(() => Effect.andThen(Effect.orDie(as(rotateSecret(id))), responded(200)))
      yield* replay()
      yield* work
      const signatures = (yield* posted).slice(3).map(({ headers }) => headers["webhook-signature"]?.split(" ").length)
      assert.deepStrictEqual(signatures, [1, 2, 3])
    }))

  it.effect("posts to the URL that the webhook has by then, and a failure there pauses it", () =>
    Effect.gen(function*() {
      const { again, as, id, ids, replay, respond, subscribe } = yield* makeReplayScene(3)
      const other = yield* subscribe("send.failed")
      const [first, second, third] = ids.toSorted()
      const { update } = yield* Webhooks
      const move = Effect.orDie(as(update(id, UpdateWebhook.make({ url: other.url }))))
      yield* respond(() => Effect.andThen(move, responded(200)))
      yield* other.respond(() => refused)
      yield* replay()
      yield* work
      assert.deepStrictEqual(yield* again, [first])
      yield* other.respond(() => responded(200))
      yield* TestClock.adjust("30 seconds")
      yield* work
      assert.deepStrictEqual((yield* other.events).map(({ id }) => id), [second, second, third])
    }))

  it.effect("continues at once at the URL that replaced one that failed", () =>
    Effect.gen(function*() {
      const { as, id, ids, replay, respond, subscribe } = yield* makeReplayScene(3)
      const other = yield* subscribe("send.failed")
      const { update } = yield* Webhooks
      const move = Effect.orDie(as(update(id, UpdateWebhook.make({ url: other.url }))))
      yield* respond(() => Effect.andThen(move, refused))
      yield* replay()
      yield* work
      assert.deepStrictEqual((yield* other.events).map(({ id }) => id), ids.toSorted())
    }))
}

const erasures = (it: Scene.It) => {
  it.effect("posts no resource of a person whose data is erased meanwhile", () =>
    Effect.gen(function*() {
      const { as, close, subscribeWith } = yield* makeWebhookScene
      const { id, posted, respond } = yield* subscribeWith({
        event_types: ["conversation.closed"],
        include_resource: true
      })
      const since = yield* DateTime.now
      const conversation_id = yield* close()
      yield* close()
      yield* work
      yield* TestClock.adjust("1 seconds")
      const { get } = yield* Conversations
      const { erase } = yield* PersonalData
      const { contact } = yield* as(get(conversation_id))
      yield* respond(() => Effect.andThen(Effect.orDie(as(erase(contact.id))), responded(200)))
      yield* as(WebhookReplays.use((replays) => replays.start(id, ReplayWebhook.make({ since }))))
      yield* work
      const data = (yield* posted).slice(2).map(({ body }) => Object.keys(JSON.parse(body).data))
      assert.deepStrictEqual(data, [["conversation_id", "conversation"], ["conversation_id"]])
    }))
}

const limits = (it: Scene.It) => {
  it.effect("is one at a time, of the last 30 days", () =>
    Effect.gen(function*() {
      const { respond, as, id, replay, since } = yield* makeReplayScene(1)
      yield* respond(() => refused)
      yield* replay()
      assert.strictEqual((yield* Effect.flip(replay()))._tag, "ReplayInProgress")
      yield* work
      assert.strictEqual((yield* Effect.flip(replay()))._tag, "ReplayInProgress")
      yield* respond(() => responded(200))
      yield* TestClock.adjust("30 seconds")
      yield* work
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.add(since, { days: 30 })))
      yield* replay()
      yield* work
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Effect.flip(replay()))._tag, "SinceOutOfRange")
      const now = yield* DateTime.now
      assert.strictEqual(
        (yield* Effect.flip(replay(DateTime.addDuration(now, Duration.millis(1)))))._tag,
        "SinceOutOfRange"
      )
      yield* replay(now)
      yield* as(Webhooks.use((webhooks) => webhooks.disable(id)))
      // The fields of a request are checked before its webhook.
      assert.strictEqual((yield* Effect.flip(replay(DateTime.subtract(since, { days: 1 }))))._tag, "SinceOutOfRange")
      assert.strictEqual((yield* Effect.flip(replay(now)))._tag, "WebhookDisabled")
      yield* work
    }))

  it.effect("of more events than a batch posts each once", () =>
    Effect.gen(function*() {
      const { again, ids, replay } = yield* makeReplayScene(110)
      yield* replay()
      yield* work
      assert.deepStrictEqual(yield* again, ids.toSorted())
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("a replay", (it) => {
    events(it)
    retries(it)
    webhookFailures(it)
    changes(it)
    erasures(it)
    limits(it)
  })
}
