/** Events from a provider, in any order and any number of times. */
import { assert, it } from "@effect/vitest"
import { Conversations } from "@messaging-crm/core/Conversations"
import { Media } from "@messaging-crm/core/Media"
import { Messages } from "@messaging-crm/core/Messages"
import { Arbitrary, DateTime, Duration, Effect, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { integer } from "../Arbitraries.ts"
import { businessMessages } from "./Inbound/BusinessMessages.ts"
import { callbackOrder } from "./Inbound/CallbackOrder.ts"
import { marketing } from "./Inbound/Marketing.ts"
import { people } from "./Inbound/People.ts"
import { replyWindow } from "./Inbound/ReplyWindow.ts"
import { crm, type It, makeScene, type Storage, work } from "./JourneyScene.ts"

const place = integer({ min: 0, max: 1_000_000 })

/** Lets a second pass, and returns a function from milliseconds to a moment in it. */
const letSecondPass = Effect.gen(function*() {
  const start = yield* DateTime.now
  yield* TestClock.adjust("1 seconds")
  return (milliseconds: number) => DateTime.add(start, { milliseconds })
})

const messages = (it: It) => {
  it.effect("waits for its message for 30 days, and is then removed", () =>
    Effect.gen(function*() {
      const { messageOf, receiveStatus, start } = yield* makeScene
      const early = Effect.fnUntraced(function*(days: number) {
        const { id } = yield* start()
        yield* receiveStatus(id, { status: "read", at: yield* DateTime.now }, { reference: null })
        yield* TestClock.adjust(Duration.days(days))
        yield* Effect.repeat(Messages.use(({ purgeEarlyUpdates }) => purgeEarlyUpdates), {
          until: (removed) => removed === 0
        })
        yield* work
        return (yield* messageOf(id)).status
      })
      assert.strictEqual(yield* early(30), "read")
      assert.strictEqual(yield* early(31), "sent")
    }))

  it.effect.prop(
    "stores each message once if a batch is delivered five times, concurrently and in any order",
    { places: Arbitrary.array(place, { minLength: 50, maxLength: 50 }) },
    ({ places }) =>
      Effect.gen(function*() {
        const { channel, messagesIn, number, receive, receiveMessage, start } = yield* makeScene
        const after = yield* letSecondPass
        const { conversation_id } = yield* start()
        const batch = Array.from({ length: 6 }, (_, index) => `m${index}`).flatMap((provider_message_id, index) => {
          const message = { channel_id: channel.id, provider_message_id, at: after(index) }
          const said = receiveMessage(provider_message_id, { type: "text", text: provider_message_id, media: null })
          if (index % 3 === 1) return [said, receive({ event: "message_edited", text: `edited ${number}`, ...message })]
          return index % 3 === 2 ? [said, receive({ event: "message_deleted", ...message })] : [said]
        })
        const deliveries = Array.from({ length: 5 }, () => batch).flat()
        const shuffled = places.flatMap((at, index) => ({ at, event: deliveries[index] })).toSorted((a, b) =>
          a.at - b.at
        )
        yield* Effect.forEach(shuffled, ({ event }) => event ?? Effect.void, { concurrency: 4, discard: true })
        const stored = (yield* messagesIn(conversation_id)).map(({ deleted_at, provider_message_id, text }) =>
          `${provider_message_id} ${deleted_at === null ? text : "is gone"}`
        )
        const edited = `edited ${number}`
        assert.deepStrictEqual(stored.toSorted(), [
          "m0 m0",
          `m1 ${edited}`,
          "m2 is gone",
          "m3 m3",
          `m4 ${edited}`,
          "m5 is gone"
        ])
      }),
    { arbitrary: { runs: 20 } }
  )
}

const times = (it: It) => {
  it.effect("happened in the year 1 if its time is earlier", () =>
    Effect.gen(function*() {
      const { channel, messageOf, messagesIn, number, receive, receiveStatus, start } = yield* makeScene
      yield* TestClock.adjust("1 second")
      const { conversation_id, id } = yield* start()
      yield* work
      const first = DateTime.makeUnsafe("0001-01-01T00:00:00.000Z")
      const provider_message_id = `ancient.${number}`
      const of = { channel_id: channel.id, provider_message_id }
      for (const text of ["-000100-01-01T00:00:00.000Z", "0000-01-01T00:00:00.000Z"]) {
        const at = DateTime.makeUnsafe(text)
        // The second edit comes after the message.
        yield* receive({ event: "message_edited", ...of, text: `Hello in ${text}`, at })
        yield* receive({
          event: "message_received",
          ...of,
          from: { external_id: number, display_name: null, username: null },
          type: "text",
          text: "Hello",
          media: null,
          sent_at: at
        })
        yield* receiveStatus(id, { status: "delivered", at })
        yield* receive({
          event: "messages_reported",
          channel_id: channel.id,
          external_id: number,
          status: "read",
          until: at,
          at
        })
      }
      assert.deepStrictEqual((yield* messageOf(id)).delivered_at, first)
      const message = (yield* messagesIn(conversation_id)).find((one) =>
        one.provider_message_id === provider_message_id
      )
      assert.deepStrictEqual([message?.sent_at, message?.edited_at], [first, first])
    }))
}

const clocks = (it: It) => {
  it.effect("is in the order of the network's clock, which can be ahead of the service's", () =>
    Effect.gen(function*() {
      const { channel, messagesIn, receive, receiveText, start } = yield* makeScene
      const { conversation_id } = yield* start()
      const now = yield* DateTime.now
      yield* receiveText("m1", "Hello")
      for (const seconds of [9, 5, 7]) {
        const at = DateTime.add(now, { seconds })
        const of = { channel_id: channel.id, provider_message_id: "m1" }
        yield* receive({ event: "message_edited", ...of, text: `Hello ${seconds}`, at })
      }
      const [edited] = yield* messagesIn(conversation_id)
      assert.deepInclude(edited, { text: "Hello 9", edited_at: DateTime.add(now, { seconds: 9 }) })
    }))

  for (const seconds of [-5, 5]) {
    it.effect(`covers a send's message up to a time of the network, whose clock differs by ${seconds} s`, () =>
      Effect.gen(function*() {
        const { channel, messageOf, number, provider, receive, start } = yield* makeScene
        const after = (of: DateTime.Utc, millis: number) => DateTime.add(of, { seconds, milliseconds: millis })
        yield* provider.respond(({ reference }) =>
          Effect.map(DateTime.now, (now) => ({ provider_message_id: `p.${reference}`, sent_at: after(now, 0) }))
        )
        const { id } = yield* start()
        yield* work
        const now = yield* DateTime.now
        const report = (status: "delivered" | "read", until: DateTime.Utc) =>
          receive({
            event: "messages_reported",
            channel_id: channel.id,
            external_id: number,
            status,
            until,
            at: after(now, 1000)
          })
        yield* report("delivered", after(now, -1))
        assert.strictEqual((yield* messageOf(id)).status, "sent")
        yield* report("delivered", after(now, 1))
        assert.strictEqual((yield* messageOf(id)).status, "delivered")
        yield* report("read", after(now, 1))
        assert.deepInclude(yield* messageOf(id), { status: "read", sent_at: after(now, 0) })
      }))
  }

  it.effect("covers a message whose delivery was reported, if the service's clock is ahead", () =>
    Effect.gen(function*() {
      const { channel, messageOf, number, receive, receiveStatus, start } = yield* makeScene
      const { id } = yield* start()
      yield* work
      const at = DateTime.subtract(yield* DateTime.now, { seconds: 5 })
      yield* receiveStatus(id, { status: "delivered", at }, { reference: null })
      yield* receive({
        event: "messages_reported",
        channel_id: channel.id,
        external_id: number,
        status: "read",
        until: at,
        at
      })
      assert.strictEqual((yield* messageOf(id)).status, "read")
    }))
}

const contents = (it: It) => {
  it.effect("stores the file of a message, and deletes it with the message", () =>
    Effect.gen(function*() {
      const { channel, messagesIn, receive, receiveMessage, start } = yield* makeScene
      const deleted = (provider_message_id: string) =>
        Effect.flatMap(DateTime.now, (at) =>
          receive({ event: "message_deleted", channel_id: channel.id, provider_message_id, at }))
      const media = { kind: "image", mime_type: "image/png", filename: "a.png", transcript: null } as const
      const event = { type: "image", text: null, media: { ...media, bytes: Uint8Array.of(1, 2, 3) } } as const
      yield* receiveMessage("m1", event)
      yield* receiveMessage("m1", event)
      const { conversation_id } = yield* start()
      const listed = messagesIn(conversation_id)
      const [message, ...more] = yield* listed
      const { url, ...described } = Option.getOrThrow(Option.fromNullishOr(message?.media))
      assert.deepStrictEqual(more, [])
      assert.deepStrictEqual(described, { ...media, byte_size: 3 })
      const opened = Media.use(({ open }) =>
        open((url ?? "").slice("/media/".length))
      )
      const { read } = yield* opened
      assert.deepStrictEqual(yield* Stream.runCollect(read(0, 3)), [Uint8Array.of(1, 2, 3)])
      yield* deleted("m1")
      assert.strictEqual((yield* Effect.flip(opened))._tag, "MediaNotFound")
      // A deletion that comes before its message.
      yield* deleted("m2")
      yield* receiveMessage("m2", event)
      assert.deepStrictEqual((yield* listed).map(({ media }) => media), [null, null])
    }))

  it.effect("has no text if the network reports an empty one", () =>
    Effect.gen(function*() {
      const { as, channel, messagesIn, number, receive, receiveText } = yield* makeScene
      yield* receiveText("m1", "")
      const { data } = yield* Conversations.use((conversations) => conversations.list({ cursor: null, page_size: 1 }))
        .pipe(as)
      const [conversation = assert.fail("There is no conversation.")] = data
      const text = Effect.map(messagesIn(conversation.id), ([message]) => message?.text)
      assert.deepStrictEqual([conversation.last_activity_preview, yield* text], ["[text]", null])
      const edited = { event: "message_edited", channel_id: channel.id, provider_message_id: "m1" } as const
      for (const edited_text of ["Hello", ""]) {
        yield* TestClock.adjust("1 second")
        yield* receive({ ...edited, text: edited_text, at: yield* DateTime.now })
        assert.strictEqual(yield* text, edited_text === "" ? null : edited_text, number)
      }
    }))
}

export const journeyTests = (storage: Storage) => {
  it.layer(crm(storage), { timeout: "5 minutes" })("what a provider reports", (it) => {
    messages(it)
    times(it)
    clocks(it)
    contents(it)
    people(it)
    marketing(it)
    businessMessages(it)
    replyWindow(it)
    callbackOrder(it)
  })
}
