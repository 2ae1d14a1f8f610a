/** Tests of the guarantees of `MessageRetentionStore`. `Journeys/MessageRetention.ts` tests its effect on callers. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactStore } from "@messaging-crm/core/Contacts"
import { ConversationRows, ConversationStore, newConversation } from "@messaging-crm/core/Conversations"
import { ConversationId, type OrganizationId, type SendId } from "@messaging-crm/core/Ids"
import { MediaStore } from "@messaging-crm/core/Media"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { MessageRows, MessageStore } from "@messaging-crm/core/Messages"
import { type SendColumns, SendRows, SendStore } from "@messaging-crm/core/Sends"
import { Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"

const purge = (millis: number, limit: number) =>
  MessageRetentionStore.use((store) => store.purge(afterNoon(millis), limit))

/** Creates a message with a file. */
const createFileMessage = Effect.fnUntraced(
  function*(organization_id: OrganizationId, thread: Fixtures.Thread, millis: number) {
    const { id, ...file } = yield* Fixtures.file(organization_id)
    const media = { ...file, id, kind: "image", transcript: null } as const
    return {
      file: id,
      message: yield* Fixtures.message(organization_id, thread, { created_at: afterNoon(millis), media })
    }
  }
)

const createSend = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  thread: Fixtures.Thread,
  fields: Partial<SendColumns>
) {
  const send = { ...yield* Fixtures.newSend(thread), ...fields }
  yield* Fixtures.mustCommit(organization_id, SendRows.insert(send))
  return send.id
})

const texts = (organization_id: OrganizationId, { conversation_id }: Fixtures.Thread) =>
  Effect.map(
    MessageStore.use((store) => store.list(organization_id, conversation_id, { after: null, size: 9 })),
    ({ rows }) => rows.map(({ text }) => text)
  )

/** The previews of a thread's conversation and contact. */
const previews = Effect.fnUntraced(
  function*(organization_id: OrganizationId, { contact_id, conversation_id }: Fixtures.Thread) {
    const conversation = yield* ConversationStore.use((store) => store.find(organization_id, conversation_id))
    const contact = yield* ContactStore.use((store) => store.find(organization_id, contact_id))
    return [Option.getOrThrow(conversation).last_activity_preview, Option.getOrThrow(contact).last_activity_preview]
  }
)

const isSend = (organization_id: OrganizationId, id: SendId) =>
  Effect.map(SendStore.use((store) => store.find(organization_id, id)), Option.isSome)

/** Removes what other tests have stored. */
const removeOthers = Effect.gen(function*() {
  while ((yield* purge(1_000_000, 1000)) > 0) continue
})

const purges = (it: It) => {
  it.effect("removes messages that are old enough, the oldest first, up to the limit, with their files and provider ids", () =>
    Effect.gen(function*() {
      yield* removeOthers
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [thread, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(theirs)]
      const old = yield* createFileMessage(ours, thread, 1)
      const { id: kept } = yield* Fixtures.file(ours)
      yield* Fixtures.message(ours, thread, { created_at: afterNoon(3), text: "third" })
      yield* Fixtures.message(theirs, other, { created_at: afterNoon(2), text: "theirs" })
      yield* Fixtures.message(ours, thread, { created_at: afterNoon(10), text: "new" })
      const find = (id: string) => MessageStore.use((store) => store.findByProviderId(ours, thread.channel.id, id))
      assert.strictEqual(yield* purge(10, 2), 2)
      assert.deepStrictEqual(yield* texts(ours, thread), ["new", "third"])
      assert.deepStrictEqual(yield* texts(theirs, other), [])
      assert.strictEqual(yield* purge(10, 2), 1)
      assert.strictEqual(yield* purge(10, 2), 0)
      assert.deepStrictEqual(yield* texts(ours, thread), ["new"])
      assert.deepStrictEqual(yield* MediaStore.use((store) => store.find(ours, old.file)), Option.none())
      assert.isTrue(Option.isSome(yield* MediaStore.use((store) => store.find(ours, kept))))
      const bytes = MediaStore.use((store) => store.read(ours, old.file, { start: 0, length: 1 }))
      assert.deepStrictEqual(yield* bytes, Option.none())
      assert.deepStrictEqual(yield* find(old.message.provider_message_id ?? ""), Option.none())
    }))

  it.effect("removes the resources of the events of removed messages, and no others", () =>
    Effect.gen(function*() {
      yield* removeOthers
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      yield* Fixtures.webhook(ours, { include_resource: true })
      const { contact_id } = thread
      const messages = [
        yield* Fixtures.message(ours, thread, { created_at: afterNoon(1) }),
        yield* Fixtures.message(ours, thread, { created_at: afterNoon(20) })
      ]
      for (const message_id of [...messages.map(({ id }) => id), null]) {
        const resource = { name: "message", value: { id: message_id }, contact_id, message_id }
        yield* Fixtures.mustCommit(ours, Changes.raise(yield* Fixtures.newEvent({ resource })))
      }
      assert.strictEqual(yield* purge(10, 9), 1)
      const events = yield* Fixtures.storedEvents(ours, "message.sent")
      const left = events.map(({ full_body }) => full_body === null ? "removed" : JSON.parse(full_body).data.message.id)
      assert.sameMembers(left, ["removed", messages[1]?.id, null])
    }))
}

