/** Tests of commits with activities: the columns that every message updates. */
import { assert } from "@effect/vitest"
import { IdentityNetworkIdRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { ContactRows, insertContact, no_marketing_preference } from "@messaging-crm/core/Contacts"
import { ConversationRows, open } from "@messaging-crm/core/Conversations"
import { IdentityId } from "@messaging-crm/core/Ids"
import { Arbitrary, Effect } from "effect"
import { hardText, integer } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, commitOutcome, type It, type Options } from "../../Fixtures.ts"
import { activity, contactOf, conversationOf } from "./CommitScene.ts"

const anyActivities = Arbitrary.array(
  Arbitrary.all({
    at: integer({ min: 0, max: 20 }),
    inbound: integer({ min: -5, max: 20 }),
    preview: hardText({ min: 1, max: 20 }),
    place: integer({ min: 0, max: 999 })
  }),
  { minLength: 1, maxLength: 6 }
)

const versions = (it: It) => {
  it.effect("requires the version of its conversation if it names one, and changes nothing otherwise", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const { conversation_id: id } = thread
      const at = (millis: number, conversation_version: number) =>
        activity(thread, { at: afterNoon(millis), preview: `${millis}`, conversation_version })
      assert.strictEqual(yield* commitOutcome(ours, at(1, 1)), "committed")
      yield* Fixtures.mustCommit(ours, ConversationRows.update({ id, version: 1 }, { agent_id: null }))
      assert.strictEqual(yield* commitOutcome(ours, at(2, 1)), "Conflict")
      assert.strictEqual((yield* contactOf(ours, thread)).last_activity_preview, "1")
      assert.strictEqual(yield* commitOutcome(ours, at(3, 2)), "committed")
      const { last_activity_preview, version } = yield* conversationOf(ours, thread)
      assert.deepStrictEqual([last_activity_preview, version], ["3", 2])
    }))
}

const orders = (it: It, { runs }: Options) => {
  it.effect.prop(
    "ends in the same conversation and contact in any order of activities",
    { activities: anyActivities },
    (given) =>
      Effect.gen(function*() {
        const ours = yield* Fixtures.organization
        // Of two messages with the same time, the later commit is shown.
        const distinct = given.activities.filter(({ at }, index, all) =>
          all.findIndex((other) => other.at === at) === index
        )
        const orders = [distinct, distinct.toSorted((a, b) => a.place - b.place), distinct.toReversed()]
        const ends = yield* Effect.forEach(orders, (order) =>
          Effect.gen(function*() {
            const thread = yield* Fixtures.thread(ours)
            for (const { at, inbound, preview } of order) {
              const last_inbound_at = inbound < 0 ? null : afterNoon(inbound)
              yield* Fixtures.mustCommit(ours, activity(thread, { at: afterNoon(at), preview, last_inbound_at }))
            }
            const { version, last_conversation_id, ...contact } = yield* contactOf(ours, thread)
            const conversation = yield* conversationOf(ours, thread)
            assert.strictEqual(last_conversation_id, thread.conversation_id)
            assert.deepStrictEqual([version, conversation.version], [1, 1], "an activity moves no version")
            return {
              contact: [contact.last_activity_at, contact.last_activity_preview, contact.updated_at],
              conversation: [
                conversation.last_activity_at,
                conversation.last_activity_preview,
                conversation.last_inbound_at
              ]
            }
          }))
        const latest = distinct.toSorted((a, b) => b.at - a.at)[0]
        const inbounds = distinct.filter(({ inbound }) => inbound >= 0).map(({ inbound }) => inbound)
        const [at, preview] = [afterNoon(latest?.at ?? 0), latest?.preview ?? null]
        const expected = {
          contact: [at, preview, at],
          conversation: [at, preview, inbounds.length === 0 ? null : afterNoon(Math.max(...inbounds))]
        }
        assert.deepStrictEqual(ends, [expected, expected, expected])
      }),
    { arbitrary: { runs } }
  )
}

const sameTime = (it: It) => {
  it.effect("replaces the preview of an activity at the very time of the last", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      for (const preview of ["first", "edited"]) yield* Fixtures.mustCommit(ours, activity(thread, { preview }))
      yield* Fixtures.mustCommit(ours, activity(thread, { at: afterNoon(0), preview: "older" }))
      assert.strictEqual((yield* conversationOf(ours, thread)).last_activity_preview, "edited")
      assert.strictEqual((yield* contactOf(ours, thread)).last_activity_preview, "edited")
    }))
}

