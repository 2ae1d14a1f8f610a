/** Tests of the guarantees of `ConversationStore`. */
import { assert } from "@effect/vitest"
import { IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { ContactRows } from "@messaging-crm/core/Contacts"
import {
  type ConversationColumns,
  type ConversationFilters,
  type ConversationRow,
  ConversationRows,
  ConversationStore,
  everyConversation,
  newConversation
} from "@messaging-crm/core/Conversations"
import { ConversationId, type OrganizationId } from "@messaging-crm/core/Ids"
import type { Position } from "@messaging-crm/core/Page"
import { Arbitrary, Effect, Option } from "effect"
import { optionalHardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

type Thread = Pick<Fixtures.Thread, "channel" | "contact_id" | "identity_id">

/** A conversation of the same person on the same channel that is not stored yet. */
const newConversationOf = ({ channel, contact_id, identity_id }: Thread) =>
  Effect.map(
    Fixtures.uuid,
    (id) =>
      newConversation(
        { id: ConversationId.make(id), channel_id: channel.id, contact_id, identity_id },
        Fixtures.noon
      )
  )

const find = (organization_id: OrganizationId, id: ConversationId) =>
  ConversationStore.use((store) => Effect.map(store.find(organization_id, id), Option.getOrThrow))

/** Creates conversations whose last activities are these milliseconds after noon. */
const makeActiveConversations = (organization_id: OrganizationId, millis: ReadonlyArray<number>) =>
  Effect.forEach(
    millis,
    Effect.fnUntraced(function*(value) {
      const { contact_id, conversation_id } = yield* Fixtures.thread(organization_id)
      const activity = { conversation_id, contact_id, at: afterNoon(value), preview: "", last_inbound_at: null }
      yield* Fixtures.mustCommit(organization_id, { touch: { ...activity, conversation_version: null } })
      return yield* find(organization_id, conversation_id)
    })
  )

/** Lists the conversations that pass the filters, in pages of two. */
const listAll = (organization_id: OrganizationId, filters: Partial<ConversationFilters> = {}) =>
  ConversationStore.use((store) =>
    Fixtures.readAllPages(
      2,
      (after: Position | null) => store.list(organization_id, { ...everyConversation, ...filters }, { after, size: 2 }),
      ({ id, last_activity_at }) => ({ at: last_activity_at, id })
    )
  )

const name = optionalHardText({ min: 1, max: 100 })

const names = Arbitrary.all({ first_name: name, last_name: name, display_name: name, username: name })

/** A contact with this first and last name, and its identity on a channel, with this display name and username. */
const makeNamedContact = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  { display_name, first_name, last_name, username }: Pick<
    ConversationRow,
    "display_name" | "first_name" | "last_name" | "username"
  >
) {
  const channel = yield* Fixtures.channel(organization_id, "photo_social")
  const { id: contact_id } = yield* Fixtures.contact(organization_id, { first_name, last_name })
  const { external_id, id: identity_id } = yield* Fixtures.identity(organization_id, contact_id, {
    channel_type: channel.type,
    display_name,
    username
  })
  return { channel, contact_id, external_id, identity_id }
})

