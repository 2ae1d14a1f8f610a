/** Tests of the guarantees of `MessageStore`. */
import { assert } from "@effect/vitest"
import { ChannelId, ConversationId, MediaId } from "@messaging-crm/core/Ids"
import {
  type Message,
  MessageRows,
  MessageStore,
  ProviderMessageRows,
  storeEarlyUpdate
} from "@messaging-crm/core/Messages"
import type { Position } from "@messaging-crm/core/Page"
import { Arbitrary, Effect, Option, Schema } from "effect"
import { hardText, integer, moment, optionalHardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"
import { messageTests as longTexts } from "./LongTexts.ts"
import { earlyUpdates } from "./Messages/EarlyUpdates.ts"
import { storeEarly } from "./Messages/MessageScene.ts"

const rows = (it: It, { runs }: Options) => {
  it.effect.prop("returns a message as it was inserted", {
    text: optionalHardText({ min: 1, max: 4096 }),
    name: optionalHardText({ min: 1, max: 100 }),
    provider_message_id: hardText({ min: 1, max: 100 }),
    filename: optionalHardText({ min: 1, max: 100 }),
    title: optionalHardText({ min: 0, max: 100 }),
    // JSON has no negative zero.
    latitude: Arbitrary.schema(Schema.Finite).pipe(Arbitrary.map((value) => value + 0)),
    at: moment
  }, ({ at, filename, latitude, name, provider_message_id, text, title }) =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const { channel, contact_id, conversation_id } = thread
      const message = yield* Fixtures.newMessage(conversation_id, {
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
        details: {
          choice: { kind: "button", id: provider_message_id, title, description: text, payload: null },
          location: { latitude, longitude: null, name, address: filename, url: null },
          flow: { name, response: { [provider_message_id]: [text, { "": title }, latitude, true] } }
        },
        direction: "inbound",
        status: "received",
        created_at: at,
        sent_at: at
      })
      yield* Fixtures.mustCommit(ours, Fixtures.insertMessage(thread, message))
      assert.deepStrictEqual(yield* store.find(ours, conversation_id, message.id), Option.some(message))
      assert.deepStrictEqual(
        yield* store.findByProviderId(ours, channel.id, provider_message_id),
        Option.some({
          channel_id: channel.id,
          provider_message_id,
          early_updates: [],
          version: 1,
          message: Option.some({ ...message, version: 1, contact_id })
        })
      )
    }), { arbitrary: { runs } })
}

const takenIds = (it: It) => {
  it.effect("rejects a provider id that the channel has, and writes nothing", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const { conversation_id } = thread
      const [first, second] = yield* Effect.all([
        Fixtures.newMessage(conversation_id, { provider_message_id: "p" }),
        Fixtures.newMessage(conversation_id, { provider_message_id: "p", created_at: afterNoon(9) })
      ])
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, Fixtures.insertMessage(thread, first)), "committed")
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, Fixtures.insertMessage(thread, second)), "Conflict")
      assert.deepStrictEqual(yield* store.find(ours, conversation_id, second.id), Option.none())
      const unnamed = yield* Effect.all(
        [1, 2].map(() => Fixtures.newMessage(conversation_id, { provider_message_id: null }))
      )
      yield* Effect.forEach(unnamed, (message) => Fixtures.mustCommit(ours, Fixtures.insertMessage(thread, message)))
      const other = yield* Fixtures.thread(ours)
      const elsewhere = yield* Fixtures.newMessage(other.conversation_id, { provider_message_id: "p" })
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, Fixtures.insertMessage(other, elsewhere)), "committed")
      const ids = (yield* store.list(ours, conversation_id, { after: null, size: 9 })).rows.map(({ id }) => id)
      assert.deepStrictEqual(ids.toSorted(), [first, ...unnamed].map(({ id }) => id).toSorted())
    }))
}

const concurrency = (it: It) => {
  it.effect("accepts one of many concurrent inserts of a provider message", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const insertOne = Effect.flatMap(
        Fixtures.newMessage(thread.conversation_id, { provider_message_id: "p" }),
        (message) => Fixtures.commitOutcome(ours, Fixtures.insertMessage(thread, message))
      )
      const outcomes = yield* Effect.all(Array.from({ length: 8 }, () => insertOne), { concurrency: "unbounded" })
      assert.deepStrictEqual(outcomes.toSorted(), Fixtures.oneCommitted(7))
    }))

  it.effect("applies an update that is stored concurrently with its message", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const key = { channel_id: thread.channel.id, provider_message_id: "p" }
      const message = yield* Fixtures.newMessage(thread.conversation_id, { provider_message_id: "p" })
      const read = { status: "read", at: afterNoon(3) } as const
      const outcomes = yield* Effect.all([
        Fixtures.commitOutcome(ours, Fixtures.insertMessage(thread, message)),
        Fixtures.commitOutcome(ours, storeEarlyUpdate(key, Option.none(), read, afterNoon(9)))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(outcomes.toSorted(), ["Conflict", "committed"])
      const stored = Option.getOrThrow(yield* store.findByProviderId(ours, thread.channel.id, "p"))
      assert.strictEqual(stored.early_updates.length, Option.isSome(stored.message) ? 0 : 1)
    }))
}

