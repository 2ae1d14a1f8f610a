/** A callback is stored, acknowledged, and then processed. */
import { assert, layer } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { CallbackInbox, CallbackStore } from "@messaging-crm/core/CallbackInbox"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { FileUnavailable } from "@messaging-crm/core/Media"
import { pauseAfter, schedules } from "@messaging-crm/core/Retries"
import { CallbackProcessor } from "@messaging-crm/provider-cloud/CallbackProcessor"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { messageEntry, messengerEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { inboxOver, overInbox, Received, recorder } from "./Network.ts"

const channel_id = "01990000-0000-7000-8000-000000000001"

let last = 0
const text = (body: string, wa_id = "4915112345678") =>
  messageEntry(channel_id, { wa_id }, {
    id: `wamid.inbox.${++last}`,
    timestamp: "1767225600",
    type: "text",
    text: { body }
  })

const image = (media_id: string, wa_id: string) =>
  messageEntry(channel_id, { wa_id }, {
    id: `wamid.inbox.${++last}`,
    timestamp: "1767225600",
    type: "image",
    image: { id: media_id, mime_type: "image/png" }
  })

const texts = Effect.map(
  Received.use(({ clear }) => clear),
  (events) => events.map((event) => event.event === "message_received" ? event.text : event.event)
)

const countWaiting = Effect.map(CallbackStore.use(({ backlog }) => backlog), ({ count }) => count)

const runOnce = Effect.gen(function*() {
  const { process } = yield* CallbackProcessor
  const inbox = yield* CallbackInbox
  return yield* inbox.runOnce(process)
})

const inbox = inboxOver(Memory.layer)

layer(overInbox(recorder, inbox))("the callback inbox", (it) => {
  it.effect("responds to a callback once it is stored, and processes it afterward", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      yield* fake.enqueue(text("hello"))
      assert.deepStrictEqual(yield* fake.post(), [200])
      assert.strictEqual(yield* countWaiting, 1)
      assert.deepStrictEqual(yield* texts, [])
      assert.strictEqual(yield* runOnce, 1)
      assert.deepStrictEqual(yield* texts, ["hello"])
      assert.strictEqual(yield* countWaiting, 0)
    }))

  it.effect("does not store an unsigned body", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      assert.strictEqual(yield* fake.postRaw(new TextEncoder().encode("{}"), `sha256=${"0".repeat(64)}`), 401)
      assert.strictEqual(yield* countWaiting, 0)
    }))

  it.effect("keeps and retries a callback that fails, without delaying others", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const core = yield* Received
      yield* core.breakOn((event) => event.event === "message_received" && event.text === "bad")
      yield* fake.enqueue(text("bad", "4915112345600"), text("good"))
      assert.deepStrictEqual(yield* fake.post(), [200, 200])
      for (const attempt of [1, 2, 3, 4]) {
        assert.strictEqual(yield* runOnce, attempt === 1 ? 2 : 1)
        assert.strictEqual(yield* runOnce, 0)
        assert.strictEqual(yield* countWaiting, 1)
        yield* TestClock.adjust(pauseAfter(schedules.callback, attempt))
      }
      assert.deepStrictEqual(yield* texts, ["good"])
      yield* core.breakOn(() => false)
      assert.strictEqual(yield* runOnce, 1)
      assert.deepStrictEqual(yield* texts, ["bad"])
      assert.strictEqual(yield* countWaiting, 0)
    }))

  it.effect("keeps the order of a person's messages over several bodies", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const lines = Array.from({ length: 14 }, (_, index) => `line ${index}`)
      yield* fake.enqueue(...lines.map((line) => text(line)))
      assert.deepStrictEqual(yield* fake.post(), lines.map(() => 200))
      assert.strictEqual(yield* runOnce, lines.length)
      assert.deepStrictEqual(yield* texts, lines)
    }))

  it.effect("a person's message that waits while the earlier one is processed and fails is stored after it", () =>
    Effect.gen(function*() {
      const [fake, core] = [yield* FakeGraph, yield* Received]
      const [isProcessed, mayFail] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const failure = Deferred.succeed(isProcessed, undefined).pipe(
        Effect.andThen(Deferred.await(mayFail)),
        Effect.andThen(Effect.die("broken"))
      )
      yield* core.breakOn((event) => event.event === "message_received" && event.text === "first", failure)
      yield* fake.enqueue(text("first"), text("second"))
      yield* fake.post()
      const running = yield* Effect.forkChild(runOnce)
      yield* Deferred.await(isProcessed)
      yield* Effect.replicateEffect(Effect.yieldNow, 100, { discard: true })
      yield* Deferred.succeed(mayFail, undefined)
      assert.strictEqual(yield* Fiber.join(running), 2)
      assert.deepStrictEqual(yield* texts, [])
      // The second one is due earlier than the first.
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(yield* runOnce, 1)
      assert.deepStrictEqual(yield* texts, [])
      yield* core.breakOn(() => false)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* runOnce, 2)
      assert.deepStrictEqual(yield* texts, ["first", "second"])
    }))

  for (const together of [true, false]) {
    it.effect(
      `lets a person's texts wait for their earlier file, at most a minute, in ${
        together ? "one body" : "bodies of their own"
      }`,
      () =>
        Effect.gen(function*() {
          const [fake, core, inbox] = [yield* FakeGraph, yield* Received, yield* CallbackInbox]
          const { process } = yield* CallbackProcessor
          const id = yield* fake.addFile(new Uint8Array([1]), "image/png")
          const posting = together ? { batch: 10 } : {}
          const isFile = (event: ProviderEvent) => "media" in event && event.media !== null
          const [kim, ada] = ["4915112345671", "4915112345672"]
          /** Processes what is due for some seconds, and returns what was stored, each once: retries repeat what was. */
          const storedIn = Effect.fnUntraced(function*(seconds: number) {
            const stored = new Set<string>()
            for (let second = 0; second < seconds; second++) {
              yield* inbox.runOnce(process)
              for (const event of yield* core.clear) {
                stored.add(event.event === "message_received" ? event.text ?? event.type : event.event)
              }
              yield* TestClock.adjust("1 second")
            }
            return Array.from(stored)
          })
          yield* core.breakOn(isFile, new FileUnavailable())
          yield* fake.enqueue(text("before", kim), image(id, kim), text("after", kim), text("ada", ada))
          yield* fake.post(posting)
          assert.sameMembers(yield* storedIn(1), ["before", "ada"])
          yield* fake.enqueue(text("later", kim), text("ada again", ada))
          yield* fake.post(posting)
          assert.sameMembers((yield* storedIn(2)).filter((each) => each !== "before"), ["ada again"])
          // The file can be loaded.
          yield* core.breakOn(() => false)
          assert.deepStrictEqual((yield* storedIn(20)).filter((each) => each !== "before"), ["image", "after", "later"])
          // A file that cannot be loaded delays the texts for a minute.
          yield* core.breakOn(isFile, new FileUnavailable())
          yield* fake.enqueue(image(id, kim), text("late", kim))
          yield* fake.post(posting)
          assert.deepStrictEqual(yield* storedIn(60), [])
          assert.deepStrictEqual(yield* storedIn(100), ["late"])
          yield* core.breakOn(() => false)
          assert.include(yield* storedIn(600), "image")
          assert.strictEqual(yield* countWaiting, 0)
        })
    )
  }

  it.effect("releases the callbacks in progress on shutdown", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const inbox = yield* CallbackInbox
      const isRunning = yield* Deferred.make<void>()
      yield* fake.enqueue(text("stopped"))
      assert.deepStrictEqual(yield* fake.post(), [200])
      const running = yield* Effect.forkChild(
        inbox.run(() => Effect.andThen(Deferred.succeed(isRunning, undefined), Effect.never))
      )
      yield* Deferred.await(isRunning)
      yield* Fiber.interrupt(running)
      assert.strictEqual(yield* countWaiting, 1)
      assert.strictEqual(yield* runOnce, 1)
      assert.deepStrictEqual(yield* texts, ["stopped"])
    }))
})

