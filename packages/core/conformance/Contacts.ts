/** The promises of `ContactStore`, as tests. */
import { assert } from "@effect/vitest"
import { type Contact, type ContactMatch, ContactStore, searchText } from "@messaging-crm/core/Contacts"
import { ContactId, ConversationId, TagId } from "@messaging-crm/core/Ids"
import { type Tag, TagStore } from "@messaging-crm/core/Tags"
import { foldCase } from "@messaging-crm/core/Text"
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
    const who = yield* ContactStore.use((store) => store.claimIdentity(organization_id, identity, newcomer, []))
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
      assert.deepStrictEqual(yield* store.list(ours, Fixtures.everyone, { after: null, size: 2 }), [contact])
    }), { arbitrary: { runs } })

  it.effect.prop("inserts those of many that are new, with their tags, and leaves the others as they are", {
    all: Arbitrary.array(fields, { minLength: 1, maxLength: 6 }),
    values: Arbitrary.array(hardText({ min: 1, max: 50 }), { maxLength: 3 })
  }, ({ all, values }) =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const tag: Tag = { id: TagId.make(yield* Fixtures.uuid), name: "vip", color: "red" }
      yield* TagStore.use((tags) => Effect.orDie(tags.insert(ours, tag, "vip")))
      const { id: owner_user_id } = yield* Fixtures.member(ours)
      const known = yield* Fixtures.contact(ours, { first_name: "known" })
      const fresh = yield* Effect.forEach(all, (fields, index) =>
        Effect.gen(function*() {
          const { newcomer } = yield* Fixtures.stranger("nobody")
          const custom_values = Object.fromEntries(values.map((value, place) => [`${place}`, value]))
          return { ...newcomer, ...fields, custom_values, owner_user_id, tags: index % 2 === 0 ? [tag] : [] }
        }))
      const ids = fresh.map(({ id }) => id).toSorted()
      const again = { ...known, first_name: "again", tags: [tag], updated_at: after(9) }
      assert.deepStrictEqual((yield* store.insertNew(ours, [again, ...fresh])).toSorted(), ids)
      assert.deepStrictEqual(yield* store.insertNew(ours, fresh), [])
      for (const contact of [known, ...fresh]) {
        assert.deepStrictEqual(yield* store.find(ours, contact.id), Option.some(contact))
        assert.deepStrictEqual(yield* store.find(theirs, contact.id), Option.none())
      }
      const elsewhere = fresh.map((contact) => ({ ...contact, owner_user_id: null, tags: [] }))
      assert.deepStrictEqual((yield* store.insertNew(theirs, elsewhere)).toSorted(), ids)
      const needles = fresh.map(searchText)
      const found = yield* store.list(ours, { ...Fixtures.everyone, needles }, { after: null, size: 99 })
      assert.includeMembers(found.map(({ id }) => id), ids)
    }), { arbitrary: { runs } })

  it.effect("inserts nothing of nothing", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      assert.deepStrictEqual(yield* ContactStore.use((store) => store.insertNew(ours, [])), [])
    }))

  it.effect("lets exactly one of concurrent calls insert a contact, in whatever order they name them", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.forEach(
        Array.from({ length: 40 }),
        () => Effect.map(Fixtures.stranger("nobody"), ({ newcomer }) => newcomer)
      )
      const calls = Array.from({ length: 16 }, (_, index) => {
        const some = [...contacts.slice(index), ...contacts.slice(0, index)].slice(0, 30)
        const call = store.insertNew(ours, index % 2 === 0 ? some : some.toReversed())
        return index % 3 === 0 ? transact(call) : call
      })
      const inserted = (yield* Effect.all(calls, { concurrency: "unbounded" })).flat()
      assert.deepStrictEqual(inserted.toSorted(), contacts.map(({ id }) => id).toSorted())
      assert.lengthOf(yield* store.list(ours, Fixtures.everyone, { after: null, size: 99 }), 40)
    }))

  it.effect("forgets many contacts with their unit of work", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const { newcomer } = yield* Fixtures.stranger("nobody")
      const insert = store.insertNew(ours, [newcomer])
      yield* Effect.ignore(transact(Effect.andThen(insert, Effect.fail("no"))))
      assert.deepStrictEqual(yield* store.find(ours, newcomer.id), Option.none())
      assert.deepStrictEqual(yield* insert, [newcomer.id])
    }))

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
      yield* store.claimIdentity(ours, second, stranger.newcomer, [])
      const found = Option.getOrThrow(yield* store.find(ours, contact.id))
      assert.deepStrictEqual(found.tags, byName)
      assert.deepStrictEqual(found.identities, [first.identity, second].toSorted((a, b) => a.id < b.id ? -1 : 1))
      assert.deepStrictEqual(yield* store.list(ours, Fixtures.everyone, { after: null, size: 9 }), [found])
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
        const page = yield* store.list(ours, Fixtures.everyone, { after: position, size })
        assert.isAtMost(page.length, size)
        if (page.length === 0) break
        walked.push(...page)
      }
      assert.deepStrictEqual(walked.map(key), contacts.map(key).toSorted().toReversed())
    }), { arbitrary: { runs } })

  it.effect.prop("lists what contains a needle, character by character, and nothing else", {
    names: Arbitrary.array(hardText({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 }),
    needle: hardText({ min: 1, max: 2 })
  }, ({ names, needle }) =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.forEach(names, (first_name) => Fixtures.contact(ours, { first_name }))
      const needles = [foldCase(needle), "no contact has this"]
      const found = yield* store.list(ours, { ...Fixtures.everyone, needles }, { after: null, size: 9 })
      const expected = contacts.filter((contact) => searchText(contact).includes(foldCase(needle)))
      assert.deepStrictEqual(found.map(({ id }) => id).toSorted(), expected.map(({ id }) => id).toSorted())
    }), { arbitrary: { runs } })

  it.effect("lists what passes every filter at once", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id: owner_user_id } = yield* Fixtures.member(ours)
      const tag: Tag = { id: TagId.make(yield* Fixtures.uuid), name: "vip", color: "red" }
      yield* TagStore.use((tags) => Effect.orDie(tags.insert(ours, tag, "vip")))
      const phone = yield* newPhone
      const all = {
        first_name: "Ada",
        owner_user_id,
        lifecycle_stage: "lead",
        tags: [tag],
        primary_phone: phone
      } as const
      const whole = yield* Fixtures.contact(ours, all)
      const match = {
        needles: ["ada"],
        owner_user_id,
        lifecycle_stage: "lead",
        tag_id: tag.id,
        channel: "phone_messaging"
      } as const
      for (
        const lacking of [
          { first_name: "Eve" },
          { owner_user_id: null },
          { lifecycle_stage: "customer" },
          { tags: [] },
          { primary_phone: null }
        ] as const
      ) {
        yield* Fixtures.contact(ours, { ...all, ...lacking })
      }
      const listed = (organization_id: typeof ours, filters: Partial<ContactMatch>) =>
        Effect.map(
          store.list(organization_id, { ...Fixtures.everyone, ...filters }, { after: null, size: 9 }),
          (found) => found.map(({ id }) => id)
        )
      assert.deepStrictEqual(yield* listed(ours, match), [whole.id])
      for (const filter of Object.keys(match)) {
        const alone = { [filter]: match[filter as keyof typeof match] }
        assert.lengthOf(yield* listed(ours, alone), 5, filter)
        assert.lengthOf(yield* listed(theirs, alone), 0, filter)
      }
      const { identity, newcomer } = yield* Fixtures.stranger("photo-user")
      const known = yield* store.claimIdentity(ours, { ...identity, channel_type: "photo_social" }, newcomer, [])
      assert.deepStrictEqual(yield* listed(ours, { channel: "photo_social" }), [known.contact_id])
      assert.deepStrictEqual(yield* listed(ours, { channel: "page_messaging" }), [])
    }))

  it.effect.prop(
    "updates every field but the identities and the activity, and replaces the tags",
    { fields },
    ({ fields }) =>
      Effect.gen(function*() {
        const store = yield* ContactStore
        const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
        const tags = yield* Effect.forEach(["a", "b", "c"], (name) =>
          Effect.gen(function*() {
            const tag: Tag = { id: TagId.make(yield* Fixtures.uuid), name, color: "red" }
            yield* TagStore.use((tagStore) => Effect.orDie(tagStore.insert(ours, tag, name)))
            return tag
          }))
        const before = yield* Fixtures.contact(ours, { tags: tags.slice(0, 2), last_activity_preview: "kept" })
        const changed: Contact = {
          ...before,
          ...fields,
          tags: tags.slice(1),
          custom_values: { a: "b" },
          updated_at: after(5)
        }
        yield* store.update(theirs, changed)
        assert.deepStrictEqual(yield* store.find(ours, before.id), Option.some(before))
        yield* store.update(ours, changed)
        const { last_activity_at, last_activity_preview } = before
        const expected = { ...changed, last_activity_at, last_activity_preview }
        assert.deepStrictEqual(yield* store.find(ours, before.id), Option.some(expected))
        const needles = [searchText(changed)]
        const found = yield* store.list(ours, { ...Fixtures.everyone, needles }, { after: null, size: 9 })
        assert.deepStrictEqual(found, [expected])
        yield* store.update(ours, { ...changed, updated_at: after(1) })
        assert.deepStrictEqual(Option.getOrThrow(yield* store.find(ours, before.id)).updated_at, after(5))
      }),
    { arbitrary: { runs } }
  )

  it.effect("finds a contact by the phone that it was updated to, and no longer by the one before", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const [old, young] = [yield* newPhone, yield* newPhone]
      const contact = yield* Fixtures.contact(ours, { primary_phone: old })
      yield* store.update(ours, { ...contact, primary_phone: young })
      assert.strictEqual((yield* claim(ours, young)).contact_id, contact.id)
      const other = yield* claim(ours, old)
      assert.strictEqual(other.contact_id, other.newcomer.id)
    }))

  it.effect("writes an owner, and lets one unit of work at a time pass `lock`", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const { transact } = yield* UnitOfWork
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id: owner_user_id } = yield* Fixtures.member(ours)
      const contact = yield* Fixtures.contact(ours)
      yield* store.setOwner(theirs, contact.id, null, after(9))
      yield* store.setOwner(ours, contact.id, owner_user_id, after(3))
      const owned = { ...contact, owner_user_id, updated_at: after(3) }
      assert.deepStrictEqual(yield* store.find(ours, contact.id), Option.some(owned))
      assert.deepStrictEqual(yield* transact(store.lock(theirs, contact.id)), Option.none())
      const turn = Effect.gen(function*() {
        const found = Option.getOrThrow(yield* store.lock(ours, contact.id))
        yield* Effect.yieldNow
        yield* store.update(ours, { ...found, notes: `${found.notes ?? ""}x` })
      })
      yield* Effect.all(Array.from({ length: 10 }, () => transact(turn)), { concurrency: "unbounded" })
      assert.strictEqual(Option.getOrThrow(yield* store.find(ours, contact.id)).notes, "x".repeat(10))
    }))

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
      assert.lengthOf(yield* store.list(ours, Fixtures.everyone, { after: null, size: 9 }), 1)
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
      assert.lengthOf(yield* store.list(ours, Fixtures.everyone, { after: null, size: 99 }), 1)
    }))

  it.effect("forgets a claim with its unit of work", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const phone = yield* newPhone
      yield* Effect.ignore(transact(Effect.andThen(claim(ours, phone), Effect.fail("no"))))
      assert.deepStrictEqual(yield* store.list(ours, Fixtures.everyone, { after: null, size: 9 }), [])
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
      assert.deepStrictEqual(yield* store.list(theirs, Fixtures.everyone, { after: null, size: 9 }), [])
      const yours = yield* claim(theirs, phone)
      assert.strictEqual(yours.contact_id, yours.newcomer.id)
      const conversation_id = ConversationId.make(yield* Fixtures.uuid)
      const strange = ContactId.make(mine.contact_id)
      yield* Effect.exit(store.recordActivity(theirs, strange, { at: after(5), preview: "x", conversation_id }))
      assert.isNull(Option.getOrThrow(yield* store.find(ours, mine.contact_id)).last_activity_at)
    }))
}
