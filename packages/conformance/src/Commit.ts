/** The promises of `Commit`, as tests. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ChannelRows } from "@messaging-crm/core/Channels"
import { ContactFieldRows } from "@messaging-crm/core/ContactFields"
import { IdentityNameRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { ContactRows, ContactStore, insert as insertContact } from "@messaging-crm/core/Contacts"
import { ConversationRows, ConversationStore, open } from "@messaging-crm/core/Conversations"
import { EventStore } from "@messaging-crm/core/Events"
import { IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import {
  ChannelId,
  ContactFieldId,
  type ConversationId,
  EventId,
  IdentityId,
  MediaId,
  MemberId,
  type OrganizationId,
  TagId
} from "@messaging-crm/core/Ids"
import { type MediaFile, MediaRows, MediaStore } from "@messaging-crm/core/Media"
import { MemberRows, MemberStore, toColumns } from "@messaging-crm/core/Members"
import { MessageRows, ProviderMessageRows } from "@messaging-crm/core/Messages"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import { SendRows, SendStore } from "@messaging-crm/core/Sends"
import { type Tag, TagRows, TagStore } from "@messaging-crm/core/Tags"
import * as Traces from "@messaging-crm/core/Traces"
import { State, WebhookDeliveryRows, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows, WebhookStore } from "@messaging-crm/core/Webhooks"
import { type ClaimedWork, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Arbitrary, DateTime, Effect, Exit, Option, Schema } from "effect"
import { bytes, hardText, moment } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options, outcome } from "./Fixtures.ts"

const newTag = (name: string) =>
  Effect.map(Fixtures.uuid, (id): Tag & { readonly name_key: string } => ({
    id: TagId.make(id),
    name,
    color: "red",
    name_key: name
  }))

const tagNames = (organization_id: OrganizationId) =>
  TagStore.use((store) => Effect.map(store.list(organization_id), (tags) => tags.map(({ name }) => name)))

const contactOf = (organization_id: OrganizationId, { contact_id }: Pick<Changes.Activity, "contact_id">) =>
  ContactStore.use((store) => Effect.map(store.load(organization_id, contact_id), Option.getOrThrow))

const conversationOf = (organization_id: OrganizationId, { conversation_id }: { conversation_id: ConversationId }) =>
  ConversationStore.use((store) => Effect.map(store.find(organization_id, conversation_id), Option.getOrThrow))

const deliveriesOf = (
  organization_id: OrganizationId,
  { id }: { readonly id: Parameters<typeof Changes.deliveryIdOf>[1] }
) => WebhookDeliveryStore.use((store) => store.list(organization_id, id, 99))

/** A touch of a thread. */
const activity = (
  { contact_id, conversation_id }: Pick<Changes.Activity, "contact_id" | "conversation_id">,
  fields: Partial<Changes.Activity> = {}
) => Changes.touch({ conversation_id, contact_id, at: after(1), preview: "x", last_inbound_at: null, ...fields })

const record: Changes.Remembered = {
  key: IdempotencyKey.make("a-key-of-ours"),
  fingerprint: "f".repeat(64),
  status: 201,
  body: Uint8Array.of(1, 2),
  sealed: false,
  request_id: "r-1",
  created_at: Fixtures.noon
}

const findRecord = (organization_id: OrganizationId) =>
  IdempotencyStore.use((store) => store.find(organization_id, IdempotencyKey.make(record.key)))

/** Claims work of every kind, and returns what belongs to this organization. */
const claim = Effect.fnUntraced(function*(organization_id: OrganizationId, now = after(9)) {
  const queue = yield* WorkQueue
  const all: Array<ClaimedWork> = []
  for (const kind of WorkKind.literals) {
    for (;;) {
      const token = yield* Fixtures.uuid
      const lease_until = DateTime.add(now, { seconds: 60 })
      const some = yield* queue.claim({ kind, limit: 100, now, lease_until, token })
      if (some.length === 0) break
      all.push(...some)
    }
  }
  return all.filter((claimed) => claimed.organization_id === organization_id)
})

const newWork = (lane: string, kind: WorkKind = "send") =>
  Effect.map(Fixtures.uuid, (ref) => ({ kind, lane, ref, due_at: Fixtures.noon }))

/** A claimed item in a lane of its own. */
const claimed = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const work = yield* newWork(yield* Fixtures.uuid)
  yield* Fixtures.write(organization_id, Changes.enqueue(work))
  const [one] = yield* claim(organization_id)
  return one ?? assert.fail("The item was not given out.")
})

const conflicts = (count: number) => [...Array<string>(count).fill("Conflict"), "committed"]

