/** Tests of the guarantees of `PersonalDataStore`. `Journeys/PersonalData.ts` tests the operations on it. */
import { assert } from "@effect/vitest"
import { CallbackRows } from "@messaging-crm/core/CallbackInbox"
import * as Changes from "@messaging-crm/core/Changes"
import { deliveryIdOf } from "@messaging-crm/core/Changes"
import type { Identity } from "@messaging-crm/core/Contacts"
import { IdempotencyKey, IdempotencyStore, part_prefix } from "@messaging-crm/core/Idempotency"
import type { OrganizationId, WebhookDeliveryId } from "@messaging-crm/core/Ids"
import type { Position } from "@messaging-crm/core/Page"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { SendRows } from "@messaging-crm/core/Sends"
import { TagRows } from "@messaging-crm/core/Tags"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import type { WebhookColumns } from "@messaging-crm/core/Webhooks"
import { Deferred, Effect, Fiber, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"
import { personalDataTests as longTexts } from "./LongTexts.ts"

/** A queued send and two messages of a conversation. */
const fillThread = Effect.fnUntraced(function*(organization_id: OrganizationId, thread: Fixtures.Thread) {
  const send = yield* Fixtures.newSend(thread)
  yield* Fixtures.mustCommit(organization_id, SendRows.insert(send))
  for (const millis of [1, 2]) yield* Fixtures.message(organization_id, thread, { created_at: afterNoon(millis) })
  return send
})

const reads = (it: It) => {
  it.effect("returns every name of a contact, its conversations and their sends, and nothing of others", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [thread, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      const send = yield* fillThread(ours, thread)
      yield* fillThread(ours, other)
      const { external_id } = yield* Fixtures.identity(ours, thread.contact_id, {}, ["an alias"])
      const network_ids = yield* store.networkIds(ours, thread.contact_id)
      assert.includeMembers(network_ids.map(({ name }) => name), [external_id, "an alias"])
      assert.lengthOf(network_ids, 3)
      for (const { identity_version, name } of network_ids) assert.strictEqual(identity_version, 1, name)
      const [conversation, ...more] = yield* store.conversations(ours, thread.contact_id)
      assert.deepStrictEqual([conversation?.id, more], [thread.conversation_id, []])
      const sends = (by: OrganizationId) => store.sends(by, thread.conversation_id, { after: null, size: 10 })
      assert.deepStrictEqual((yield* sends(ours)).map(({ id }) => id), [send.id])
      assert.deepStrictEqual(yield* store.networkIds(theirs, thread.contact_id), [])
      assert.deepStrictEqual(yield* store.conversations(theirs, thread.contact_id), [])
      assert.deepStrictEqual(yield* sends(theirs), [])
    }))

  it.effect("returns a conversation's messages in pages, the newest first, with their versions", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [thread, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      yield* fillThread(ours, thread)
      yield* fillThread(ours, other)
      const readPage = (after: Position | null, by = ours) =>
        store.messages(by, thread.conversation_id, { after, size: 1 })
      const [newest, ...more] = yield* readPage(null)
      if (newest === undefined) return assert.fail("There is no message.")
      assert.lengthOf(more, 0)
      assert.deepStrictEqual([newest.created_at, newest.text, newest.version], [afterNoon(2), "Hello", 1])
      const [oldest] = yield* readPage({ at: newest.created_at, id: newest.id })
      if (oldest === undefined) return assert.fail("There is only one message.")
      assert.deepStrictEqual(oldest.created_at, afterNoon(1))
      assert.lengthOf(yield* readPage({ at: oldest.created_at, id: oldest.id }), 0)
      assert.lengthOf(yield* readPage(null, theirs), 0)
    }))
}

const keyOf = ({ contact_id }: Fixtures.Thread) => IdempotencyKey.make(`key-${contact_id}`)

/** The key of an upsert that has a record without a response. */
const begunKeyOf = ({ contact_id }: Fixtures.Thread) => IdempotencyKey.make(`begun-${contact_id}`)

/** The key of a part of the upsert, about another contact. */
const partKeyOf = ({ contact_id }: Fixtures.Thread) => `${part_prefix}${contact_id}` as IdempotencyKey

