/** Commits apply whole or not at all, at the versions that were loaded. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactRows, ContactStore } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { MemberRows } from "@messaging-crm/core/Members"
import { MessageRows, ProviderMessageRows } from "@messaging-crm/core/Messages"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import { Rows } from "@messaging-crm/core/Rows"
import { SendRows, SendStore } from "@messaging-crm/core/Sends"
import { TagRows } from "@messaging-crm/core/Tags"
import { Effect, Exit, Option } from "effect"
import { hardText } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, commitOutcome, type It, type Options } from "../../Fixtures.ts"
import { activity, claim, contactOf, conversationOf, findRecord } from "./CommitScene.ts"

/** Makes a commit with changes of every kind, at a version of its conversation, and the reads of their effects. */
const everyKind = Effect.fnUntraced(function*(ours: OrganizationId) {
  const thread = yield* Fixtures.thread(ours)
  yield* Fixtures.webhook(ours)
  const [row, tag] = [yield* Fixtures.newSend(thread), yield* Fixtures.newTag("vip")]
  const { identity_id } = thread
  const alias = `alias ${yield* Fixtures.uuid}`
  const changesAt = (version: number) =>
    Effect.map(Fixtures.newEvent(), (event) => [
      ContactRows.update({ id: thread.contact_id, version: 1 }, { company: "Brick" }),
      ConversationRows.update({ id: thread.conversation_id, version }, { status: "closed", closed_at: afterNoon(1) }),
      SendRows.insert(row),
      TagRows.insert(tag),
      Changes.aliases({ channel_type: "phone_messaging", name: alias, identity_id }),
      activity(thread),
      Changes.raise(event),
      Changes.enqueue({ kind: "send", lane: thread.conversation_id, ref: row.id, due_at: Fixtures.noon }),
      { response: Fixtures.idempotencyRecord }
    ])
  const seen = Effect.gen(function*() {
    return {
      contact: yield* contactOf(ours, thread),
      conversation: yield* conversationOf(ours, thread),
      sends: Option.toArray(yield* SendStore.use((store) => store.find(ours, row.id))),
      tags: yield* Fixtures.tagNames(ours),
      named: yield* ContactStore.use((store) => store.identify(ours, "phone_messaging", [alias])),
      events: yield* Fixtures.storedEvents(ours, "message.sent"),
      work: (yield* claim(ours)).map(({ kind }) => kind).toSorted(),
      records: Option.toArray(yield* findRecord(ours))
    }
  })
  return { changesAt, seen }
})

export const wholeOrNothing = (it: It) => {
  it.effect("applies every part, or nothing of it when one version has moved", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { changesAt, seen } = yield* everyKind(ours)
      const before = yield* seen
      assert.strictEqual(yield* commitOutcome(ours, ...yield* changesAt(9)), "Conflict")
      assert.deepStrictEqual(yield* seen, before)

      assert.strictEqual(yield* commitOutcome(ours, ...yield* changesAt(1)), "committed")
      const applied = yield* seen
      assert.deepInclude(applied.contact, {
        company: "Brick",
        version: 2,
        last_activity_at: afterNoon(1),
        updated_at: afterNoon(1)
      })
      assert.deepInclude(applied.conversation, {
        status: "closed",
        closed_at: afterNoon(1),
        version: 2,
        last_activity_at: afterNoon(1),
        last_activity_preview: "x"
      })
      assert.deepStrictEqual(applied.tags, ["vip"])
      assert.deepStrictEqual(applied.work, ["send", "webhook_event"])
      for (const part of ["sends", "named", "events", "records"] as const) {
        assert.deepStrictEqual([before[part].length, applied[part].length], [0, 1], part)
      }
    }))

  it.effect("shows others all or none of a commit", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const tags = yield* Effect.forEach(Array.from({ length: 20 }, (_, index) => `${index}`), Fixtures.newTag)
      const look = Effect.replicateEffect(Effect.andThen(Effect.yieldNow, Fixtures.tagNames(ours)), 5)
      const [, ...seen] = yield* Effect.all(
        [Fixtures.mustCommit(ours, ...tags.map(TagRows.insert)), ...Array.from({ length: 6 }, () => look)],
        { concurrency: "unbounded" }
      )
      for (const names of seen.flat()) assert.include([0, 20], names?.length)
    }))
}