const wholeOrNothing = (it: It) => {
  it.effect("applies every part, or nothing of it when one version has moved", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      const webhook = yield* Fixtures.webhook(ours)
      const [row, tag] = [yield* Fixtures.send(on), yield* newTag("vip")]
      const file = yield* Fixtures.uuid
      const { identity_id } = on
      const changesAt = (version: number, event: Changes.RaisedEvent) => [
        ContactRows.update({ id: on.contact_id, version: 1 }, { company: "Brick" }),
        ConversationRows.update({ id: on.conversation_id, version }, { status: "closed", closed_at: after(1) }),
        SendRows.insert(row),
        TagRows.insert(tag),
        Changes.aliases({ channel_type: "phone_messaging", name: `alias ${file}`, identity_id }),
        activity(on),
        Changes.raise(event),
        Changes.enqueue({ kind: "send", lane: on.conversation_id, ref: row.id, due_at: Fixtures.noon }),
        { remember: record }
      ]
      const before = [yield* contactOf(ours, on), yield* conversationOf(ours, on)]
      assert.strictEqual(yield* outcome(ours, ...changesAt(9, yield* Fixtures.event())), "Conflict")
      assert.deepStrictEqual([yield* contactOf(ours, on), yield* conversationOf(ours, on)], before)
      assert.deepStrictEqual(yield* tagNames(ours), [])
      assert.deepStrictEqual(yield* SendStore.use((store) => store.find(ours, row.id)), Option.none())
      assert.deepStrictEqual(yield* findRecord(ours), Option.none())
      assert.deepStrictEqual(yield* deliveriesOf(ours, webhook), [])
      assert.deepStrictEqual(yield* claim(ours), [])
      const names = ContactStore.use((store) => store.identify(ours, "phone_messaging", [`alias ${file}`]))
      assert.deepStrictEqual(yield* names, [])

      assert.strictEqual(yield* outcome(ours, ...changesAt(1, yield* Fixtures.event())), "committed")
      assert.deepInclude(yield* contactOf(ours, on), {
        company: "Brick",
        version: 2,
        last_activity_at: after(1),
        updated_at: after(1)
      })
      assert.deepInclude(yield* conversationOf(ours, on), {
        status: "closed",
        closed_at: after(1),
        version: 2,
        contact_version: 2,
        last_activity_at: after(1),
        last_activity_preview: "x"
      })
      assert.deepStrictEqual(yield* tagNames(ours), ["vip"])
      assert.isTrue(Option.isSome(yield* findRecord(ours)))
      assert.lengthOf(yield* names, 1)
      assert.lengthOf(yield* deliveriesOf(ours, webhook), 1)
      assert.deepStrictEqual((yield* claim(ours)).map(({ kind }) => kind).toSorted(), ["send", "webhook_delivery"])
    }))

  it.effect("shows others all or none of a commit", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const tags = yield* Effect.forEach(Array.from({ length: 20 }, (_, index) => `${index}`), newTag)
      const look = Effect.replicateEffect(Effect.andThen(Effect.yieldNow, tagNames(ours)), 5)
      const [, ...seen] = yield* Effect.all(
        [Fixtures.write(ours, ...tags.map(TagRows.insert)), ...Array.from({ length: 6 }, () => look)],
        { concurrency: "unbounded" }
      )
      for (const names of seen.flat()) assert.include([0, 20], names?.length)
    }))
}