/** The key of an equal request, with a response that contains another contact. */
const equalKeyOf = ({ contact_id }: Fixtures.Thread) => IdempotencyKey.make(`equal-${contact_id}`)

/** The key of a retry of a delivery, whose response contains that of an endpoint. */
const retryKeyOf = ({ contact_id }: Fixtures.Thread) => IdempotencyKey.make(`retry-${contact_id}`)

/** The key of a retry of the same delivery, whose response contains none of an endpoint. */
const emptyRetryKeyOf = ({ contact_id }: Fixtures.Thread) => IdempotencyKey.make(`empty-${contact_id}`)

/** Stores the recorded responses to retries of an event's delivery. */
const storeRetries = Effect.fnUntraced(function*(ours: OrganizationId, thread: Fixtures.Thread, event_id: string) {
  const records = [[retryKeyOf(thread), "canary"], [emptyRetryKeyOf(thread), null]] as const
  for (const [key, response_body] of records) {
    const body = JSON.stringify({ data: { event_id, response_body } })
    yield* Fixtures.mustCommit(ours, {
      response: { ...Fixtures.idempotencyRecord, key, fingerprint: key.padEnd(64), body }
    })
  }
})

/** Stores copies of a thread's contact: records of requests, an event, and the response to its delivery. Returns the delivery's ID. */
const storeCopies = Effect.fnUntraced(
  function*(ours: OrganizationId, webhook: WebhookColumns, thread: Fixtures.Thread) {
    const { contact_id } = thread
    const body = JSON.stringify({ id: contact_id })
    const event = yield* Fixtures.newEvent({
      body: JSON.stringify({ data: { conversation_id: thread.conversation_id } }),
      resource: { name: "contact", value: thread, contact_id, message_id: null }
    })
    const response = { ...Fixtures.idempotencyRecord, key: keyOf(thread), fingerprint: contact_id.padEnd(64), body }
    yield* Fixtures.mustCommit(ours, { response }, Changes.raise(event))
    yield* Fixtures.mustCommit(ours, Changes.expand(event.id))
    yield* Fixtures.mustCommit(ours, { response: { ...response, key: begunKeyOf(thread), status: null, body: null } })
    const { body: other } = Fixtures.idempotencyRecord
    yield* Fixtures.mustCommit(ours, { response: { ...response, key: partKeyOf(thread), body: other } })
    yield* Fixtures.mustCommit(ours, { response: { ...response, key: equalKeyOf(thread), body: other } })
    yield* storeRetries(ours, thread, event.id)
    const id = deliveryIdOf(event.id, webhook.id)
    yield* Fixtures.mustCommit(ours, WebhookDeliveryRows.update({ id, version: 1 }, { response_body: contact_id }))
    return id
  }
)

/** Returns whether each record of the threads exists, and the contacts that stored endpoint responses and events contain. */
const storedCopies = Effect.fnUntraced(
  function*(ours: OrganizationId, webhook: WebhookColumns, threads: ReadonlyArray<Fixtures.Thread>) {
    const records = yield* Effect.forEach(
      threads.flatMap((thread) => [
        keyOf(thread),
        begunKeyOf(thread),
        partKeyOf(thread),
        retryKeyOf(thread),
        equalKeyOf(thread),
        emptyRetryKeyOf(thread)
      ]),
      (key) => IdempotencyStore.use((records) => records.find(ours, key))
    )
    const bodies = (yield* Fixtures.deliveriesOf(ours, webhook)).map(({ response_body }) => response_body)
    const events = yield* Fixtures.storedEvents(ours, "message.sent")
    const inEvents: ReadonlyArray<string> = events.flatMap(({ full_body }) =>
      full_body === null ? [] : JSON.parse(full_body).data.contact.contact_id
    )
    return {
      records: records.map(Option.isSome),
      in_responses: bodies.filter((body) => body !== null).toSorted(),
      in_events: inEvents.toSorted()
    }
  }
)

