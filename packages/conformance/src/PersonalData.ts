/** The promises of `PersonalDataStore`, as tests. `Journeys/PersonalData.ts` has those of the operations on it. */
import { assert } from "@effect/vitest"
import { CallbackStore } from "@messaging-crm/core/CallbackInbox"
import { ConversationStore } from "@messaging-crm/core/Conversations"
import type { ChannelId, ContactId, OrganizationId } from "@messaging-crm/core/Ids"
import { insert, MessageStore } from "@messaging-crm/core/Messages"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { SendRows, SendStore } from "@messaging-crm/core/Sends"
import { DateTime, Effect, Option } from "effect"
import * as Fixtures from "./Fixtures.ts"
import { after, type It } from "./Fixtures.ts"

type Thread = Effect.Success<ReturnType<typeof Fixtures.thread>>

/** A queued send and two messages of a conversation. */
const filled = Effect.fnUntraced(function*(organization_id: OrganizationId, on: Thread) {
  const send = yield* Fixtures.send(on)
  yield* Fixtures.write(organization_id, SendRows.insert(send))
  for (const millis of [1, 2]) {
    const message = yield* Fixtures.message(on.conversation_id, { created_at: after(millis) })
    yield* Fixtures.write(organization_id, insert(on.channel.id, on.contact_id, Option.none(), message))
  }
  return send
})

/** What is stored of a conversation. */
const stored = Effect.fnUntraced(function*(organization_id: OrganizationId, { conversation_id }: Thread) {
  const messages = yield* MessageStore.use((store) =>
    store.list(organization_id, conversation_id, { after: null, size: 9 })
  )
  const sends = yield* PersonalDataStore.use((store) => store.sends(organization_id, conversation_id))
  const conversation = yield* ConversationStore.use((store) => store.find(organization_id, conversation_id))
  return { messages, sends, conversation }
})

const storedCallback = Effect.fnUntraced(function*(channel_id: ChannelId | null, ...people: ReadonlyArray<string>) {
  const callback = { source: "app", channel_id, people, body: Uint8Array.of(1), received_at: Fixtures.noon }
  const id = yield* Fixtures.uuid
  yield* CallbackStore.use((store) => store.insert([{ id, ...callback }]))
  return id
})

/** The ids of the callbacks that are stored, which it claims for a moment. */
const storedCallbacks = Effect.gen(function*() {
  const now = DateTime.makeUnsafe("2090-01-01T00:00:00.000Z")
  const token = yield* Fixtures.uuid
  const claimed = yield* CallbackStore.use((store) => store.claim({ limit: 10_000, now, lease_until: now, token }))
  return claimed.map(({ id }) => id)
})

const texts = (found: Effect.Success<ReturnType<typeof stored>>) => found.messages.map(({ text }) => text)

export const suite = (it: It) => {
  it.effect("returns every name of a contact, its conversations and their sends, and nothing of others", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [on, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      const send = yield* filled(ours, on)
      yield* filled(ours, other)
      const { external_id } = yield* Fixtures.identity(ours, on.contact_id, {}, ["an alias"])
      const names = yield* store.names(ours, on.contact_id)
      assert.includeMembers(names.map(({ name }) => name), [external_id, "an alias"])
      assert.lengthOf(names, 3)
      for (const { identity_version, name } of names) assert.strictEqual(identity_version, 1, name)
      const [conversation, ...more] = yield* store.conversations(ours, on.contact_id)
      assert.deepStrictEqual([conversation?.id, more], [on.conversation_id, []])
      assert.deepStrictEqual((yield* store.sends(ours, on.conversation_id)).map((found) => found.id), [send.id])
      assert.deepStrictEqual(yield* store.names(theirs, on.contact_id), [])
      assert.deepStrictEqual(yield* store.conversations(theirs, on.contact_id), [])
      assert.deepStrictEqual(yield* store.sends(theirs, on.conversation_id), [])
    }))

  it.effect("erases a contact's messages up to the limit, and returns how many, until none is left", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [on, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      yield* filled(ours, on)
      yield* filled(ours, other)
      const erase = (by: OrganizationId, id: ContactId) => store.eraseMessages(by, id, 1)
      assert.strictEqual(yield* erase(theirs, on.contact_id), 0)
      for (const expected of [1, 1, 0]) assert.strictEqual(yield* erase(ours, on.contact_id), expected)
      assert.deepStrictEqual(texts(yield* stored(ours, on)), ["[erased]", "[erased]"])
      assert.deepStrictEqual(texts(yield* stored(ours, other)), ["Hello", "Hello"])
    }))

  it.effect("erases the sends and the conversation of a contact, ends what is queued, and changes nothing when repeated", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [on, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      const { id } = yield* filled(ours, on)
      yield* filled(ours, other)
      const before = { on: yield* stored(ours, on), other: yield* stored(ours, other) }
      yield* store.eraseRest(theirs, on.contact_id)
      assert.deepStrictEqual(yield* stored(ours, on), before.on)
      yield* store.eraseRest(ours, on.contact_id)
      const send = Option.getOrThrow(yield* SendStore.use((sends) => sends.find(ours, id)))
      assert.deepInclude(send, { status: "failed", failure_reason: "recipient_opted_out", recipient: "[erased]" })
      assert.deepStrictEqual(send.content, { type: "text", text: "[erased]" })
      const once = yield* stored(ours, on)
      assert.notInclude(JSON.stringify(once.conversation), "Hello")
      yield* store.eraseRest(ours, on.contact_id)
      assert.deepStrictEqual(yield* stored(ours, on), once)
      assert.deepStrictEqual(yield* stored(ours, other), before.other)
    }))

  it.effect("deletes the callbacks of the organization's channels about the people, and no others", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [channel, foreign] = [yield* Fixtures.channel(ours), yield* Fixtures.channel(theirs)]
      const person = yield* Fixtures.uuid
      const erased = [yield* storedCallback(channel.id, person), yield* storedCallback(channel.id, "another", person)]
      const kept = [
        yield* storedCallback(channel.id, "another"),
        yield* storedCallback(channel.id, `${person}0`),
        yield* storedCallback(channel.id),
        yield* storedCallback(foreign.id, person),
        yield* storedCallback(null, person)
      ]
      yield* store.eraseCallbacks(ours, [person, "nobody"])
      const left = yield* storedCallbacks
      for (const id of erased) assert.notInclude(left, id)
      for (const id of kept) assert.include(left, id)
    }))
}