const versions = (it: It, { runs }: Options) => {
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
      yield* Fixtures.write(ours, ContactRows.update(before, set))
      const first = yield* contactOf(ours, { contact_id: id })
      assert.deepStrictEqual(first, { ...before, ...set, version: 2 })
      yield* Fixtures.write(ours, ContactRows.update(first, { tags: [b], city: null }))
      const second = yield* contactOf(ours, { contact_id: id })
      assert.deepStrictEqual(second, { ...first, tags: [b], city: null, version: 3 })
      yield* Fixtures.write(ours, ContactRows.update(second, { tags: [] }))
      assert.deepStrictEqual(yield* contactOf(ours, { contact_id: id }), { ...second, tags: [], version: 4 })
    }), { arbitrary: { runs } })

  it.effect("moves the version of a row of which nothing is set", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const row = { id: ours, version: 1 }
      assert.strictEqual(yield* outcome(ours, OrganizationRows.update(row, {})), "committed")
      assert.strictEqual(yield* outcome(ours, OrganizationRows.update(row, {})), "Conflict")
      assert.strictEqual(yield* outcome(ours, OrganizationRows.expect({ ...row, version: 2 })), "committed")
    }))

  it.effect("refuses a row that is at another version, vanished or never was", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      const tag = yield* Fixtures.tag(ours, "a")
      yield* Fixtures.write(ours, TagRows.remove(tag))
      const [send, message] = [yield* Fixtures.send(on), yield* Fixtures.message(on.conversation_id)]
      const contact = { id: on.contact_id }
      for (const version of [0, 2, 9]) {
        assert.strictEqual(yield* outcome(ours, ContactRows.update({ ...contact, version }, { city: "x" })), "Conflict")
        assert.strictEqual(yield* outcome(ours, ContactRows.expect({ ...contact, version })), "Conflict")
      }
      for (
        const changes of [
          TagRows.update({ id: tag.id, version: 1 }, { color: "blue" }),
          TagRows.expect({ id: tag.id, version: 1 }),
          SendRows.update({ ...send, version: 1 }, { status: "sending" }),
          MessageRows.update({ ...message, version: 1 }, { text: "x" }),
          ProviderMessageRows.update(
            { channel_id: on.channel.id, provider_message_id: "p", version: 1 },
            { early_updates: [] }
          )
        ]
      ) {
        assert.strictEqual(yield* outcome(ours, changes), "Conflict")
      }
      assert.strictEqual((yield* contactOf(ours, on)).version, 1)
    }))

  it.effect("holds to rows that are expected and not written", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      const { id } = yield* Fixtures.member(ours)
      const assign = (version: number) => [
        MemberRows.expect({ id, version }),
        ConversationRows.update({ id: on.conversation_id, version: 1 }, { assigned_user_id: id })
      ]
      yield* Fixtures.write(ours, MemberRows.update({ id, version: 1 }, { left_at: after(1) }))
      assert.strictEqual(yield* outcome(ours, ...assign(1)), "Conflict")
      assert.isNull((yield* conversationOf(ours, on)).assigned_user_id)
      assert.strictEqual(yield* outcome(ours, ...assign(2)), "committed")
      const member = yield* MemberStore.use((store) => store.find(ours, id))
      assert.strictEqual(Option.getOrThrow(member).version, 2)
    }))

  it.effect("lets no two commits through of which each expects what the other writes", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      for (let round = 0; round < 10; round++) {
        const [one, other] = [yield* Fixtures.contact(ours), yield* Fixtures.contact(ours)]
        const [a, b] = [{ id: one.id, version: 1 }, { id: other.id, version: 1 }]
        const outcomes = yield* Effect.all([
          outcome(ours, ContactRows.expect(a), ContactRows.update(b, { city: "x" })),
          outcome(ours, ContactRows.expect(b), ContactRows.update(a, { city: "y" }))
        ], { concurrency: "unbounded" })
        assert.include(outcomes, "Conflict")
      }
    }))

  it.effect("lets one of ten concurrent commits on one version through, whatever else they write", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      const rows = [
        ContactRows.update({ id: on.contact_id, version: 1 }, { city: "Rome" }),
        ConversationRows.update({ id: on.conversation_id, version: 1 }, { agent_id: null })
      ]
      const outcomes = yield* Effect.all(
        Array.from(
          { length: 10 },
          (_, index) =>
            Effect.flatMap(
              newTag(`${index}`),
              (tag) => outcome(ours, TagRows.insert(tag), ...(index % 2 === 0 ? rows : rows.toReversed()))
            )
        ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes.toSorted(), conflicts(9))
      assert.lengthOf(yield* tagNames(ours), 1)
      assert.strictEqual((yield* contactOf(ours, on)).version, 2)
    }))

  it.effect("never moves a contact's updated_at backwards", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours, { updated_at: after(5) })
      yield* Fixtures.write(ours, ContactRows.update({ id, version: 1 }, { city: "Rome", updated_at: after(3) }))
      assert.deepInclude(yield* contactOf(ours, { contact_id: id }), { city: "Rome", updated_at: after(5) })
      yield* Fixtures.write(ours, ContactRows.update({ id, version: 2 }, { updated_at: after(7) }))
      assert.deepStrictEqual((yield* contactOf(ours, { contact_id: id })).updated_at, after(7))
    }))

  it.effect("takes two updates of one row for a defect, and applies neither", () =>
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

const keys = (it: It) => {
  it.effect("refuses a key that another row has", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      const { contact_id, conversation_id, identity_id } = on
      const tag = { ...yield* newTag("a"), name_key: "a" }
      const member = toColumns(yield* Fixtures.member(ours))
      const channel = yield* Fixtures.channel(ours)
      const field = {
        id: ContactFieldId.make(yield* Fixtures.uuid),
        key: "plan",
        name: "Plan",
        type: "text",
        options: null,
        created_at: Fixtures.noon
      } as const
      const name = { channel_type: "phone_messaging", name: "k", identity_id } as const
      const named = {
        channel_id: channel.id,
        provider_message_id: "p",
        conversation_id: null,
        message_id: null,
        early_updates: [],
        created_at: Fixtures.noon
      }
      yield* Fixtures.write(
        ours,
        TagRows.insert(tag),
        ContactFieldRows.insert(field),
        IdentityNameRows.insert(name),
        ProviderMessageRows.insert(named)
      )
      const [first, second, third, fourth] = [
        yield* Fixtures.uuid,
        yield* Fixtures.uuid,
        yield* Fixtures.uuid,
        yield* Fixtures.uuid
      ]
      const conversation = open(on.channel, { contact_id, identity_id }, null, yield* Fixtures.fresh)
      const contact = yield* Fixtures.stranger
      const taken: Readonly<Record<string, Changes.Changes>> = {
        "a tag's id": TagRows.insert({ ...tag, name: "b", name_key: "b" }),
        "a tag's name": TagRows.insert({ ...tag, id: TagId.make(first) }),
        "a member's id": MemberRows.insert({ ...member, email_key: "other" }),
        "a member's address": MemberRows.insert({ ...member, id: MemberId.make(second) }),
        "a channel's id": ChannelRows.insert({ ...channel, address: "other" }),
        "a channel's address": ChannelRows.insert({ ...channel, id: ChannelId.make(third) }),
        "a contact field's id": ContactFieldRows.insert({ ...field, key: "other" }),
        "a contact field's key": ContactFieldRows.insert({ ...field, id: ContactFieldId.make(fourth) }),
        "a name of an identity": IdentityNameRows.insert(name),
        "a channel and identity": conversation.changes,
        "a provider's message id": ProviderMessageRows.insert(named),
        "a contact's id": insertContact({ ...contact, id: contact_id })
      }
      for (const [what, changes] of Object.entries(taken)) {
        const beside = { ...yield* newTag("beside"), name_key: "beside" }
        assert.strictEqual(yield* outcome(ours, TagRows.insert(beside), changes), "Conflict", what)
      }
      assert.deepStrictEqual(yield* tagNames(ours), ["a"])
      assert.strictEqual((yield* conversationOf(ours, { conversation_id })).version, 1)
    }))

  it.effect("refuses an update that gives a row another one's key", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      yield* Fixtures.tag(ours, "a")
      const other = yield* Fixtures.tag(ours, "b")
      const [one, left] = [yield* Fixtures.member(ours), yield* Fixtures.member(ours)]
      yield* Fixtures.write(
        ours,
        MemberRows.update({ id: left.id, version: 1 }, { left_at: after(1), email_key: toColumns(one).email_key })
      )
      for (
        const changes of [
          TagRows.update({ id: other.id, version: 1 }, { name_key: "a" }),
          MemberRows.update({ id: left.id, version: 2 }, { left_at: null })
        ]
      ) {
        assert.strictEqual(yield* outcome(ours, changes), "Conflict")
      }
      assert.strictEqual(
        yield* outcome(ours, TagRows.update({ id: other.id, version: 1 }, { name_key: "c" })),
        "committed"
      )
    }))

  it.effect("refuses the identity of a person whose name appeared meanwhile", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const findOrCreate = Effect.gen(function*() {
        const [contact, id] = [yield* Fixtures.stranger, IdentityId.make(yield* Fixtures.uuid)]
        const identity = {
          id,
          channel_type: "phone_messaging",
          external_id: "+49",
          display_name: null,
          username: null
        } as const
        return yield* outcome(
          ours,
          insertContact({ ...contact, identities: [identity] }),
          IdentityRows.insert({ ...identity, contact_id: contact.id }),
          IdentityNameRows.insert({ channel_type: "phone_messaging", name: "+49", identity_id: id })
        )
      })
      const outcomes = yield* Effect.all(Array.from({ length: 8 }, () => findOrCreate), { concurrency: "unbounded" })
      assert.deepStrictEqual(outcomes.toSorted(), conflicts(7))
      assert.lengthOf(yield* store.list(ours, Fixtures.everyone, { after: null, size: 9 }), 1)
      assert.lengthOf(yield* store.identify(ours, "phone_messaging", ["+49"]), 1)
    }))

  it.effect("adds an alias unless the name has an owner", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const [one, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      const channel_type = "phone_messaging"
      const alias = (name: string, { identity_id }: typeof one) => Changes.aliases({ channel_type, name, identity_id })
      yield* Fixtures.write(ours, alias("a", one), alias("b", one))
      const again = [alias("a", other), alias("b", one), alias("c", other)]
      assert.strictEqual(yield* outcome(ours, ...again), "committed")
      const owners = Effect.fnUntraced(function*(...names: ReadonlyArray<string>) {
        return (yield* store.identify(ours, channel_type, names)).map(({ identity }) => identity.id)
      })
      assert.deepStrictEqual(yield* owners("a", "b", "c"), [one.identity_id, one.identity_id, other.identity_id])
      assert.strictEqual((yield* contactOf(ours, one)).version, 1)
      const outcomes = yield* Effect.all(
        Array.from({ length: 10 }, (_, index) => outcome(ours, alias("d", index % 2 === 0 ? one : other))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(outcomes), new Set(["committed"]))
      assert.lengthOf(yield* owners("d"), 1)
    }))

  it.effect("removes rows, whose keys are free again", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      const { identity_id } = on
      const name = { channel_type: "phone_messaging", name: "former", identity_id } as const
      yield* Fixtures.write(ours, IdentityNameRows.insert(name))
      const moved = [IdentityNameRows.remove(name), IdentityNameRows.insert({ ...name, name: "now" })]
      assert.strictEqual(yield* outcome(ours, ...moved), "committed")
      const known = Effect.map(
        ContactStore.use((store) => store.identify(ours, "phone_messaging", ["former", "now"])),
        (all) => all.map(({ name }) => name)
      )
      assert.deepStrictEqual(yield* known, ["now"])
      // It is deleted already: nothing changes, and the commit is not refused.
      const tag = yield* newTag("a")
      assert.strictEqual(yield* outcome(ours, IdentityNameRows.remove(name), TagRows.insert(tag)), "committed")
      assert.deepStrictEqual([yield* known, yield* tagNames(ours)], [["now"], ["a"]])
      assert.strictEqual(yield* outcome(ours, IdentityNameRows.insert(name)), "committed")
      assert.deepStrictEqual(yield* known, ["former", "now"])
    }))
}

