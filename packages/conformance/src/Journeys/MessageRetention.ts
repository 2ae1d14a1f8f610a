/** Tests of the effect of message retention on callers. */
import { assert, it } from "@effect/vitest"
import { Contacts } from "@messaging-crm/core/Contacts"
import { Conversations } from "@messaging-crm/core/Conversations"
import { Media } from "@messaging-crm/core/Media"
import { MessageAgeMax, MessageRetention } from "@messaging-crm/core/MessageRetention"
import { Messages } from "@messaging-crm/core/Messages"
import { Sends } from "@messaging-crm/core/Sends"
import { DateTime, Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import { crm, makeScene, type Storage, work } from "./JourneyScene.ts"
import { makeWebhookScene } from "./WebhookScene.ts"

const purge = Effect.repeat(MessageRetention.use((retention) => retention.purge), { until: (removed) => removed === 0 })

/** A conversation of more than a page, with a send and a file at its beginning. */
const makeRetentionScene = Effect.gen(function*() {
  const { as, messageOf, receiveMessage, receiveText, start } = yield* makeScene
  const send = yield* start()
  const { conversation_id } = send
  yield* work
  const { id: message_id } = yield* messageOf(send.id)
  const file = { kind: "image", mime_type: "image/png", filename: null, transcript: null } as const
  yield* receiveMessage("file", { type: "image", text: null, media: { ...file, bytes: Uint8Array.of(1) } })
  for (let index = 0; index < 55; index++) {
    yield* TestClock.adjust("1 second")
    yield* receiveText(`m${index}`, `m${index}`)
  }
  const list = (cursor: string | null) => Messages.use((messages) => messages.list(conversation_id, cursor)).pipe(as)
  const message = Messages.use((messages) => messages.get(conversation_id, message_id)).pipe(as)
  const conversation = Conversations.use((conversations) => conversations.get(conversation_id)).pipe(as)
  const contact = Effect.flatMap(conversation, ({ contact }) => Contacts.use(({ get }) => get(contact.id)).pipe(as))
  const sendOf = Sends.use((sends) => sends.get(send.id)).pipe(as)
  const { next_cursor } = yield* list(null)
  const older = yield* list(next_cursor)
  const link = older.data.flatMap(({ media }) => media?.url ?? [])[0]?.replace(/^.*\/media\//, "") ?? ""
  return { contact, conversation, link, list, message, next_cursor, receiveText, sendOf }
})

const ofThirtyDays = (storage: Storage) =>
  crm(storage).pipe(Layer.provide(Layer.succeed(MessageAgeMax, Duration.days(30))))

const event_types = [
  "message.sent",
  "message.updated",
  "message.received",
  "conversation.opened",
  "contact.created"
] as const

export const journeyTests = (storage: Storage) => {
  it.layer(ofThirtyDays(storage), { timeout: "5 minutes" })("messages older than the limit", (it) => {
    it.effect("are removed with their sends and files; conversation, contact and cursors stay", () =>
      Effect.gen(function*() {
        const { contact, conversation, link, list, message, next_cursor, receiveText, sendOf } =
          yield* makeRetentionScene
        assert.strictEqual((yield* Media.use((media) => media.open(link))).file.byte_size, 1)
        yield* TestClock.adjust("20 days")
        yield* receiveText("new", "new")
        const before = yield* conversation
        yield* TestClock.adjust("11 days")
        yield* purge
        assert.deepStrictEqual((yield* list(null)).data.map(({ text }) => text), ["new"])
        assert.deepStrictEqual(yield* list(next_cursor), { data: [], next_cursor: null })
        assert.strictEqual((yield* Effect.flip(message))._tag, "MessageNotFound")
        assert.strictEqual((yield* Effect.flip(sendOf))._tag, "SendNotFound")
        assert.strictEqual((yield* Effect.flip(Media.use((media) => media.open(link))))._tag, "MediaNotFound")
        assert.deepStrictEqual(yield* conversation, before)
        yield* TestClock.adjust("20 days")
        yield* purge
        assert.deepStrictEqual(yield* list(null), { data: [], next_cursor: null })
        assert.deepStrictEqual(yield* conversation, { ...before, last_activity_preview: null })
        assert.isNull((yield* contact).last_activity_preview)
        yield* receiveText("again", "again")
        assert.deepStrictEqual((yield* list(null)).data.map(({ text }) => text), ["again"])
        assert.strictEqual((yield* contact).last_activity_preview, "again")
      }))
  })

  it.layer(ofThirtyDays(storage), { timeout: "5 minutes" })("the events of messages older than the limit", (it) => {
    it.effect("lose the messages, and no other event loses its resource", () =>
      Effect.gen(function*() {
        const { organization_id, receiveStatus, receiveText, start, subscribeWith } = yield* makeWebhookScene
        yield* subscribeWith({ event_types, include_resource: true })
        const { id } = yield* start()
        yield* work
        yield* receiveStatus(id, { status: "read", at: yield* DateTime.now })
        yield* receiveText("old", "old")
        yield* TestClock.adjust("20 days")
        yield* receiveText("new", "new")
        yield* TestClock.adjust("11 days")
        yield* purge
        const events = yield* Effect.forEach(event_types, (type) => Fixtures.storedEvents(organization_id, type))
        assert.deepStrictEqual(
          events.flat().map(({ full_body, type }) => [type, full_body !== null]),
          [
            ["message.sent", false],
            ["message.updated", false],
            ["message.received", false],
            ["message.received", true],
            ["conversation.opened", true],
            ["contact.created", true]
          ]
        )
      }))
  })

  it.layer(crm(storage), { timeout: "5 minutes" })("messages without a limit", (it) => {
    it.effect("stay", () =>
      Effect.gen(function*() {
        const { list, message, sendOf } = yield* makeRetentionScene
        yield* TestClock.adjust("10000 days")
        yield* purge
        assert.lengthOf((yield* list(null)).data, 50)
        yield* message
        yield* sendOf
      }))
  })
}
