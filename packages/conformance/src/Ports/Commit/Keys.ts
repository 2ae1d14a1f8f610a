/** Commits and unique keys. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ChannelRows } from "@messaging-crm/core/Channels"
import { ContactFieldRows } from "@messaging-crm/core/ContactFields"
import { IdentityNetworkIdRows, IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { ContactStore, insertContact, no_marketing_preference } from "@messaging-crm/core/Contacts"
import { open } from "@messaging-crm/core/Conversations"
import { ChannelId, ContactFieldId, IdentityId, MemberId, type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { MemberRows, toColumns } from "@messaging-crm/core/Members"
import { ProviderMessageRows } from "@messaging-crm/core/Messages"
import { TagRows } from "@messaging-crm/core/Tags"
import { Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, commitOutcome, type It } from "../../Fixtures.ts"
import { contactOf, conversationOf } from "./CommitScene.ts"

/** Stores a row of each table with a unique key, and returns the rows. */
const keysInUse = Effect.fnUntraced(function*(ours: OrganizationId) {
  const thread = yield* Fixtures.thread(ours)
  const { conversation_id, identity_id } = thread
  const tag = yield* Fixtures.newTag("a")
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
  yield* Fixtures.mustCommit(
    ours,
    TagRows.insert(tag),
    ContactFieldRows.insert(field),
    IdentityNetworkIdRows.insert(name),
    ProviderMessageRows.insert(named)
  )
  return { channel, conversation_id, field, member, name, named, thread, tag }
})

const insertedKeys = (it: It) => {
  it.effect("rejects a key that another row has", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { channel, conversation_id, field, member, name, named, thread, tag } = yield* keysInUse(ours)
      const conversation = open(thread.channel, thread, undefined, yield* Fixtures.decisionContext)
      const contact = yield* Fixtures.newContact
      const taken: Readonly<Record<string, Changes.Changes>> = {
        "a tag's id": TagRows.insert({ ...tag, name: "b", name_key: "b" }),
        "a tag's name": TagRows.insert({ ...tag, id: TagId.make(yield* Fixtures.uuid) }),
        "a member's id": MemberRows.insert({ ...member, email_key: "other" }),
        "a member's address": MemberRows.insert({ ...member, id: MemberId.make(yield* Fixtures.uuid) }),
        "a channel's id": ChannelRows.insert({ ...channel, address: "other" }),
        "a channel's address": ChannelRows.insert({ ...channel, id: ChannelId.make(yield* Fixtures.uuid) }),
        "a contact field's id": ContactFieldRows.insert({ ...field, key: "other" }),
        "a contact field's key": ContactFieldRows.insert({ ...field, id: ContactFieldId.make(yield* Fixtures.uuid) }),
        "a name of an identity": IdentityNetworkIdRows.insert(name),
        "a channel and identity": conversation.changes,
        "a provider's message id": ProviderMessageRows.insert(named),
        "a contact's id": insertContact({ ...contact, id: thread.contact_id })
      }
      for (const [what, changes] of Object.entries(taken)) {
        const another = yield* Fixtures.newTag("another")
        assert.strictEqual(yield* commitOutcome(ours, TagRows.insert(another), changes), "Conflict", what)
      }
      assert.deepStrictEqual(yield* Fixtures.tagNames(ours), ["a"])
      assert.strictEqual((yield* conversationOf(ours, { conversation_id })).version, 1)
    }))
}

const updatedKeys = (it: It) => {
  it.effect("rejects an update that gives a row another one's key", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      yield* Fixtures.tag(ours, "a")
      const other = yield* Fixtures.tag(ours, "b")
      const [one, left] = [yield* Fixtures.member(ours), yield* Fixtures.member(ours)]
      yield* Fixtures.mustCommit(
        ours,
        MemberRows.update({ id: left.id, version: 1 }, { left_at: afterNoon(1), email_key: toColumns(one).email_key })
      )
      for (
        const changes of [
          TagRows.update({ id: other.id, version: 1 }, { name_key: "a" }),
          MemberRows.update({ id: left.id, version: 2 }, { left_at: null })
        ]
      ) {
        assert.strictEqual(yield* commitOutcome(ours, changes), "Conflict")
      }
      assert.strictEqual(
        yield* commitOutcome(ours, TagRows.update({ id: other.id, version: 1 }, { name_key: "c" })),
        "committed"
      )
    }))
}