const activities = Arbitrary.array(
  Arbitrary.all({
    at: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))),
    inbound: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: -5, maximum: 20 }))),
    preview: hardText({ min: 1, max: 20 }),
    place: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 })))
  }),
  { minLength: 1, maxLength: 6 }
)

const touches = (it: It, { runs }: Options) => {
  it.effect.prop(
    "ends in the same conversation and contact in any order of activities",
    { activities },
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
            const on = yield* Fixtures.thread(ours)
            for (const { at, inbound, preview } of order) {
              const last_inbound_at = inbound < 0 ? null : after(inbound)
              yield* Fixtures.write(ours, activity(on, { at: after(at), preview, last_inbound_at }))
            }
            const { version, last_conversation_id, ...contact } = yield* contactOf(ours, on)
            const conversation = yield* conversationOf(ours, on)
            assert.strictEqual(last_conversation_id, on.conversation_id)
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
        const [at, preview] = [after(latest?.at ?? 0), latest?.preview ?? null]
        const expected = {
          contact: [at, preview, at],
          conversation: [at, preview, inbounds.length === 0 ? null : after(Math.max(...inbounds))]
        }
        assert.deepStrictEqual(ends, [expected, expected, expected])
      }),
    { arbitrary: { runs } }
  )

  it.effect("replaces the preview of an activity at the very time of the last", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      for (const preview of ["first", "edited"]) yield* Fixtures.write(ours, activity(on, { preview }))
      yield* Fixtures.write(ours, activity(on, { at: after(0), preview: "older" }))
      assert.strictEqual((yield* conversationOf(ours, on)).last_activity_preview, "edited")
      assert.strictEqual((yield* contactOf(ours, on)).last_activity_preview, "edited")
    }))

  it.effect("lets any number of activities of one thread through at once, beside an update", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      const all = Array.from(
        { length: 10 },
        (_, index) => outcome(ours, activity(on, { at: after(index), preview: `${index}` }))
      )
      const update = outcome(ours, ContactRows.update({ id: on.contact_id, version: 1 }, { city: "Rome" }))
      const outcomes = yield* Effect.all([...all, update], { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(outcomes), new Set(["committed"]))
      assert.deepInclude(yield* contactOf(ours, on), {
        city: "Rome",
        version: 2,
        last_activity_at: after(9),
        last_activity_preview: "9",
        last_conversation_id: on.conversation_id
      })
      assert.strictEqual((yield* conversationOf(ours, on)).last_activity_preview, "9")
    }))

  it.effect("applies an update and an activity of one row", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      yield* Fixtures.write(
        ours,
        ContactRows.update({ id: on.contact_id, version: 1 }, { city: "Rome", updated_at: after(1) }),
        ConversationRows.update({ id: on.conversation_id, version: 1 }, { status: "closed", closed_at: after(3) }),
        activity(on, { at: after(5), preview: "Hello", last_inbound_at: after(4) })
      )
      assert.deepInclude(yield* contactOf(ours, on), {
        city: "Rome",
        version: 2,
        updated_at: after(5),
        last_activity_at: after(5),
        last_activity_preview: "Hello",
        last_conversation_id: on.conversation_id
      })
      assert.deepInclude(yield* conversationOf(ours, on), {
        status: "closed",
        version: 2,
        last_activity_at: after(5),
        last_activity_preview: "Hello",
        last_inbound_at: after(4)
      })
    }))

  it.effect("applies an insert and an activity of one row", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const channel = yield* Fixtures.channel(ours)
      const contact = yield* Fixtures.stranger
      const identity = {
        id: IdentityId.make(yield* Fixtures.uuid),
        channel_type: channel.type,
        external_id: "kim",
        display_name: null,
        username: null
      }
      const who = { contact_id: contact.id, identity_id: identity.id }
      const conversation = open(channel, who, null, yield* Fixtures.fresh)
      const on = { contact_id: contact.id, conversation_id: conversation.answer }
      yield* Fixtures.write(
        ours,
        insertContact({ ...contact, identities: [identity] }),
        IdentityRows.insert({ ...identity, contact_id: contact.id }),
        IdentityNameRows.insert({ channel_type: channel.type, name: "kim", identity_id: identity.id }),
        conversation.changes,
        activity(on, { at: Fixtures.noon, preview: "Hello", last_inbound_at: after(-4) })
      )
      assert.deepInclude(yield* contactOf(ours, on), {
        version: 1,
        updated_at: Fixtures.noon,
        last_activity_at: Fixtures.noon,
        last_activity_preview: "Hello",
        last_conversation_id: on.conversation_id
      })
      assert.deepInclude(yield* conversationOf(ours, on), {
        version: 1,
        last_activity_at: Fixtures.noon,
        last_activity_preview: "Hello",
        last_inbound_at: after(-4)
      })
    }))
}

