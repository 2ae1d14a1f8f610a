/** The promises of `MessageStore`, as tests. */
import { assert } from "@effect/vitest"
import { ChannelId, ConversationId, MediaId } from "@messaging-crm/core/Ids"
import { type Message, type MessageReport, MessageStore } from "@messaging-crm/core/Messages"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Arbitrary, Effect, Option, Schema } from "effect"
import { hardText, moment, optionalHardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

const byTime = (reports: ReadonlyArray<MessageReport>) =>
  reports.map(({ at, status }) => `${status} ${at.epochMilliseconds}`).toSorted()

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns a message as it was inserted", {
    text: optionalHardText({ min: 1, max: 4096 }),
    name: optionalHardText({ min: 1, max: 100 }),
    provider_message_id: hardText({ min: 1, max: 100 }),
    filename: optionalHardText({ min: 1, max: 100 }),
    at: moment
  }, ({ at, filename, name, provider_message_id, text }) =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const { channel, conversation_id } = yield* Fixtures.thread(ours)
      const message = yield* Fixtures.message(conversation_id, {
        text,
        provider_message_id,
        sender: { type: "contact", name },
        media: {
          id: MediaId.make(yield* Fixtures.uuid),
          kind: "document",
          mime_type: null,
          filename,
          byte_size: 7,
          transcript: text
        },
        direction: "inbound",
        status: "received",
        created_at: at,
        sent_at: at
      })
      assert.isTrue(yield* store.insert(ours, channel.id, message))
      assert.deepStrictEqual(yield* store.find(ours, conversation_id, message.id), Option.some(message))
      assert.deepStrictEqual(
        yield* store.findByProviderId(ours, channel.id, provider_message_id),
        Option.some(message)
      )
    }), { arbitrary: { runs } })

  it.effect("answers false, and writes nothing, for a provider id that the channel has", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const { channel, conversation_id } = yield* Fixtures.thread(ours)
      const [first, second] = yield* Effect.all([
        Fixtures.message(conversation_id, { provider_message_id: "p" }),
        Fixtures.message(conversation_id, { provider_message_id: "p" })
      ])
      const third = yield* Fixtures.message(conversation_id)
      yield* transact(Effect.gen(function*() {
        assert.isTrue(yield* store.insert(ours, channel.id, first))
        assert.isFalse(yield* store.insert(ours, channel.id, second))
        assert.isTrue(yield* store.insert(ours, channel.id, third))
      }))
      assert.deepStrictEqual(yield* store.find(ours, conversation_id, second.id), Option.none())
      const other = yield* Fixtures.thread(ours)
      const elsewhere = yield* Fixtures.message(other.conversation_id, { provider_message_id: "p" })
      assert.isTrue(yield* store.insert(ours, other.channel.id, elsewhere))
    }))

  it.effect("lets one of many concurrent inserts of a provider message through", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const { channel, conversation_id } = yield* Fixtures.thread(ours)
      const insert = Effect.flatMap(
        Fixtures.message(conversation_id, { provider_message_id: "p" }),
        (message) => store.insert(ours, channel.id, message)
      )
      const inserted = yield* Effect.all(Array.from({ length: 8 }, () => insert), { concurrency: "unbounded" })
      assert.lengthOf(inserted.filter(Boolean), 1)
    }))

  it.effect("lets one unit of work at a time pass `hold`, also for a message that is not there", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const { channel, conversation_id } = yield* Fixtures.thread(ours)
      const turn = Effect.gen(function*() {
        yield* store.hold(channel.id, "p")
        const found = yield* store.findByProviderId(ours, channel.id, "p")
        yield* Effect.yieldNow
        const text = Option.isSome(found) ? `${found.value.text}x` : "x"
        const message = Option.isSome(found)
          ? { ...found.value, text }
          : yield* Fixtures.message(conversation_id, { provider_message_id: "p", text })
        if (Option.isSome(found)) yield* store.update(ours, message)
        else yield* store.insert(ours, channel.id, message)
      })
      yield* Effect.all(Array.from({ length: 10 }, () => transact(turn)), { concurrency: "unbounded" })
      const found = Option.getOrThrow(yield* store.findByProviderId(ours, channel.id, "p"))
      assert.strictEqual(found.text, "x".repeat(10))
    }))

  it.effect.prop("lists by created_at descending, then id descending, and walks without gap or repeat", {
    millis: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))), {
      maxLength: 7
    })
  }, ({ millis }) =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const { channel, conversation_id } = yield* Fixtures.thread(ours)
      const messages = yield* Effect.forEach(millis, (value) =>
        Effect.tap(
          Fixtures.message(conversation_id, { created_at: after(value) }),
          (message) => store.insert(ours, channel.id, message)
        ))
      const key = (message: Message) => `${message.created_at.epochMilliseconds} ${message.id}`
      const walked: Array<Message> = []
      for (;;) {
        const last = walked.at(-1)
        const position = last === undefined ? null : { at: last.created_at, id: last.id }
        const page = yield* store.list(ours, conversation_id, { after: position, size: 2 })
        if (page.length === 0) break
        walked.push(...page)
      }
      assert.deepStrictEqual(walked.map(key), messages.map(key).toSorted().toReversed())
    }), { arbitrary: { runs } })

  it.effect("changes the times, status and text of a message", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const { channel, conversation_id } = yield* Fixtures.thread(ours)
      const message = yield* Fixtures.message(conversation_id)
      yield* store.insert(ours, channel.id, message)
      const changed: Message = {
        ...message,
        text: "Edited",
        status: "read",
        sent_at: after(1),
        delivered_at: after(2),
        read_at: after(3),
        failed_at: after(4),
        edited_at: after(5),
        deleted_at: after(6)
      }
      yield* store.update(ours, changed)
      assert.deepStrictEqual(yield* store.find(ours, conversation_id, message.id), Option.some(changed))
      const unknown = yield* Fixtures.message(conversation_id)
      yield* store.update(ours, unknown)
      assert.deepStrictEqual(yield* store.find(ours, conversation_id, unknown.id), Option.none())
    }))

  it.effect("keeps a parked report once, and returns it once", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const { channel } = yield* Fixtures.thread(ours)
      const reports: ReadonlyArray<MessageReport> = [
        { status: "delivered", at: after(2) },
        { status: "read", at: after(3) },
        { status: "delivered", at: after(4) },
        { status: "edited", text: "Hello again", at: after(5) },
        { status: "edited", text: null, at: after(6) },
        { status: "deleted", at: after(7) }
      ]
      yield* Effect.forEach([...reports, ...reports], (report) => store.park(ours, channel.id, "p", report, after(9)))
      yield* store.park(ours, channel.id, "q", { status: "failed", at: after(1) }, after(9))
      yield* Effect.ignore(transact(Effect.andThen(store.takeParked(ours, channel.id, "p"), Effect.fail("no"))))
      assert.deepStrictEqual(byTime(yield* store.takeParked(ours, channel.id, "p")), byTime(reports))
      assert.deepStrictEqual(yield* store.takeParked(ours, channel.id, "p"), [])
      assert.lengthOf(yield* store.takeParked(ours, channel.id, "q"), 1)
    }))

  it.effect("forgets parked reports that are old enough, at most as many as asked", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const { channel } = yield* Fixtures.thread(ours)
      while ((yield* store.purgeParked(after(10), 1000)) > 0) continue
      for (const millis of [1, 2, 3, 10]) {
        yield* store.park(ours, channel.id, "p", { status: "read", at: after(100 - millis) }, after(millis))
      }
      yield* store.park(ours, channel.id, "p", { status: "read", at: after(99) }, after(10))
      assert.strictEqual(yield* store.purgeParked(after(10), 2), 2)
      assert.strictEqual(yield* store.purgeParked(after(10), 2), 1)
      assert.strictEqual(yield* store.purgeParked(after(10), 2), 0)
      assert.deepStrictEqual(yield* store.takeParked(ours, channel.id, "p"), [{ status: "read", at: after(90) }])
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { channel, conversation_id } = yield* Fixtures.thread(ours)
      const message = yield* Fixtures.message(conversation_id, { provider_message_id: "p" })
      yield* store.insert(ours, channel.id, message)
      yield* store.park(ours, channel.id, "q", { status: "read", at: after(1) }, after(9))
      assert.deepStrictEqual(yield* store.find(theirs, conversation_id, message.id), Option.none())
      assert.deepStrictEqual(yield* store.findByProviderId(theirs, channel.id, "p"), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs, conversation_id, { after: null, size: 9 }), [])
      assert.deepStrictEqual(yield* store.takeParked(theirs, channel.id, "q"), [])
      yield* store.update(theirs, { ...message, text: "Stolen" })
      assert.deepStrictEqual(yield* store.find(theirs, conversation_id, message.id), Option.none())
      assert.deepStrictEqual(yield* store.find(ours, conversation_id, message.id), Option.some(message))
      assert.lengthOf(yield* store.takeParked(ours, channel.id, "q"), 1)
      const elsewhere = {
        conversation: ConversationId.make(yield* Fixtures.uuid),
        channel: ChannelId.make(yield* Fixtures.uuid)
      }
      assert.deepStrictEqual(yield* store.find(ours, elsewhere.conversation, message.id), Option.none())
      assert.deepStrictEqual(yield* store.findByProviderId(ours, elsewhere.channel, "p"), Option.none())
    }))
}