const identityNames = (it: It) => {
  it.effect("rejects the identity of a person whose name appeared meanwhile", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const findOrCreate = Effect.gen(function*() {
        const [contact, id] = [yield* Fixtures.newContact, IdentityId.make(yield* Fixtures.uuid)]
        const identity = {
          id,
          channel_type: "phone_messaging",
          external_id: "+49",
          display_name: null,
          username: null,
          ...no_marketing_preference
        } as const
        return yield* commitOutcome(
          ours,
          insertContact({ ...contact, identities: [identity] }),
          IdentityRows.insert({ ...identity, contact_id: contact.id }),
          IdentityNetworkIdRows.insert({ channel_type: "phone_messaging", name: "+49", identity_id: id })
        )
      })
      const outcomes = yield* Effect.all(Array.from({ length: 8 }, () => findOrCreate), { concurrency: "unbounded" })
      assert.deepStrictEqual(outcomes.toSorted(), Fixtures.oneCommitted(7))
      assert.lengthOf(yield* Fixtures.contacts(ours), 1)
      assert.lengthOf(yield* store.identify(ours, "phone_messaging", ["+49"]), 1)
    }))

  it.effect("adds an alias unless the name has an owner", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const [one, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      const channel_type = "phone_messaging"
      const alias = (name: string, { identity_id }: typeof one) => Changes.aliases({ channel_type, name, identity_id })
      yield* Fixtures.mustCommit(ours, alias("a", one), alias("b", one))
      const again = [alias("a", other), alias("b", one), alias("c", other)]
      assert.strictEqual(yield* commitOutcome(ours, ...again), "committed")
      const owners = Effect.fnUntraced(function*(...names: ReadonlyArray<string>) {
        return (yield* store.identify(ours, channel_type, names)).map(({ identity }) => identity.id)
      })
      assert.deepStrictEqual(yield* owners("a", "b", "c"), [one.identity_id, one.identity_id, other.identity_id])
      assert.strictEqual((yield* contactOf(ours, one)).version, 1)
      const outcomes = yield* Effect.all(
        Array.from({ length: 10 }, (_, index) => commitOutcome(ours, alias("d", index % 2 === 0 ? one : other))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(outcomes), new Set(["committed"]))
      assert.lengthOf(yield* owners("d"), 1)
    }))
}

const freedKeys = (it: It) => {
  it.effect("removes rows, whose keys are free again", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const { identity_id } = thread
      const name = { channel_type: "phone_messaging", name: "former", identity_id } as const
      yield* Fixtures.mustCommit(ours, IdentityNetworkIdRows.insert(name))
      const moved = [IdentityNetworkIdRows.remove(name), IdentityNetworkIdRows.insert({ ...name, name: "now" })]
      assert.strictEqual(yield* commitOutcome(ours, ...moved), "committed")
      const identifyingIds = Effect.map(
        ContactStore.use((store) => store.identify(ours, "phone_messaging", ["former", "now"])),
        (owners) => owners.map(({ network_id }) => network_id)
      )
      assert.deepStrictEqual(yield* identifyingIds, ["now"])
      // It is deleted already: nothing changes, and the commit is not rejected.
      const tag = yield* Fixtures.newTag("a")
      assert.strictEqual(
        yield* commitOutcome(ours, IdentityNetworkIdRows.remove(name), TagRows.insert(tag)),
        "committed"
      )
      assert.deepStrictEqual([yield* identifyingIds, yield* Fixtures.tagNames(ours)], [["now"], ["a"]])
      assert.strictEqual(yield* commitOutcome(ours, IdentityNetworkIdRows.insert(name)), "committed")
      assert.deepStrictEqual(yield* identifyingIds, ["former", "now"])
    }))
}

export const keys = (it: It) => {
  insertedKeys(it)
  updatedKeys(it)
  identityNames(it)
  freedKeys(it)
}