const otherOrganizations = (it: It) => {
  it.effect("removes nothing of another organization or conversation whose rows have the same IDs", () =>
    Effect.gen(function*() {
      yield* removeOthers
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const thread = yield* Fixtures.thread(ours)
      const other = yield* Fixtures.thread(theirs, thread)
      const { file, message: { id } } = yield* createFileMessage(ours, thread, 1)
      const media = { ...yield* Fixtures.file(theirs, { id: file }), kind: "image", transcript: null } as const
      const left = yield* Fixtures.message(theirs, other, { id, created_at: afterNoon(2), media, text: "theirs" })
      const near = yield* Fixtures.thread(ours)
      yield* Fixtures.message(ours, near, { id, created_at: afterNoon(20), text: "near", provider_message_id: "near" })
      yield* Fixtures.webhook(theirs, { include_resource: true })
      const resource = { name: "message", value: { id }, contact_id: other.contact_id, message_id: id }
      yield* Fixtures.mustCommit(theirs, Changes.raise(yield* Fixtures.newEvent({ resource })))
      const events = yield* Fixtures.storedEvents(theirs, "message.sent")
      const { id: send, ...fields } = yield* Fixtures.newSend(thread)
      const ended = { ...fields, id: send, status: "failed", failure_reason: "provider_rejected" } as const
      yield* Fixtures.mustCommit(ours, SendRows.insert({ ...ended, created_at: afterNoon(1) }))
      yield* Fixtures.mustCommit(
        theirs,
        SendRows.insert({
          ...ended,
          channel_id: other.channel.id,
          conversation_id: other.conversation_id,
          created_at: afterNoon(20)
        })
      )
      assert.strictEqual(yield* purge(10, 2), 2)
      assert.deepStrictEqual([yield* isSend(ours, send), yield* isSend(theirs, send)], [false, true])
      assert.deepStrictEqual(yield* texts(ours, thread), [])
      assert.deepStrictEqual(yield* texts(ours, near), ["near"])
      assert.deepStrictEqual(yield* texts(theirs, other), ["theirs"])
      assert.deepStrictEqual(yield* previews(theirs, other), ["theirs", "theirs"])
      assert.isTrue(Option.isSome(yield* MediaStore.use((store) => store.find(theirs, file))))
      const found = MessageStore.use((store) =>
        store.findByProviderId(theirs, other.channel.id, left.provider_message_id ?? "")
      )
      assert.isTrue(Option.isSome(yield* found))
      assert.deepStrictEqual(yield* Fixtures.storedEvents(theirs, "message.sent"), events)
    }))
}

const providerIds = (it: It) => {
  it.effect("leaves the provider ID that another message has", () =>
    Effect.gen(function*() {
      yield* removeOthers
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const named = yield* Fixtures.message(ours, thread, { created_at: afterNoon(20) })
      const { provider_message_id } = named
      const old = yield* Fixtures.newMessage(thread.conversation_id, { provider_message_id, created_at: afterNoon(1) })
      yield* Fixtures.mustCommit(ours, MessageRows.insert({ ...old, channel_id: thread.channel.id }))
      assert.strictEqual(yield* purge(10, 9), 1)
      const found = yield* MessageStore.use((store) =>
        store.findByProviderId(ours, thread.channel.id, provider_message_id ?? "")
      )
      assert.strictEqual(Option.getOrUndefined(Option.flatMap(found, ({ message }) => message))?.id, named.id)
    }))
}