const copies = (it: It) => {
  it.effect("deletes a contact's recorded responses, the resources of its events, and the responses of endpoints to them", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [erased, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      const webhook = yield* Fixtures.webhook(ours, { include_resource: true })
      const [delivery, otherDelivery] = [
        yield* storeCopies(ours, webhook, erased),
        yield* storeCopies(ours, webhook, other)
      ]
      const assertLeft = Effect.fnUntraced(
        function*(hasRecords: ReadonlyArray<boolean>, contact_ids: ReadonlyArray<string>) {
          const { in_events, in_responses, records } = yield* storedCopies(ours, webhook, [erased, other])
          assert.deepStrictEqual(records, hasRecords, "the records of requests")
          assert.deepStrictEqual(in_responses, contact_ids, "the responses of webhook endpoints")
          assert.deepStrictEqual(in_events, contact_ids, "the resources of events")
        }
      )
      yield* store.eraseCopies(theirs, erased.contact_id)
      const all = [true, true, true, true, true, true]
      yield* assertLeft([...all, ...all], [erased.contact_id, other.contact_id].toSorted())
      for (let repeat = 0; repeat < 2; repeat++) {
        yield* store.eraseCopies(ours, erased.contact_id)
        yield* assertLeft([false, false, false, false, true, true, ...all], [other.contact_id])
      }
      // An attempt that began before has the version of the delivery as it was.
      const attempted = (id: WebhookDeliveryId) =>
        Fixtures.commitOutcome(ours, WebhookDeliveryRows.update({ id, version: 2 }, { attempt_count: 1 }))
      assert.deepStrictEqual([yield* attempted(delivery), yield* attempted(otherDelivery)], ["Conflict", "committed"])
    }))
}

/** Creates a contact with an identity, and returns its ID and the identity's external ID. */
const makeIdentifiedContact = Effect.fnUntraced(
  function*(organization_id: OrganizationId, fields: Partial<Identity> = {}, aliases: ReadonlyArray<string> = []) {
    const { id } = yield* Fixtures.contact(organization_id)
    const { external_id } = yield* Fixtures.identity(organization_id, id, fields, aliases)
    return { id, external_id }
  }
)

/** Returns which of some callbacks are stored. */
const areStored = (ids: ReadonlyArray<string>) => Fixtures.areCallbacksStored(ids)

const callbacks = (it: It) => {
  it.effect("deletes the callbacks of the organization's channels about a contact, and no others", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [channel, foreign] = [yield* Fixtures.channel(ours), yield* Fixtures.channel(theirs)]
      const otherType = yield* Fixtures.channel(ours, "page_messaging")
      const [alias, number] = [yield* Fixtures.uuid, yield* Fixtures.newPhone]
      const { external_id: person, id } = yield* makeIdentifiedContact(ours, {}, [alias, number])
      yield* makeIdentifiedContact(ours, { channel_type: "page_messaging", external_id: person })
      const erased = [
        yield* Fixtures.callback(channel.id, [person]),
        yield* Fixtures.callback(channel.id, ["another", person]),
        // A store can insert a large body otherwise.
        yield* Fixtures.callback(channel.id, [person], new Uint8Array(100_000)),
        yield* Fixtures.callback(channel.id, [alias]),
        yield* Fixtures.callback(channel.id, [number.slice(1)])
      ]
      const kept = [
        yield* Fixtures.callback(channel.id, ["another"]),
        yield* Fixtures.callback(channel.id, [`${person}0`]),
        yield* Fixtures.callback(channel.id, []),
        yield* Fixtures.callback(otherType.id, [person]),
        yield* Fixtures.callback(foreign.id, [person]),
        yield* Fixtures.callback(null, [person])
      ]
      yield* store.eraseCallbacks(theirs, id, [])
      assert.notInclude(yield* areStored([...erased, ...kept]), false)
      yield* store.eraseCallbacks(ours, id, [])
      assert.notInclude(yield* areStored(erased), true)
      assert.notInclude(yield* areStored(kept), false)
    }))

  it.effect("deletes the callbacks with a contact's phone, unless that is a network ID of another contact", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const channel = yield* Fixtures.channel(ours)
      const primary_phone = yield* Fixtures.newPhone
      const other = yield* Fixtures.newPhone
      const phones = [primary_phone, other]
      const [first, second] = [
        yield* Fixtures.contact(ours, { primary_phone }),
        yield* Fixtures.contact(ours, { primary_phone })
      ]
      yield* makeIdentifiedContact(theirs, { external_id: primary_phone })
      yield* makeIdentifiedContact(ours, { channel_type: "page_messaging", external_id: primary_phone })
      const callbacks = Effect.forEach(phones, (phone) => Fixtures.callback(channel.id, [phone.slice(1)]))
      const before = yield* callbacks
      yield* store.eraseCallbacks(ours, first.id, phones)
      assert.deepStrictEqual(yield* areStored(before), [false, false])
      yield* Fixtures.identity(ours, second.id, { external_id: primary_phone })
      const after = yield* callbacks
      yield* store.eraseCallbacks(ours, first.id, phones)
      assert.deepStrictEqual(yield* areStored(after), [true, true])
      yield* store.eraseCallbacks(ours, second.id, phones)
      assert.deepStrictEqual(yield* areStored(after), [false, true])
    }))
}

