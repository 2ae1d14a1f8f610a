/** The promises of `ContactStore`, as tests. */
import { assert } from "@effect/vitest"
import { type Contact, ContactStore } from "@messaging-crm/core/Contacts"
import { ContactId, ConversationId, TagId } from "@messaging-crm/core/Ids"
import { type Tag, TagStore } from "@messaging-crm/core/Tags"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Arbitrary, Effect, Option, Schema } from "effect"
import { hardText, moment, optionalHardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

const name = optionalHardText({ min: 1, max: 200 })

const fields = Arbitrary.all({
  first_name: name,
  last_name: name,
  company: name,
  notes: optionalHardText({ min: 1, max: 1000 }),
  updated_at: moment,
  last_activity_at: moment,
  last_activity_preview: optionalHardText({ min: 1, max: 140 })
})

/** A number that no other test has, as a phone and as an identity. */
const newPhone = Effect.map(Fixtures.uuid, (id) => `+4${BigInt(`0x${id.replaceAll("-", "")}`) % 10_000_000_000_000n}`)

const claim = (organization_id: Parameters<ContactStore["Service"]["claimIdentity"]>[0], phone: string) =>
  Effect.gen(function*() {
    const { identity, newcomer } = yield* Fixtures.stranger(phone, phone)
    const who = yield* ContactStore.use((store) => store.claimIdentity(organization_id, identity, newcomer))
    return { ...who, identity, newcomer }
  })

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns a contact as it was inserted", {
    fields,
    values: Arbitrary.array(hardText({ min: 1, max: 50 }), { maxLength: 3 })
  }, ({ fields, values }) =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const keys = yield* Effect.forEach(values, () => Fixtures.uuid)
      const custom_values = Object.fromEntries(values.map((value, index) => [keys[index], value]))
      const contact = yield* Fixtures.contact(ours, { ...fields, custom_values })
      assert.deepStrictEqual(yield* store.find(ours, contact.id), Option.some(contact))
      assert.deepStrictEqual(yield* store.list(ours, { after: null, size: 2 }), [contact])
    }), { arbitrary: { runs } })

  it.effect("returns a contact's identities by id, and its tags by name key", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const tags = yield* Effect.forEach(["b", "a"], (name) =>
        Effect.gen(function*() {
          const tag: Tag = { id: TagId.make(yield* Fixtures.uuid), name, color: "red" }
          yield* TagStore.use((tagStore) => Effect.orDie(tagStore.insert(ours, tag, name)))
          return tag
        }))
      const byName = tags.toReversed()
      const phone = yield* newPhone
      const contact = yield* Fixtures.contact(ours, { primary_phone: phone, tags: byName })
      const first = yield* claim(ours, phone)
      const stranger = yield* Fixtures.stranger("photo-user", phone)
      const second = { ...stranger.identity, channel_type: "photo_social" as const }
      yield* store.claimIdentity(ours, second, stranger.newcomer)
      const found = Option.getOrThrow(yield* store.find(ours, contact.id))
      assert.deepStrictEqual(found.tags, byName)
      assert.deepStrictEqual(found.identities, [first.identity, second].toSorted((a, b) => a.id < b.id ? -1 : 1))
      assert.deepStrictEqual(yield* store.list(ours, { after: null, size: 9 }), [found])
    }))

  it.effect.prop("lists by updated_at descending, then id descending, and walks without gap or repeat", {
    millis: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))), {
      maxLength: 7
    }),
    size: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })))
  }, ({ millis, size }) =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.forEach(millis, (value) => Fixtures.contact(ours, { updated_at: after(value) }))
      const key = (contact: Contact) => `${contact.updated_at.epochMilliseconds} ${contact.id}`
      const walked: Array<Contact> = []
      for (;;) {
        const last = walked.at(-1)
        const position = last === undefined ? null : { at: last.updated_at, id: last.id }
        const page = yield* store.list(ours, { after: position, size })
        assert.isAtMost(page.length, size)
        if (page.length === 0) break
        walked.push(...page)
      }
      assert.deepStrictEqual(walked.map(key), contacts.map(key).toSorted().toReversed())
    }), { arbitrary: { runs } })

  it.effect("makes the identity and the newcomer's contact for a person nobody knows", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const { contact_id, identity, identity_id, newcomer } = yield* claim(ours, yield* newPhone)
      assert.strictEqual(identity_id, identity.id)
      assert.strictEqual(contact_id, newcomer.id)
      assert.deepStrictEqual(
        yield* store.find(ours, newcomer.id),
        Option.some({ ...newcomer, identities: [identity] })
      )
    }))

  it.effect("returns the identity and contact of a person who is known, and leaves no other", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const phone = yield* newPhone
      const [first, second] = [yield* claim(ours, phone), yield* claim(ours, phone)]
      assert.strictEqual(second.identity_id, first.identity_id)
      assert.strictEqual(second.contact_id, first.contact_id)
      assert.deepStrictEqual(yield* store.find(ours, second.newcomer.id), Option.none())
      assert.lengthOf(yield* store.list(ours, { after: null, size: 9 }), 1)
    }))

  it.effect("gives the identity to the most recently updated contact with that primary phone", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const phone = yield* newPhone
      yield* Fixtures.contact(ours, { primary_phone: phone, updated_at: after(1) })
      const recent = yield* Fixtures.contact(ours, { primary_phone: phone, updated_at: after(3) })
      yield* Fixtures.contact(ours, { primary_phone: phone, updated_at: after(2) })
      assert.strictEqual((yield* claim(ours, phone)).contact_id, recent.id)
    }))

  it.effect("gives any number of concurrent claims one identity and one contact", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const phone = yield* newPhone
      const alone = Array.from({ length: 8 }, () => claim(ours, phone))
      const all = yield* Effect.all([...alone, ...alone.map(transact)], { concurrency: "unbounded" })
      assert.strictEqual(new Set(all.map(({ identity_id }) => identity_id)).size, 1)
      assert.strictEqual(new Set(all.map(({ contact_id }) => contact_id)).size, 1)
      assert.lengthOf(yield* store.list(ours, { after: null, size: 99 }), 1)
    }))

  it.effect("forgets a claim with its unit of work", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const phone = yield* newPhone
      yield* Effect.ignore(transact(Effect.andThen(claim(ours, phone), Effect.fail("no"))))
      assert.deepStrictEqual(yield* store.list(ours, { after: null, size: 9 }), [])
      const again = yield* claim(ours, phone)
      assert.strictEqual(again.contact_id, again.newcomer.id)
    }))

  it.effect("records the last activity, and never moves backwards", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const [one, other] = [yield* Fixtures.uuid, yield* Fixtures.uuid].map((value) => ConversationId.make(value))
      if (one === undefined || other === undefined) return
      yield* store.recordActivity(ours, id, { at: after(5), preview: "new", conversation_id: one })
      yield* store.recordActivity(ours, id, { at: after(3), preview: "old", conversation_id: other })
      const found = Option.getOrThrow(yield* store.find(ours, id))
      assert.deepStrictEqual(found.last_activity_at, after(5))
      assert.strictEqual(found.last_activity_preview, "new")
      assert.strictEqual(found.last_conversation_id, one)
      assert.deepStrictEqual(found.updated_at, after(5))
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const phone = yield* newPhone
      const mine = yield* claim(ours, phone)
      assert.deepStrictEqual(yield* store.find(theirs, mine.contact_id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs, { after: null, size: 9 }), [])
      const yours = yield* claim(theirs, phone)
      assert.strictEqual(yours.contact_id, yours.newcomer.id)
      const conversation_id = ConversationId.make(yield* Fixtures.uuid)
      const strange = ContactId.make(mine.contact_id)
      yield* Effect.exit(store.recordActivity(theirs, strange, { at: after(5), preview: "x", conversation_id }))
      assert.isNull(Option.getOrThrow(yield* store.find(ours, mine.contact_id)).last_activity_at)
    }))
}