const previewsOfMessages = (it: It) => {
  it.effect("clears the previews of removed messages, and no others", () =>
    Effect.gen(function*() {
      yield* removeOthers
      const ours = yield* Fixtures.organization
      const [quiet, lively] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      yield* Fixtures.message(ours, quiet, { created_at: afterNoon(1) })
      yield* Fixtures.message(ours, lively, { created_at: afterNoon(1) })
      yield* Fixtures.message(ours, lively, { created_at: afterNoon(10), text: "new" })
      const conversation = ConversationStore.use((store) => store.find(ours, quiet.conversation_id))
      const contact = ContactStore.use((store) => store.find(ours, quiet.contact_id))
      const before = {
        conversation: Option.getOrThrow(yield* conversation),
        contact: Option.getOrThrow(yield* contact)
      }
      assert.strictEqual(yield* purge(10, 9), 2)
      assert.deepStrictEqual(yield* previews(ours, quiet), [null, null])
      assert.deepStrictEqual(yield* previews(ours, lively), ["new", "new"])
      const cleared = { last_activity_preview: null }
      assert.deepStrictEqual(Option.getOrThrow(yield* conversation), { ...before.conversation, ...cleared })
      assert.deepStrictEqual(Option.getOrThrow(yield* contact), { ...before.contact, ...cleared })
    }))

  it.effect("keeps the previews of old messages that a later call removes", () =>
    Effect.gen(function*() {
      yield* removeOthers
      const ours = yield* Fixtures.organization
      const [first, second] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      yield* Fixtures.message(ours, first, { created_at: afterNoon(1), text: "first" })
      yield* Fixtures.message(ours, second, { created_at: afterNoon(2), text: "second" })
      assert.strictEqual(yield* purge(10, 1), 1)
      assert.deepStrictEqual(yield* previews(ours, first), [null, null])
      assert.deepStrictEqual(yield* previews(ours, second), ["second", "second"])
      assert.strictEqual(yield* purge(10, 1), 1)
      assert.deepStrictEqual(yield* previews(ours, second), [null, null])
    }))

  it.effect("keeps the preview of a contact whose last message is in another conversation", () =>
    Effect.gen(function*() {
      yield* removeOthers
      const ours = yield* Fixtures.organization
      const old = yield* Fixtures.thread(ours)
      const { contact_id, identity_id } = old
      const channel = yield* Fixtures.channel(ours)
      const conversation_id = ConversationId.make(yield* Fixtures.uuid)
      const ids = { id: conversation_id, channel_id: channel.id, contact_id, identity_id }
      yield* Fixtures.mustCommit(ours, ConversationRows.insert(newConversation(ids, Fixtures.noon)))
      const lively = { ...old, channel, conversation_id }
      yield* Fixtures.message(ours, old, { created_at: afterNoon(1) })
      yield* Fixtures.message(ours, lively, { created_at: afterNoon(10), text: "new" })
      assert.strictEqual(yield* purge(10, 9), 1)
      assert.deepStrictEqual(yield* previews(ours, old), [null, "new"])
      assert.deepStrictEqual(yield* previews(ours, lively), ["new", "new"])
      assert.strictEqual(yield* purge(11, 9), 1)
      assert.deepStrictEqual(yield* previews(ours, lively), [null, null])
    }))
}

const endedSends = (it: It) => {
  it.effect("removes ended sends before any message, the oldest first, and leaves open and newer ones", () =>
    Effect.gen(function*() {
      yield* removeOthers
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const { id: message_id } = yield* Fixtures.message(ours, thread, { created_at: afterNoon(2) })
      const failed = { status: "failed", failure_reason: "provider_rejected", created_at: afterNoon(3) } as const
      const ended = [
        yield* createSend(ours, thread, failed),
        yield* createSend(ours, thread, { status: "sent", message_id, created_at: afterNoon(1) })
      ]
      const left = [
        yield* createSend(ours, thread, { created_at: afterNoon(1) }),
        yield* createSend(ours, thread, { ...failed, created_at: afterNoon(10) })
      ]
      assert.strictEqual(yield* purge(10, 1), 1)
      assert.deepStrictEqual(yield* Effect.forEach(ended, (id) => isSend(ours, id)), [true, false])
      assert.strictEqual(yield* purge(10, 1), 1)
      for (const id of ended) assert.isFalse(yield* isSend(ours, id))
      assert.deepStrictEqual(yield* texts(ours, thread), ["Hello"])
      assert.strictEqual(yield* purge(10, 2), 1)
      assert.strictEqual(yield* purge(10, 2), 0)
      for (const id of left) assert.isTrue(yield* isSend(ours, id))
      assert.deepStrictEqual(yield* texts(ours, thread), [])
    }))
}

export const portTests = (it: It) => {
  purges(it)
  otherOrganizations(it)
  providerIds(it)
  previewsOfMessages(it)
  endedSends(it)
}