const concurrency = (it: It) => {
  it.effect("applies any number of concurrent activities of one thread, and an update", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const concurrent = Array.from(
        { length: 10 },
        (_, index) => commitOutcome(ours, activity(thread, { at: afterNoon(index), preview: `${index}` }))
      )
      const update = commitOutcome(ours, ContactRows.update({ id: thread.contact_id, version: 1 }, { city: "Rome" }))
      const outcomes = yield* Effect.all([...concurrent, update], { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(outcomes), new Set(["committed"]))
      assert.deepInclude(yield* contactOf(ours, thread), {
        city: "Rome",
        version: 2,
        last_activity_at: afterNoon(9),
        last_activity_preview: "9",
        last_conversation_id: thread.conversation_id
      })
      assert.strictEqual((yield* conversationOf(ours, thread)).last_activity_preview, "9")
    }))
}

const updates = (it: It) => {
  it.effect("applies an update and an activity of one row", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      yield* Fixtures.mustCommit(
        ours,
        ContactRows.update({ id: thread.contact_id, version: 1 }, { city: "Rome", updated_at: afterNoon(1) }),
        ConversationRows.update({ id: thread.conversation_id, version: 1 }, {
          status: "closed",
          closed_at: afterNoon(3)
        }),
        activity(thread, { at: afterNoon(5), preview: "Hello", last_inbound_at: afterNoon(4) })
      )
      const shown = { last_activity_at: afterNoon(5), last_activity_preview: "Hello", version: 2 }
      const last = { updated_at: afterNoon(5), last_conversation_id: thread.conversation_id }
      assert.deepInclude(yield* contactOf(ours, thread), { ...shown, ...last, city: "Rome" })
      assert.deepInclude(yield* conversationOf(ours, thread), {
        ...shown,
        status: "closed",
        last_inbound_at: afterNoon(4)
      })
    }))

  it.effect("sets with an update what an activity sets too, but moves no time backwards", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      yield* Fixtures.mustCommit(
        ours,
        activity(thread, { at: afterNoon(5), preview: "Hello", last_inbound_at: afterNoon(4) })
      )
      const set = { last_activity_at: afterNoon(1), last_activity_preview: "Edited" }
      yield* Fixtures.mustCommit(
        ours,
        ContactRows.update({ id: thread.contact_id, version: 1 }, { ...set, updated_at: afterNoon(1) }),
        ConversationRows.update({ id: thread.conversation_id, version: 1 }, { ...set, last_inbound_at: afterNoon(1) })
      )
      const shown = { last_activity_at: afterNoon(5), last_activity_preview: "Edited", version: 2 }
      assert.deepInclude(yield* contactOf(ours, thread), { ...shown, updated_at: afterNoon(5) })
      assert.deepInclude(yield* conversationOf(ours, thread), { ...shown, last_inbound_at: afterNoon(4) })
      yield* Fixtures.mustCommit(
        ours,
        ConversationRows.update({ id: thread.conversation_id, version: 2 }, { last_inbound_at: null })
      )
      assert.isNull((yield* conversationOf(ours, thread)).last_inbound_at)
    }))
}

const inserts = (it: It) => {
  it.effect("applies an insert and an activity of one row", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const channel = yield* Fixtures.channel(ours)
      const contact = yield* Fixtures.newContact
      const identity = {
        id: IdentityId.make(yield* Fixtures.uuid),
        channel_type: channel.type,
        external_id: "kim",
        display_name: null,
        username: null,
        ...no_marketing_preference
      }
      const { id: contact_id, ...names } = contact
      const who = { ...names, ...identity, contact_id, identity_id: identity.id }
      const conversation = open(channel, who, undefined, yield* Fixtures.decisionContext)
      const thread = { contact_id: contact.id, conversation_id: conversation.result }
      yield* Fixtures.mustCommit(
        ours,
        insertContact({ ...contact, identities: [identity] }),
        IdentityRows.insert({ ...identity, contact_id: contact.id }),
        IdentityNetworkIdRows.insert({ channel_type: channel.type, name: "kim", identity_id: identity.id }),
        conversation.changes,
        activity(thread, { at: Fixtures.noon, preview: "Hello", last_inbound_at: afterNoon(-4) })
      )
      const shown = { last_activity_at: Fixtures.noon, last_activity_preview: "Hello", version: 1 }
      const last = { updated_at: Fixtures.noon, last_conversation_id: thread.conversation_id }
      assert.deepInclude(yield* contactOf(ours, thread), { ...shown, ...last })
      assert.deepInclude(yield* conversationOf(ours, thread), { ...shown, last_inbound_at: afterNoon(-4) })
    }))
}

export const activities = (it: It, options: Options) => {
  versions(it)
  orders(it, options)
  sameTime(it)
  concurrency(it)
  updates(it)
  inserts(it)
}