const laterCommits = (it: It) => {
  it.effect("lets no commit take effect that comes from a deleted callback", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const ours = yield* Fixtures.organization
      const channel = yield* Fixtures.channel(ours)
      const { external_id: person, id } = yield* makeIdentifiedContact(ours)
      const [erased, kept] = [
        yield* Fixtures.callback(channel.id, [person]),
        yield* Fixtures.callback(channel.id, ["another"])
      ]
      const commitFrom = Effect.fnUntraced(function*(callback: string) {
        const tag = yield* Fixtures.newTag(yield* Fixtures.uuid)
        return yield* Fixtures.commitOutcome(ours, TagRows.insert(tag), { callback })
      })
      assert.deepStrictEqual(yield* Effect.forEach([erased, kept], commitFrom), ["committed", "committed"])
      yield* store.eraseCallbacks(ours, id, [])
      assert.deepStrictEqual(
        yield* Effect.forEach([kept, erased, kept, kept], commitFrom, { concurrency: "unbounded" }),
        ["committed", "LeaseLost", "committed", "committed"]
      )
      yield* Fixtures.mustCommit(ours, CallbackRows.remove({ id: kept }))
      assert.strictEqual(yield* commitFrom(kept), "LeaseLost")
    }))
}

const concurrentCommits = (it: It) => {
  it.effect("deletes a callback only after the commits that come from it", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const ours = yield* Fixtures.organization
      const channel = yield* Fixtures.channel(ours)
      for (let round = 0; round < 10; round++) {
        const { external_id: person, id } = yield* makeIdentifiedContact(ours)
        const callback = yield* Fixtures.callback(channel.id, [person])
        const applied = yield* Deferred.make<string>()
        // Commits one tag after another until a commit is rejected, so that the erasure begins between commits.
        const commits = Effect.gen(function*() {
          const outcomes: Array<string> = []
          while (outcomes.length < 10 && !outcomes.includes("LeaseLost")) {
            const tag = yield* Fixtures.newTag(yield* Fixtures.uuid)
            outcomes.push(yield* Fixtures.commitOutcome(ours, TagRows.insert(tag), { callback }))
            if (outcomes.at(-1) === "committed") yield* Deferred.succeed(applied, tag.name)
            yield* Effect.yieldNow
          }
          return outcomes
        })
        const running = yield* Effect.forkChild(Effect.replicateEffect(commits, 4, { concurrency: "unbounded" }))
        const first = yield* Deferred.await(applied)
        yield* store.eraseCallbacks(ours, id, [])
        const then = yield* Fixtures.tagNames(ours)
        assert.include(then, first)
        const outcomes = (yield* Fiber.join(running)).flat()
        assert.deepStrictEqual(yield* Fixtures.tagNames(ours), then)
        for (const outcome of outcomes) assert.include(["committed", "LeaseLost"], outcome)
      }
    }))
}

export const portTests = (it: It) => {
  reads(it)
  copies(it)
  callbacks(it)
  laterCommits(it)
  concurrentCommits(it)
  longTexts(it)
}