const updates = (it: It, { runs }: Options) => {
  it.effect.prop("sets the given columns and no others, and moves the version", {
    company: hardText({ min: 1, max: 50 }),
    value: hardText({ min: 1, max: 50 })
  }, ({ company, value }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [a, b] = [yield* Fixtures.tag(ours, "a"), yield* Fixtures.tag(ours, "b")]
      const { id } = yield* Fixtures.contact(ours, { company: "Acme", city: "Rome", tags: [a] })
      const before = yield* contactOf(ours, { contact_id: id })
      const set = { company, custom_values: { x: value } }
      yield* Fixtures.mustCommit(ours, ContactRows.update(before, set))
      const first = yield* contactOf(ours, { contact_id: id })
      assert.deepStrictEqual(first, { ...before, ...set, version: 2 })
      yield* Fixtures.mustCommit(ours, ContactRows.update(first, { tags: [b], city: null }))
      const second = yield* contactOf(ours, { contact_id: id })
      assert.deepStrictEqual(second, { ...first, tags: [b], city: null, version: 3 })
      yield* Fixtures.mustCommit(ours, ContactRows.update(second, { tags: [] }))
      assert.deepStrictEqual(yield* contactOf(ours, { contact_id: id }), { ...second, tags: [], version: 4 })
    }), { arbitrary: { runs } })

  it.effect("updates a row that the same commit expects", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { contact_id } = yield* Fixtures.thread(ours)
      const before = yield* contactOf(ours, { contact_id })
      const updateAndExpect = (company: string) => [ContactRows.update(before, { company }), ContactRows.expect(before)]
      yield* Fixtures.mustCommit(ours, ...updateAndExpect("Acme"))
      const first = yield* contactOf(ours, { contact_id })
      assert.deepStrictEqual(first, { ...before, company: "Acme", version: 2 })
      assert.strictEqual(yield* commitOutcome(ours, ...updateAndExpect("Brick")), "Conflict")
    }))

  it.effect("increases the version of a row even if an update sets no column", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const row = { id: ours, version: 1 }
      assert.strictEqual(yield* commitOutcome(ours, OrganizationRows.update(row, {})), "committed")
      assert.strictEqual(yield* commitOutcome(ours, OrganizationRows.update(row, {})), "Conflict")
      assert.strictEqual(yield* commitOutcome(ours, OrganizationRows.expect({ ...row, version: 2 })), "committed")
    }))
}

const conflicts = (it: It) => {
  it.effect("rejects a change of a row that is at another version, was deleted, or never existed", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const tag = yield* Fixtures.tag(ours, "a")
      yield* Fixtures.mustCommit(ours, Changes.removable(TagRows).remove(tag))
      const [send, message] = [yield* Fixtures.newSend(thread), yield* Fixtures.newMessage(thread.conversation_id)]
      const contact = { id: thread.contact_id }
      for (const version of [0, 2, 9]) {
        assert.strictEqual(
          yield* commitOutcome(ours, ContactRows.update({ ...contact, version }, { city: "x" })),
          "Conflict"
        )
        assert.strictEqual(yield* commitOutcome(ours, ContactRows.expect({ ...contact, version })), "Conflict")
      }
      for (
        const changes of [
          TagRows.update({ id: tag.id, version: 1 }, { color: "blue" }),
          TagRows.expect({ id: tag.id, version: 1 }),
          SendRows.update({ ...send, version: 1 }, { status: "sending" }),
          MessageRows.update({ ...message, version: 1 }, { text: "x" }),
          ProviderMessageRows.update(
            { channel_id: thread.channel.id, provider_message_id: "p", version: 1 },
            { early_updates: [] }
          )
        ]
      ) {
        assert.strictEqual(yield* commitOutcome(ours, changes), "Conflict")
      }
      assert.strictEqual((yield* contactOf(ours, thread)).version, 1)
    }))

  it.effect("requires the versions of rows that it expects without writing them", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const { id } = yield* Fixtures.member(ours)
      const assign = (version: number) => [
        MemberRows.expect({ id, version }),
        ConversationRows.update({ id: thread.conversation_id, version: 1 }, { assigned_user_id: id })
      ]
      yield* Fixtures.mustCommit(ours, MemberRows.update({ id, version: 1 }, { left_at: afterNoon(1) }))
      assert.strictEqual(yield* commitOutcome(ours, ...assign(1)), "Conflict")
      assert.isNull((yield* conversationOf(ours, thread)).assigned_user_id)
      assert.strictEqual(yield* commitOutcome(ours, ...assign(2)), "committed")
      const member = yield* Rows.use((rows) => rows.find(MemberRows, ours, id))
      assert.strictEqual(Option.getOrThrow(member).version, 2)
    }))
}