layer(overInbox(recorder, inbox))("the loop of the callback inbox", (it) => {
  it.effect("processes callbacks as they arrive", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const inbox = yield* CallbackInbox
      const { process } = yield* CallbackProcessor
      yield* Effect.forkChild(inbox.run(process))
      yield* fake.enqueue(...Array.from({ length: 50 }, (_, index) => text(`loop ${index}`)))
      yield* fake.post()
      yield* Effect.andThen(TestClock.adjust("250 millis"), countWaiting).pipe(
        Effect.repeat({ until: (count) => count === 0 })
      )
      assert.lengthOf(yield* texts, 50)
    }))

  it.effect("processes a backlog without a pause, even if no more callbacks arrive", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const inbox = yield* CallbackInbox
      const { process } = yield* CallbackProcessor
      yield* fake.enqueue(
        ...Array.from({ length: 100 }, (_, index) => text(`backlog ${index}`, `4915112345${100 + index}`))
      )
      yield* fake.post()
      yield* Effect.forkChild(
        inbox.run((callback) => Effect.andThen(Effect.replicateEffect(Effect.yieldNow, 10), process(callback)))
      )
      // The clock stands still.
      yield* Effect.andThen(Effect.yieldNow, countWaiting).pipe(
        Effect.repeat({
          until: (count) => count === 0,
          times: 20_000
        })
      )
      assert.strictEqual(yield* countWaiting, 0)
      assert.lengthOf(yield* texts, 100)
    }))

  for (
    const [name, from] of [
      ["of one person", () => "4915112345678"],
      ["of many", (index: number) => `49151123456${10 + index}`]
    ] as const
  ) {
    it.effect(`files that do not arrive, ${name}, delay no text, and are loaded once they arrive`, () =>
      Effect.gen(function*() {
        const fake = yield* FakeGraph
        const inbox = yield* CallbackInbox
        const { process } = yield* CallbackProcessor
        yield* TestClock.setTime(1_767_225_600_000)
        const file = yield* fake.addFile(new Uint8Array([1, 2, 3]), "image/png")
        yield* fake.holdFiles(true)
        yield* fake.enqueue(...Array.from({ length: 20 }, (_, index) => image(file, from(index))))
        yield* fake.post()
        yield* Effect.forkChild(inbox.run(process))
        yield* TestClock.adjust("1 second")
        yield* fake.enqueue(text("hello", "4915112345600"))
        yield* fake.post()
        yield* Effect.andThen(TestClock.adjust("20 millis"), countWaiting).pipe(
          Effect.repeat({ until: (count) => count === 20, times: 100 })
        )
        assert.deepStrictEqual(yield* texts, ["hello"])
        yield* fake.holdFiles(false)
        const turn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))
        yield* Effect.all([turn, TestClock.adjust("20 millis")]).pipe(
          Effect.andThen(countWaiting),
          Effect.repeat({ until: (count) => count === 0 })
        )
        assert.lengthOf(yield* texts, 20)
      }))
  }

  it.effect("delays only the message of an unavailable file, and by an hour at most", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const about = { account: channel_id, timestamp: 1_767_225_600_000 }
      const attachments = [{ type: "image", payload: { url: "http://127.0.0.1:40009/file" } }]
      yield* fake.enqueue(
        messengerEntry("page", { ...about, person: "24601", event: { message: { mid: "m_2", attachments } } }),
        messengerEntry("page", { ...about, person: "24602", event: { read: { mid: "m" } } })
      )
      assert.deepStrictEqual(yield* fake.post({ batch: 2 }), [200])
      assert.strictEqual(yield* runOnce, 2)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* runOnce, 1)
      assert.deepStrictEqual(yield* texts, ["message_status_reported"])
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* runOnce, 1)
      assert.strictEqual(yield* countWaiting, 0)
      const events = yield* Received.use(({ clear }) => clear)
      assert.deepStrictEqual(events.map((event) => "media" in event ? event.media?.bytes : event), [null])
    }))

  it.effect("pauses grow from a second to ten minutes", () =>
    Effect.sync(() => {
      const seconds = [1, 2, 3, 10, 11, 1000].map((attempt) =>
        Duration.toSeconds(pauseAfter(schedules.callback, attempt))
      )
      assert.deepStrictEqual(seconds, [1, 2, 4, 512, 600, 600])
    }))
})