const events = (it: It, { runs }: Options) => {
  it.effect.prop("keeps an event that active webhooks subscribe to, with a delivery and its work for each", {
    body: hardText({ min: 1, max: 60 })
  }, ({ body }) =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const ours = yield* Fixtures.organization
      const webhooks = [yield* Fixtures.webhook(ours), yield* Fixtures.webhook(ours)]
      const none = [
        yield* Fixtures.webhook(ours, { event_types: ["conversation.closed"] }),
        yield* Fixtures.webhook(ours, { status: "disabled", disabled_at: after(1) }),
        yield* Fixtures.webhook(yield* Fixtures.organization)
      ]
      const event = yield* Fixtures.event({ body, created_at: after(3) })
      yield* Fixtures.write(ours, Changes.raise(event))
      for (const { id: webhook_id } of webhooks) {
        const delivery = {
          id: Changes.deliveryIdOf(event.id, webhook_id),
          webhook_id,
          event_id: event.id,
          event_type: "message.sent" as const,
          status: "pending" as const,
          attempt_count: 0,
          response_status: null,
          response_body: null,
          failure_code: null,
          duration_ms: null,
          last_attempt_at: null,
          next_attempt_at: after(3),
          created_at: after(3)
        }
        assert.deepStrictEqual(yield* store.list(ours, webhook_id, 9), [delivery])
        const loaded = Option.getOrThrow(yield* store.load(ours, delivery.id))
        assert.strictEqual(loaded.body, body)
        assert.deepStrictEqual(loaded.delivery, { ...delivery, version: 1 })
      }
      for (const { id } of none) {
        assert.deepStrictEqual(yield* store.list(ours, id, 9), [])
        const delivery = yield* store.load(ours, Changes.deliveryIdOf(event.id, id))
        assert.deepStrictEqual(delivery, Option.none())
      }
      assert.deepStrictEqual(yield* claim(ours, after(2)), [])
      const works = (yield* claim(ours, after(3))).map(({ kind, lane, ref }) => ({ kind, lane, ref }))
      const expected = webhooks.map(({ id }) => ({
        kind: "webhook_delivery" as const,
        lane: id,
        ref: Changes.deliveryIdOf(event.id, id)
      }))
      const byLane = (a: { readonly lane: string }, b: { readonly lane: string }) => a.lane < b.lane ? -1 : 1
      assert.deepStrictEqual(works.toSorted(byLane), expected.toSorted(byLane))
    }), { arbitrary: { runs } })

  it.effect("keeps each of several events of a commit, and none without a subscriber", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      while ((yield* store.purge(after(100), 1000)) > 0) continue
      const ours = yield* Fixtures.organization
      const webhook = yield* Fixtures.webhook(ours)
      const event = Fixtures.event()
      const [sent, failed] = [yield* event, { ...yield* event, type: "send.failed" }]
      const closed = { ...yield* event, type: "conversation.closed" }
      yield* Fixtures.write(ours, ...[sent, closed, failed].map(Changes.raise))
      const types = (yield* deliveriesOf(ours, webhook)).map(({ event_type }) => event_type)
      assert.deepStrictEqual(types.toSorted(), ["message.sent", "send.failed"])
      assert.strictEqual(yield* store.purge(after(100), 1000), 2)
    }))

  it.effect("abandons pending deliveries of one webhook, the newest first, but not one that is updated beside it", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const theirs = yield* Fixtures.organization
      const [gone, other] = [yield* Fixtures.webhook(ours), yield* Fixtures.webhook(ours)]
      const events = yield* Effect.forEach([0, 1, 2, 3], (millis) => Fixtures.event({ created_at: after(millis) }))
      yield* Fixtures.write(ours, ...events.map(Changes.raise))
      const before = yield* deliveriesOf(ours, gone)
      const [newest, newer, older, oldest] = before
      if (newest === undefined || newer === undefined || older === undefined || oldest === undefined) {
        return assert.fail("Deliveries are missing.")
      }
      const abandon = (limit: number): Changes.Changes => ({ abandon: [{ webhook_id: gone.id, limit }] })
      yield* Fixtures.write(theirs, abandon(9))
      assert.deepStrictEqual(yield* deliveriesOf(ours, gone), before)
      const answered = State.attempt(newest, {
        at: after(5),
        duration_ms: 12,
        response_status: 410,
        response_body: "gone",
        failure_code: "http_status"
      }, null)
      yield* Fixtures.write(
        ours,
        WebhookRows.update({ id: gone.id, version: 1 }, { status: "disabled", disabled_at: after(5) }),
        WebhookDeliveryRows.update({ id: newest.id, version: 1 }, answered),
        abandon(1)
      )
      const ended = State.abandon("webhook_disabled")
      assert.deepStrictEqual(yield* deliveriesOf(ours, gone), [
        { ...newest, ...answered },
        { ...newer, ...ended },
        older,
        oldest
      ])
      yield* Fixtures.write(ours, abandon(9))
      assert.deepStrictEqual(yield* deliveriesOf(ours, gone), [
        { ...newest, ...answered },
        ...[newer, older, oldest].map((delivery) => ({ ...delivery, ...ended }))
      ])
      assert.isTrue((yield* deliveriesOf(ours, other)).every(({ status }) => status === "pending"))
      const stale = WebhookDeliveryRows.update({ id: older.id, version: 1 }, State.retry(after(9)))
      assert.strictEqual(yield* outcome(ours, stale), "Conflict")
    }))
}