const concurrency = (it: It) => {
  it.effect("rejects at least one of two commits of which each expects what the other writes", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      for (let round = 0; round < 10; round++) {
        const [one, other] = [yield* Fixtures.contact(ours), yield* Fixtures.contact(ours)]
        const [a, b] = [{ id: one.id, version: 1 }, { id: other.id, version: 1 }]
        const outcomes = yield* Effect.all([
          commitOutcome(ours, ContactRows.expect(a), ContactRows.update(b, { city: "x" })),
          commitOutcome(ours, ContactRows.expect(b), ContactRows.update(a, { city: "y" }))
        ], { concurrency: "unbounded" })
        assert.include(outcomes, "Conflict")
      }
    }))

  it.effect("accepts one of ten concurrent commits on one version, whatever else they write", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const rows = [
        ContactRows.update({ id: thread.contact_id, version: 1 }, { city: "Rome" }),
        ConversationRows.update({ id: thread.conversation_id, version: 1 }, { agent_id: null })
      ]
      const outcomes = yield* Effect.all(
        Array.from(
          { length: 10 },
          (_, index) =>
            Effect.flatMap(
              Fixtures.newTag(`${index}`),
              (tag) => commitOutcome(ours, TagRows.insert(tag), ...(index % 2 === 0 ? rows : rows.toReversed()))
            )
        ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes.toSorted(), Fixtures.oneCommitted(9))
      assert.lengthOf(yield* Fixtures.tagNames(ours), 1)
      assert.strictEqual((yield* contactOf(ours, thread)).version, 2)
    }))
}

const restrictions = (it: It) => {
  it.effect("never moves a contact's updated_at backwards", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours, { updated_at: afterNoon(5) })
      yield* Fixtures.mustCommit(
        ours,
        ContactRows.update({ id, version: 1 }, { city: "Rome", updated_at: afterNoon(3) })
      )
      assert.deepInclude(yield* contactOf(ours, { contact_id: id }), { city: "Rome", updated_at: afterNoon(5) })
      yield* Fixtures.mustCommit(ours, ContactRows.update({ id, version: 2 }, { updated_at: afterNoon(7) }))
      assert.deepStrictEqual((yield* contactOf(ours, { contact_id: id })).updated_at, afterNoon(7))
    }))

  it.effect("fails with a defect on two updates of one row, and applies neither", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const twice = [
        ContactRows.update({ id, version: 1 }, { city: "Rome" }),
        ContactRows.update({ id, version: 1 }, { company: "Acme" })
      ]
      assert.isTrue(Exit.hasDies(yield* Effect.exit(Fixtures.commit(ours, ...twice))))
      assert.deepInclude(yield* contactOf(ours, { contact_id: id }), { city: null, company: null, version: 1 })
    }))
}

export const versions = (it: It, options: Options) => {
  updates(it, options)
  conflicts(it)
  concurrency(it)
  restrictions(it)
}