const lists = (it: It, { runs }: Options) => {
  it.effect.prop("lists by created_at descending, then id descending, in pages without gaps or duplicates", {
    millis: Arbitrary.array(integer({ min: 0, max: 3 }), { maxLength: 7 })
  }, ({ millis }) =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const messages = yield* Effect.forEach(millis, (value) =>
        Effect.tap(
          Fixtures.newMessage(thread.conversation_id, { created_at: afterNoon(value) }),
          (message) => Fixtures.mustCommit(ours, Fixtures.insertMessage(thread, message))
        ))
      const key = (message: Message) => `${message.created_at.epochMilliseconds} ${message.id}`
      const listed = yield* Fixtures.readAllPages(
        2,
        (after: Position | null) =>
          Effect.map(store.list(ours, thread.conversation_id, { after, size: 2 }), ({ rows }) => rows),
        ({ created_at, id }) => ({ at: created_at, id })
      )
      assert.deepStrictEqual(listed.map(key), messages.map(key).toSorted().toReversed())
    }), { arbitrary: { runs } })
}

const updates = (it: It) => {
  it.effect("changes the times, status, text and file of a message", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const message = yield* Fixtures.newMessage(thread.conversation_id, {
        media: { id: null, kind: "image", mime_type: null, filename: "a.png", byte_size: 1, transcript: null }
      })
      yield* Fixtures.mustCommit(ours, Fixtures.insertMessage(thread, message))
      const set = {
        text: "Edited",
        media: null,
        status: "read",
        sent_at: afterNoon(1),
        delivered_at: afterNoon(2),
        read_at: afterNoon(3),
        failed_at: afterNoon(4),
        edited_at: afterNoon(5),
        deleted_at: afterNoon(6)
      } as const
      yield* Fixtures.mustCommit(ours, MessageRows.update({ ...message, version: 1 }, set))
      const changed: Message = { ...message, ...set }
      assert.deepStrictEqual(yield* store.find(ours, thread.conversation_id, message.id), Option.some(changed))
      const stored = yield* store.findByProviderId(ours, thread.channel.id, message.id)
      const { contact_id } = thread
      assert.deepStrictEqual(
        Option.flatMap(stored, ({ message }) => message),
        Option.some({ ...changed, version: 2, contact_id })
      )
      const unknown = yield* Fixtures.newMessage(thread.conversation_id)
      assert.strictEqual(
        yield* Fixtures.commitOutcome(ours, MessageRows.update({ ...unknown, version: 1 }, set)),
        "Conflict"
      )
      assert.deepStrictEqual(yield* store.find(ours, thread.conversation_id, unknown.id), Option.none())
    }))
}

const erasedIds = (it: It) => {
  it.effect("finds a message by its provider's ID, or by one of the IDs that it has once it is erased", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const { channel } = yield* Fixtures.thread(ours)
      const update = { status: "read", at: afterNoon(1) } as const
      const found = (...erased_ids: ReadonlyArray<string>) =>
        Effect.map(
          store.findByProviderId(ours, channel.id, "p", erased_ids),
          Option.map(({ provider_message_id }) => provider_message_id)
        )
      assert.deepStrictEqual(yield* found("erased-1", "erased-2"), Option.none())
      yield* storeEarly(ours, channel.id, "p", update)
      assert.deepStrictEqual(yield* found("erased-1", "erased-2"), Option.some("p"))
      yield* storeEarly(ours, channel.id, "erased-2", update)
      assert.deepStrictEqual(yield* found("erased-1", "erased-2"), Option.some("erased-2"))
      assert.deepStrictEqual(yield* found("erased-1"), Option.some("p"))
      assert.deepStrictEqual(yield* found(), Option.some("p"))
    }))
}

const separation = (it: It) => {
  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const thread = yield* Fixtures.thread(ours)
      const { channel, conversation_id } = thread
      const message = yield* Fixtures.newMessage(conversation_id, { provider_message_id: "p" })
      yield* Fixtures.mustCommit(ours, Fixtures.insertMessage(thread, message))
      yield* storeEarly(ours, channel.id, "q", { status: "read", at: afterNoon(1) })
      const early = yield* store.findByProviderId(ours, channel.id, "q")
      assert.deepStrictEqual(yield* store.find(theirs, conversation_id, message.id), Option.none())
      assert.deepStrictEqual(yield* store.findByProviderId(theirs, channel.id, "p"), Option.none())
      assert.deepStrictEqual(yield* store.findByProviderId(theirs, channel.id, "q"), Option.none())
      assert.deepStrictEqual((yield* store.list(theirs, conversation_id, { after: null, size: 9 })).rows, [])
      const stolen = [
        MessageRows.update({ ...message, version: 1 }, { text: "Stolen" }),
        ProviderMessageRows.update(Option.getOrThrow(early), { early_updates: [] })
      ]
      for (const changes of stolen) assert.strictEqual(yield* Fixtures.commitOutcome(theirs, changes), "Conflict")
      assert.deepStrictEqual(yield* store.find(theirs, conversation_id, message.id), Option.none())
      assert.deepStrictEqual(yield* store.find(ours, conversation_id, message.id), Option.some(message))
      assert.deepStrictEqual(yield* store.findByProviderId(ours, channel.id, "q"), early)
      const elsewhere = {
        conversation: ConversationId.make(yield* Fixtures.uuid),
        channel: ChannelId.make(yield* Fixtures.uuid)
      }
      assert.deepStrictEqual(yield* store.find(ours, elsewhere.conversation, message.id), Option.none())
      assert.deepStrictEqual(yield* store.findByProviderId(ours, elsewhere.channel, "p"), Option.none())
    }))
}

export const portTests = (it: It, options: Options) => {
  rows(it, options)
  takenIds(it)
  erasedIds(it)
  concurrency(it)
  lists(it, options)
  updates(it)
  earlyUpdates(it, options)
  separation(it)
  longTexts(it)
}