const works = (it: It) => {
  it.effect("gives a fifo lane's items out in the order of their insertion, of one commit and of several", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue
      const ours = yield* Fixtures.organization
      const lane = yield* Fixtures.uuid
      const items = yield* Effect.replicateEffect(newWork(lane), 7)
      yield* Fixtures.write(ours, ...items.slice(0, 3).map(Changes.enqueue))
      // A later item may be due earlier. It still queues behind the first.
      yield* Fixtures.write(ours, ...items.slice(3, 6).map((work) => Changes.enqueue({ ...work, due_at: after(-9) })))
      yield* Fixtures.write(ours, ...items.slice(6).map(Changes.enqueue))
      const given: Array<string> = []
      for (const _ of items) {
        const out = yield* claim(ours)
        assert.lengthOf(out, 1)
        given.push(...out.map(({ ref }) => ref))
        yield* Effect.forEach(out, queue.finish)
      }
      assert.deepStrictEqual(given, items.map(({ ref }) => ref))
    }))

  it.effect("ignores a second item of a kind for one ref", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const work = yield* newWork(yield* Fixtures.uuid)
      const tag = yield* newTag("a")
      yield* Fixtures.write(ours, Changes.enqueue({ ...work, due_at: after(5) }), Changes.enqueue(work))
      assert.strictEqual(yield* outcome(ours, Changes.enqueue(work), TagRows.insert(tag)), "committed")
      assert.deepStrictEqual(yield* claim(ours, after(4)), [])
      assert.lengthOf(yield* claim(ours, after(5)), 1)
      assert.deepStrictEqual(yield* tagNames(ours), ["a"])
    }))

  it.effect("keeps the trace that it runs in on the work, and on that of deliveries", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      yield* Fixtures.webhook(ours)
      const event = yield* Fixtures.event()
      const work = yield* newWork(yield* Fixtures.uuid)
      const trace = yield* Effect.gen(function*() {
        yield* Fixtures.write(ours, Changes.enqueue(work), Changes.raise(event))
        return yield* Traces.current
      }).pipe(Effect.withSpan("Anything"))
      assert.match(trace ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      assert.deepStrictEqual((yield* claim(ours)).map((claimed) => claimed.trace), [trace, trace])
    }))

  it.effect("throttles a lane, and lets it go again", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [kind, lane] = ["webhook_delivery" as const, yield* Fixtures.uuid]
      const items = yield* Effect.replicateEffect(newWork(lane, kind), 4)
      yield* Fixtures.write(
        ours,
        ...items.map(Changes.enqueue),
        Changes.throttle({ kind, lane, until: after(5), cap: 1 })
      )
      assert.lengthOf(yield* claim(ours, after(4)), 0)
      assert.lengthOf(yield* claim(ours, after(5)), 1)
      yield* Fixtures.write(ours, Changes.throttle({ kind, lane, until: null, cap: 8 }))
      assert.lengthOf(yield* claim(ours, after(5)), 3)
    }))

  it.effect("settles the work that it carries out", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [held, finished, postponed, ended] = [
        yield* claimed(ours),
        yield* claimed(ours),
        yield* claimed(ours),
        yield* claimed(ours)
      ]
      for (
        const settlement of [
          { claimed: held, outcome: "hold" },
          { claimed: finished, outcome: "finish" },
          { claimed: postponed, outcome: "postpone", due_at: after(50) },
          { claimed: ended, outcome: "finish_if_held" }
        ] as const
      ) {
        const tag = yield* newTag(settlement.outcome)
        assert.strictEqual(yield* outcome(ours, Changes.settle(settlement), TagRows.insert(tag)), "committed")
      }
      assert.deepStrictEqual(yield* tagNames(ours), ["finish", "finish_if_held", "hold", "postpone"])
      assert.deepStrictEqual(yield* claim(ours, after(49)), [])
      assert.deepStrictEqual((yield* claim(ours, after(50))).map(({ ref }) => ref), [postponed.ref])
      const queue = yield* WorkQueue
      assert.isTrue(yield* queue.finish(held))
      assert.isFalse(yield* queue.finish(finished))
      assert.isFalse(yield* queue.finish(ended))
    }))

  it.effect("undoes what comes with the settlement of a claim that was taken away, unless it may be", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue
      const ours = yield* Fixtures.organization
      const stale = yield* claimed(ours)
      yield* queue.sweep(after(60_009))
      const [held] = yield* claim(ours, after(60_009))
      assert.strictEqual(held?.ref, stale.ref)
      const tag = yield* newTag("a")
      for (
        const settlement of [
          { claimed: stale, outcome: "hold" },
          { claimed: stale, outcome: "finish" },
          { claimed: stale, outcome: "postpone", due_at: after(0) }
        ] as const
      ) {
        assert.strictEqual(yield* outcome(ours, Changes.settle(settlement), TagRows.insert(tag)), "LeaseLost")
      }
      assert.deepStrictEqual(yield* tagNames(ours), [])
      const recorded = Changes.settle({ claimed: stale, outcome: "finish_if_held" })
      assert.strictEqual(yield* outcome(ours, recorded, TagRows.insert(tag)), "committed")
      assert.deepStrictEqual(yield* tagNames(ours), ["a"])
      assert.deepStrictEqual(yield* claim(ours, after(60_009)), [])
      if (held !== undefined) assert.isTrue(yield* queue.finish(held))
    }))

  it.effect("keeps the item of a claim whose commit conflicts", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue
      const ours = yield* Fixtures.organization
      const one = yield* claimed(ours)
      const next = yield* newWork(one.lane)
      const stale = OrganizationRows.expect({ id: ours, version: 9 })
      const settled = Changes.settle({ claimed: one, outcome: "finish" })
      assert.strictEqual(yield* outcome(ours, settled, Changes.enqueue(next), stale), "Conflict")
      assert.isTrue(yield* queue.finish(one))
      assert.deepStrictEqual(yield* claim(ours), [])
    }))
}