const inserts = (it: It, { runs }: Options) => {
  it.effect.prop("returns a conversation as it was inserted, with who the contact is", {
    names,
    preview: name
  }, ({ names, preview }) =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const ours = yield* Fixtures.organization
      const thread = yield* makeNamedContact(ours, names)
      const { id: assigned_user_id } = yield* Fixtures.member(ours)
      const columns: ConversationColumns = {
        ...yield* newConversationOf(thread),
        status: "closed",
        close_category: preview,
        assigned_user_id,
        agent_id: yield* Fixtures.uuid,
        opened_at: afterNoon(1),
        closed_at: afterNoon(2),
        last_activity_at: afterNoon(3),
        last_activity_preview: preview,
        last_inbound_at: afterNoon(4)
      }
      yield* Fixtures.mustCommit(ours, ConversationRows.insert(columns))
      const expected: ConversationRow = {
        ...columns,
        ...names,
        channel_type: thread.channel.type,
        external_id: thread.external_id,
        version: 1
      }
      assert.deepStrictEqual(yield* store.find(ours, columns.id), Option.some(expected))
      assert.deepStrictEqual(yield* store.list(ours, everyConversation, { after: null, size: 9 }), [expected])
    }), { arbitrary: { runs } })

  it.effect("accepts one of many concurrent conversations of a channel and an identity", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const ours = yield* Fixtures.organization
      const thread = { ...yield* Fixtures.thread(ours), channel: yield* Fixtures.channel(ours) }
      const open = Effect.flatMap(
        newConversationOf(thread),
        (row) => Fixtures.commitOutcome(ours, ConversationRows.insert(row))
      )
      const outcomes = yield* Effect.all(Array.from({ length: 12 }, () => open), { concurrency: "unbounded" })
      assert.deepStrictEqual(outcomes.toSorted(), Fixtures.oneCommitted(11))
      assert.lengthOf(yield* store.list(ours, everyConversation, { after: null, size: 9 }), 2)
    }))
}

const currentNames = (it: It, { runs }: Options) => {
  it.effect.prop(
    "returns a conversation with the contact's names and address as they are now",
    { names },
    ({ names }) =>
      Effect.gen(function*() {
        const ours = yield* Fixtures.organization
        const thread = yield* makeNamedContact(ours, names)
        const row = yield* newConversationOf(thread)
        yield* Fixtures.mustCommit(ours, ConversationRows.insert(row))
        const before = yield* find(ours, row.id)
        yield* Fixtures.mustCommit(
          ours,
          ContactRows.update({ id: thread.contact_id, version: 2 }, { first_name: "Kim", last_name: null }),
          IdentityRows.update({ id: thread.identity_id, version: 1 }, {
            external_id: "moved",
            display_name: "Kimberley"
          })
        )
        assert.deepStrictEqual(yield* find(ours, row.id), {
          ...before,
          first_name: "Kim",
          last_name: null,
          external_id: "moved",
          display_name: "Kimberley"
        })
      }),
    { arbitrary: { runs } }
  )
}

const lists = (it: It) => {
  it.effect("lists the latest activity first, in pages without gaps or duplicates", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const threads = yield* makeActiveConversations(ours, [1, 3, 2, 3, 0])
      const expected = Fixtures.newestFirst(threads, ({ last_activity_at }) => last_activity_at)
      assert.deepStrictEqual(yield* listAll(ours), expected)
    }))

  it.effect("lists what passes every filter", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id: assigned_user_id } = yield* Fixtures.member(ours)
      const [first, second] = yield* makeActiveConversations(ours, [1, 3, 2, 3, 0])
      if (first === undefined || second === undefined) return assert.fail("Fewer than two conversations were made.")
      const listed = (filters: Partial<ConversationFilters>) =>
        Effect.map(listAll(ours, filters), (rows) => rows.map(({ id }) => id))
      const ids = yield* listed({})
      const closed = { status: "closed", closed_at: afterNoon(9) } as const
      yield* Fixtures.mustCommit(
        ours,
        ConversationRows.update(first, { ...closed, close_category: "resolved" }),
        ConversationRows.update(second, { ...closed, assigned_user_id })
      )
      assert.deepStrictEqual(yield* listed({}), ids)
      assert.deepStrictEqual(yield* listed({ status: "closed" }), [second.id, first.id])
      assert.deepStrictEqual(yield* listed({ status: "closed", assigned_user_id }), [second.id])
      assert.deepStrictEqual(yield* listed({ status: "open", assigned_user_id }), [])
      assert.lengthOf(yield* listed({ status: "open" }), 3)
      const { channel_id, contact_id } = second
      const unassigned = ids.filter((id) => id !== second.id)
      assert.deepStrictEqual(yield* listed({ unassigned: true }), unassigned)
      assert.deepStrictEqual(yield* listed({ unassigned: true, status: "closed" }), [first.id])
      assert.deepStrictEqual(yield* listed({ contact_id }), [second.id])
      assert.deepStrictEqual(yield* listed({ channel_id }), [second.id])
      const whole = { channel_id, assigned_user_id, contact_id, status: "closed" } as const
      assert.deepStrictEqual(yield* listed(whole), [second.id])
      assert.deepStrictEqual(yield* listed({ channel_id, unassigned: true }), [])
      assert.deepStrictEqual(yield* listed({ contact_id, status: "open" }), [])
    }))
}