const records = (it: It, { runs }: Options) => {
  it.effect.prop(
    "keeps the record of an answer, to the byte",
    { body: bytes, created_at: moment },
    (fields) =>
      Effect.gen(function*() {
        const ours = yield* Fixtures.organization
        const { created_at: _created_at, key: _key, ...rest } = { ...record, ...fields, sealed: true }
        yield* Fixtures.write(ours, { remember: { ...record, ...fields, sealed: true } })
        const { body, ...found } = Option.getOrThrow(yield* findRecord(ours))
        assert.deepStrictEqual({ ...found, body: Array.from(body) }, { ...rest, body: Array.from(rest.body) })
      }),
    { arbitrary: { runs } }
  )

  it.effect("keeps one record of a key, and undoes what comes with a second, before any conflict", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const results = yield* Effect.all(
        Array.from({ length: 8 }, (_, index) =>
          outcome(
            ours,
            ContactRows.update({ id, version: 1 }, { city: `${index}` }),
            { remember: { ...record, status: 200 + index } }
          )),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.toSorted(), [...Array<string>(7).fill("KeyUsed"), "committed"])
      const { status } = Option.getOrThrow(yield* findRecord(ours))
      assert.deepInclude(yield* contactOf(ours, { contact_id: id }), { city: `${status - 200}`, version: 2 })
      const stale = ContactRows.update({ id, version: 1 }, { city: "x" })
      const taken = TagRows.insert(yield* newTag("a"))
      yield* Fixtures.write(ours, taken)
      assert.strictEqual(yield* outcome(ours, stale, { remember: record }), "KeyUsed")
      assert.strictEqual(yield* outcome(ours, taken, { remember: record }), "KeyUsed")
      const other = { ...record, key: "another-key" }
      assert.strictEqual(yield* outcome(ours, stale, { remember: other }), "Conflict")
      assert.strictEqual(yield* outcome(ours, { remember: other }), "committed")
    }))
}