const updates = (it: It) => {
  it.effect("returns a conversation as it was last updated", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id: assigned_user_id } = yield* Fixtures.member(ours)
      const { conversation_id } = yield* Fixtures.thread(ours)
      const before = yield* find(ours, conversation_id)
      const closed = { status: "closed", close_category: "spam", closed_at: afterNoon(7), assigned_user_id } as const
      yield* Fixtures.mustCommit(ours, ConversationRows.update(before, closed))
      const now = yield* find(ours, conversation_id)
      assert.deepStrictEqual(now, { ...before, ...closed, version: 2 })
      const reopened = { status: "open", close_category: null, closed_at: null, opened_at: afterNoon(9) } as const
      yield* Fixtures.mustCommit(ours, ConversationRows.update(now, reopened))
      assert.deepStrictEqual(yield* find(ours, conversation_id), { ...now, ...reopened, version: 3 })
    }))
}

const threads = (it: It) => {
  it.effect("finds the threads of network IDs on a channel, in the order of the IDs", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { channel, contact_id, conversation_id, identity_id } = yield* Fixtures.thread(ours)
      const { external_id } = yield* find(ours, conversation_id)
      const alone = yield* Fixtures.identity(ours, contact_id, { external_id: "alone" }, ["alias"])
      const network_ids = ["unknown", "alias", external_id, "alone"]
      const shown = Effect.fnUntraced(function*(on: Pick<typeof channel, "id" | "type">, organization_id = ours) {
        const identities = yield* store.identify(organization_id, on, network_ids)
        return identities.map(({ contact, conversation, identity, network_id }) => [
          network_id,
          identity.id,
          contact.id,
          contact.version,
          conversation === null ? null : [conversation.id, conversation.status, conversation.version]
        ])
      })
      const aliased = ["alias", alone.id, contact_id, 2, null]
      const last = ["alone", alone.id, contact_id, 2, null]
      const owner = [external_id, identity_id, contact_id, 2]
      assert.deepStrictEqual(yield* shown(channel), [aliased, [...owner, [conversation_id, "open", 1]], last])
      const [, known] = yield* store.identify(ours, channel, network_ids)
      assert.deepStrictEqual(known?.conversation, yield* find(ours, conversation_id))
      yield* Fixtures.mustCommit(
        ours,
        ConversationRows.update({ id: conversation_id, version: 1 }, { status: "closed", closed_at: afterNoon(1) })
      )
      assert.deepStrictEqual(yield* shown(channel), [aliased, [...owner, [conversation_id, "closed", 2]], last])
      assert.deepStrictEqual(yield* shown(yield* Fixtures.channel(ours)), [aliased, [...owner, null], last])
      assert.deepStrictEqual(yield* shown(yield* Fixtures.channel(ours, "photo_social")), [])
      assert.deepStrictEqual(yield* shown(channel, theirs), [])
    }))
}

const separation = (it: It) => {
  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { conversation_id } = yield* Fixtures.thread(ours)
      const before = yield* find(ours, conversation_id)
      assert.deepStrictEqual(yield* store.find(theirs, conversation_id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs, everyConversation, { after: null, size: 9 }), [])
      const closed = ConversationRows.update(before, { status: "closed", closed_at: afterNoon(1) })
      assert.strictEqual(yield* Fixtures.commitOutcome(theirs, closed), "Conflict")
      assert.deepStrictEqual(yield* find(ours, conversation_id), before)
    }))
}

export const portTests = (it: It, options: Options) => {
  inserts(it, options)
  currentNames(it, options)
  lists(it)
  updates(it)
  threads(it)
  separation(it)
}