/** Commits that a store may carry out in one step. */
const atOnce = (it: It) => {
  /** Commits of an organization by what becomes of them, three of each and more, and what shows it afterwards. */
  const mixture = Effect.fnUntraced(function*(ours: OrganizationId) {
    const queue = yield* WorkQueue
    const contacts = yield* Effect.replicateEffect(Fixtures.contact(ours), 12)
    const rename = (from: number, version: number) =>
      contacts.slice(from, from + 3).map(({ id }) => ContactRows.update({ id, version }, { city: "new" }))
    const settle = (one: ClaimedWork) => Changes.settle({ claimed: one, outcome: "finish" })
    const [taken, again] = [yield* newTag("taken"), yield* newTag("again")]
    yield* Fixtures.write(ours, TagRows.insert(taken), { remember: record })
    const lost = yield* claimed(ours)
    yield* queue.finish(lost)
    const held = yield* Effect.replicateEffect(claimed(ours), 4)
    const commits: Record<Effect.Success<ReturnType<typeof outcome>>, ReadonlyArray<Changes.Changes>> = {
      committed: [...rename(0, 1), ...held.map(settle), { remember: { ...record, key: "another-key" } }],
      Conflict: [...rename(3, 7), TagRows.insert({ ...again, name_key: taken.name_key })],
      KeyUsed: rename(6, 1).map((update) => Changes.all(update, { remember: record })),
      LeaseLost: rename(9, 1).map((update) => Changes.all(update, settle(lost)))
    }
    const shown = Effect.gen(function*() {
      const cities = yield* Effect.forEach(contacts, ({ id }) => contactOf(ours, { contact_id: id }))
      return {
        cities: cities.map(({ city }) => city),
        tags: yield* tagNames(ours),
        held: yield* Effect.forEach(held, queue.finish)
      }
    })
    return { ours, commits, shown }
  })

  it.effect("applies or refuses each of many commits at once as if it were alone", () =>
    Effect.gen(function*() {
      const mixtures = [
        yield* Effect.flatMap(Fixtures.organization, mixture),
        yield* Effect.flatMap(Fixtures.organization, mixture)
      ]
      const all = mixtures.flatMap(({ commits, ours }) =>
        Object.entries(commits).flatMap(([name, some]) => some.map((changes) => ({ name, changes, ours })))
      )
      const outcomes = yield* Effect.forEach(all, ({ changes, ours }) => outcome(ours, changes), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes, all.map(({ name }) => name))
      for (const { shown } of mixtures) {
        assert.deepStrictEqual(yield* shown, {
          cities: [...Array<string | null>(3).fill("new"), ...Array<string | null>(9).fill(null)],
          tags: ["taken"],
          held: [false, false, false, false]
        })
      }
    }))

  it.effect("is not kept from committing by another one that is a defect", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.replicateEffect(Fixtures.contact(ours), 5)
      const twice = ({ id }: (typeof contacts)[number]) => {
        const update = ContactRows.update({ id, version: 1 }, { city: "new" })
        return Changes.all(update, update)
      }
      const exits = yield* Effect.forEach(
        contacts,
        (contact, index) =>
          Effect.exit(outcome(
            ours,
            index === 2 ? twice(contact) : ContactRows.update({ id: contact.id, version: 1 }, { city: "new" })
          )),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true, true])
      assert.isTrue(exits.slice(2, 3).every(Exit.hasDies))
    }))
}

const apart = (it: It) => {
  it.effect("reads and writes nothing of another organization", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const on = yield* Fixtures.thread(ours)
      const tag = yield* Fixtures.tag(ours, "a")
      const file: MediaFile = {
        id: MediaId.make(yield* Fixtures.uuid),
        mime_type: null,
        filename: null,
        bytes: Uint8Array.of(1)
      }
      yield* Fixtures.write(ours, MediaRows.insert(file), { remember: record })
      const webhook = yield* Fixtures.webhook(ours)
      const event = yield* Fixtures.event()
      yield* Fixtures.write(ours, Changes.raise(event))
      const state = Effect.gen(function*() {
        return [
          yield* contactOf(ours, on),
          yield* conversationOf(ours, on),
          yield* tagNames(ours),
          yield* deliveriesOf(ours, webhook),
          yield* WebhookStore.use((store) => store.find(ours, webhook.id)),
          Option.isSome(yield* MediaStore.use((store) => store.find(ours, file.id)))
        ]
      })
      const before = yield* state
      const conversation = { id: on.conversation_id, version: 1 }
      const delivery = { id: Changes.deliveryIdOf(event.id, webhook.id), version: 1 }
      for (
        const changes of [
          ContactRows.update({ id: on.contact_id, version: 1 }, { city: "x" }),
          ContactRows.expect({ id: on.contact_id, version: 1 }),
          ConversationRows.update(conversation, { status: "closed" }),
          TagRows.update({ id: tag.id, version: 1 }, { color: "blue" }),
          WebhookRows.update({ id: webhook.id, version: 1 }, { status: "disabled" }),
          WebhookDeliveryRows.update(delivery, { status: "failed" }),
          OrganizationRows.update({ id: ours, version: 1 }, {})
        ]
      ) {
        assert.strictEqual(yield* outcome(theirs, changes), "Conflict")
      }
      yield* Effect.exit(Fixtures.commit(theirs, activity(on)))
      yield* Fixtures.write(theirs, TagRows.remove(tag), MediaRows.remove(file))
      yield* Fixtures.write(theirs, { abandon: [{ webhook_id: webhook.id, limit: 9 }] })
      yield* Fixtures.write(theirs, Changes.raise({ ...event, id: EventId.make(yield* Fixtures.uuid) }))
      assert.deepStrictEqual(yield* state, before)
      const tagOfTheirs = { ...yield* newTag("a"), name_key: "a" }
      assert.strictEqual(
        yield* outcome(theirs, TagRows.insert(tagOfTheirs), { remember: record }),
        "committed"
      )
    }))
}

export const suite = (it: It, options: Options) => {
  wholeOrNothing(it)
  versions(it, options)
  keys(it)
  touches(it, options)
  events(it, options)
  works(it)
  records(it, options)
  atOnce(it)
  apart(it)
}
