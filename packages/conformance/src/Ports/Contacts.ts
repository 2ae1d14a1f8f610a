/** Tests of the guarantees of `ContactStore`. */
import { assert } from "@effect/vitest"
import { IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { type Contact, ContactRows, ContactStore, searchColumnsOf, searchText } from "@messaging-crm/core/Contacts"
import { ContactId } from "@messaging-crm/core/Ids"
import { Arbitrary, Effect, Option } from "effect"
import { hardText, moment, optionalHardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"
import { lists } from "./Contacts/Lists.ts"
import { contactTests as longTexts } from "./LongTexts.ts"

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

const rows = (it: It, { runs }: Options) => {
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
      assert.deepStrictEqual(yield* store.load(ours, contact.id), Option.some({ ...contact, version: 1 }))
      assert.deepStrictEqual(yield* Fixtures.contacts(ours), [contact])
    }), { arbitrary: { runs } })

  it.effect("returns a contact's identities by id, and its tags by name key", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const tags = yield* Effect.forEach(["b", "a"], (name) => Fixtures.tag(ours, name))
      const byName = tags.toReversed()
      const contact = yield* Fixtures.contact(ours, { tags: byName })
      const first = yield* Fixtures.identity(ours, contact.id, { display_name: "Kim" })
      const second = yield* Fixtures.identity(ours, contact.id, { channel_type: "photo_social", username: "kim" })
      const expected: Contact = { ...contact, identities: [first, second] }
      // Each of the two updates the contact's row.
      const version = 3
      assert.deepStrictEqual(yield* store.find(ours, contact.id), Option.some(expected))
      assert.deepStrictEqual(yield* store.load(ours, contact.id), Option.some({ ...expected, version }))
      assert.deepStrictEqual(yield* Fixtures.contacts(ours), [expected])
    }))
}

const inserts = (it: It, { runs }: Options) => {
  it.effect.prop("inserts the new contacts of a batch with their tags, and leaves the existing ones unchanged", {
    inserted: Arbitrary.array(fields, { minLength: 1, maxLength: 6 }),
    values: Arbitrary.array(hardText({ min: 1, max: 50 }), { maxLength: 3 })
  }, ({ inserted, values }) =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const tag = yield* Fixtures.tag(ours, "vip")
      const { id: owner_user_id } = yield* Fixtures.member(ours)
      const existing = yield* Fixtures.contact(ours, { first_name: "known" })
      const fresh = yield* Effect.forEach(inserted, (fields, index) =>
        Effect.map(Fixtures.newContact, (unsaved) => {
          const custom_values = Object.fromEntries(values.map((value, place) => [`${place}`, value]))
          return { ...unsaved, ...fields, custom_values, owner_user_id, tags: index % 2 === 0 ? [tag] : [] }
        }))
      const ids = fresh.map(({ id }) => id).toSorted()
      const again = { ...existing, first_name: "again", tags: [tag], updated_at: afterNoon(9) }
      assert.deepStrictEqual((yield* store.insertNew(ours, [again, ...fresh], [])).toSorted(), ids)
      assert.deepStrictEqual(yield* store.insertNew(ours, fresh, []), [])
      for (const contact of [existing, ...fresh]) {
        assert.deepStrictEqual(yield* store.load(ours, contact.id), Option.some({ ...contact, version: 1 }))
        assert.deepStrictEqual(yield* store.find(theirs, contact.id), Option.none())
      }
      const elsewhere = fresh.map((contact) => ({ ...contact, owner_user_id: null, tags: [] }))
      assert.deepStrictEqual((yield* store.insertNew(theirs, elsewhere, [])).toSorted(), ids)
      for (const contact of fresh) {
        const matches = yield* Fixtures.contacts(ours, { search_terms: [searchText(contact)] })
        assert.include(matches.map(({ id }) => id), contact.id)
      }
    }), { arbitrary: { runs } })

  it.effect("inserts nothing for an empty list", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      assert.deepStrictEqual(yield* ContactStore.use((store) => store.insertNew(ours, [], [])), [])
    }))
}

const concurrency = (it: It) => {
  it.effect("accepts exactly one of the concurrent inserts of a contact, in any order of the identities", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.replicateEffect(Fixtures.newContact, 40)
      const calls = Array.from({ length: 16 }, (_, index) => {
        const batch = [...contacts.slice(index), ...contacts.slice(0, index)].slice(0, 30)
        return store.insertNew(ours, index % 2 === 0 ? batch : batch.toReversed(), [])
      })
      const inserted = (yield* Effect.all(calls, { concurrency: "unbounded" })).flat()
      assert.deepStrictEqual(inserted.toSorted(), contacts.map(({ id }) => id).toSorted())
      assert.lengthOf(yield* Fixtures.contacts(ours), 40)
    }))
}

const updates = (it: It, { runs }: Options) => {
  it.effect.prop(
    "returns a contact as it was last updated, found by what it is now, and replaces the tags",
    { fields },
    ({ fields }) =>
      Effect.gen(function*() {
        const store = yield* ContactStore
        const ours = yield* Fixtures.organization
        const tags = yield* Effect.forEach(["a", "b", "c"], (name) => Fixtures.tag(ours, name))
        const before = yield* Fixtures.contact(ours, { tags: tags.slice(0, 2), last_activity_preview: "kept" })
        const { company, first_name, last_name, notes } = fields
        const set = {
          company,
          first_name,
          last_name,
          notes,
          primary_email: "new@acme.example",
          tags: tags.slice(1),
          custom_values: { a: "b" }
        }
        const changed: Contact = { ...before, ...set, updated_at: afterNoon(5) }
        yield* Fixtures.mustCommit(
          ours,
          ContactRows.update({ id: before.id, version: 1 }, {
            ...set,
            updated_at: afterNoon(5),
            ...searchColumnsOf(changed)
          })
        )
        assert.deepStrictEqual(yield* store.load(ours, before.id), Option.some({ ...changed, version: 2 }))
        assert.deepStrictEqual(yield* Fixtures.contacts(ours, { search_terms: [searchText(changed)] }), [changed])
        assert.deepStrictEqual(yield* Fixtures.contacts(ours, { email_key: "new@acme.example" }), [changed])
      }),
    { arbitrary: { runs } }
  )
}

const matches = (it: It) => {
  it.effect("finds the most recently updated contact with a phone, by the one that it has now", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [old, young] = [yield* Fixtures.newPhone, yield* Fixtures.newPhone]
      yield* Fixtures.contact(ours, { primary_phone: old, updated_at: afterNoon(1) })
      const recent = yield* Fixtures.contact(ours, { primary_phone: old, updated_at: afterNoon(3) })
      const middle = yield* Fixtures.contact(ours, { primary_phone: old, updated_at: afterNoon(2) })
      const byPhone = (phone: string) =>
        Effect.map(store.match(ours, "primary_phone", [phone]), Option.map(({ is_ambiguous: _, ...loaded }) => loaded))
      assert.deepStrictEqual(yield* byPhone(old), Option.some({ ...recent, version: 1 }))
      yield* Fixtures.mustCommit(ours, ContactRows.update({ id: recent.id, version: 1 }, { primary_phone: young }))
      assert.deepStrictEqual(yield* byPhone(old), Option.some({ ...middle, version: 1 }))
      assert.deepStrictEqual(yield* byPhone(young), Option.some({ ...recent, primary_phone: young, version: 2 }))
      assert.deepStrictEqual(yield* byPhone(yield* Fixtures.newPhone), Option.none())
      assert.deepStrictEqual(yield* store.match(theirs, "primary_phone", [old]), Option.none())
    }))

  it.effect("reports whether other contacts have the same phone", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const phone = yield* Fixtures.newPhone
      const recent = yield* Fixtures.contact(ours, { primary_phone: phone, updated_at: afterNoon(1) })
      const matched = store.match(ours, "primary_phone", [phone])
      assert.deepStrictEqual(yield* matched, Option.some({ ...recent, version: 1, is_ambiguous: false }))
      yield* Fixtures.contact(ours, { primary_phone: phone, updated_at: afterNoon(0) })
      assert.deepStrictEqual(yield* matched, Option.some({ ...recent, version: 1, is_ambiguous: true }))
    }))

  it.effect("finds the contact with the first of several phones that contacts have", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const [first, second, third] = [yield* Fixtures.newPhone, yield* Fixtures.newPhone, yield* Fixtures.newPhone]
      const one = yield* Fixtures.contact(ours, { primary_phone: first, updated_at: afterNoon(0) })
      const two = yield* Fixtures.contact(ours, { primary_phone: second, updated_at: afterNoon(1) })
      const idOf = (...phones: readonly [string, ...Array<string>]) =>
        Effect.map(
          store.match(ours, "primary_phone", phones),
          Option.map(({ id, is_ambiguous }) => ({ id, is_ambiguous }))
        )
      assert.deepStrictEqual(yield* idOf(first, second), Option.some({ id: one.id, is_ambiguous: false }))
      assert.deepStrictEqual(yield* idOf(second, first), Option.some({ id: two.id, is_ambiguous: false }))
      assert.deepStrictEqual(yield* idOf(third, second), Option.some({ id: two.id, is_ambiguous: false }))
      assert.deepStrictEqual(yield* idOf(third), Option.none())
    }))

  it.effect("finds a contact by the key of its email, and by no other spelling", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const kim = yield* Fixtures.contact(ours, { primary_email: "Kim@Acme.example" })
      assert.deepStrictEqual(
        yield* store.match(ours, "email_key", ["kim@acme.example"]),
        Option.some({ ...kim, version: 1, is_ambiguous: false })
      )
      assert.deepStrictEqual(yield* store.match(ours, "email_key", ["Kim@Acme.example"]), Option.none())
      assert.deepStrictEqual(yield* store.match(theirs, "email_key", ["kim@acme.example"]), Option.none())
      const quoted = "\"k\\'{,}\"@acme.example"
      const sam = yield* Fixtures.contact(ours, { primary_email: quoted })
      assert.deepStrictEqual(
        yield* store.match(ours, "email_key", [quoted]),
        Option.some({ ...sam, version: 1, is_ambiguous: false })
      )
    }))
}

const people = (it: It) => {
  it.effect("returns what is known of contacts to import: their IDs, and other contacts with their values", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [phone, shared] = [yield* Fixtures.newPhone, yield* Fixtures.newPhone]
      const kim = yield* Fixtures.contact(ours, { primary_phone: phone, primary_email: "Kim@Acme.example" })
      const lee = yield* Fixtures.contact(ours, { primary_phone: shared })
      yield* Fixtures.contact(ours, { primary_phone: shared })
      yield* Fixtures.contact(theirs, { primary_phone: "+4915112345678", primary_email: "theirs@acme.example" })
      const none = { has_id: false, has_phone: false, has_email: false }
      const person = { id: null, phones: [], email_key: null }
      const absent = ContactId.make(yield* Fixtures.uuid)
      const found = yield* store.knownPeople(ours, [
        person,
        { ...person, phones: [yield* Fixtures.newPhone, phone] },
        { id: absent, phones: [phone], email_key: "kim@acme.example" },
        { id: kim.id, phones: [phone], email_key: "kim@acme.example" },
        { id: lee.id, phones: [shared], email_key: "Kim@Acme.example" },
        { ...person, phones: ["+4915112345678"], email_key: "theirs@acme.example" }
      ])
      assert.deepStrictEqual(found, [
        none,
        { ...none, has_phone: true },
        { has_id: false, has_phone: true, has_email: true },
        { ...none, has_id: true },
        { ...none, has_id: true, has_phone: true },
        none
      ])
      assert.deepStrictEqual(yield* store.knownPeople(ours, []), [])
    }))
}

const identities = (it: It, { runs }: Options) => {
  it.effect.prop("identifies by every network ID, with each ID as it was given, in the order of the IDs", {
    display_name: name,
    username: name,
    alias: hardText({ min: 1, max: 100 })
  }, ({ alias, display_name, username }) =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id } = yield* Fixtures.contact(ours)
      const named = { external_id: `1${alias}`, display_name, username }
      const first = yield* Fixtures.identity(ours, id, named, [`2${alias}`])
      const second = yield* Fixtures.identity(ours, id, { external_id: `3${alias}` })
      const social = yield* Fixtures.identity(ours, id, { channel_type: "photo_social", external_id: `1${alias}` })
      const network_ids = [`3${alias}`, "unknown", `2${alias}`, `1${alias}`]
      const identities = [first, second, social]
      // Each of the three updates the contact's row.
      const version = 4
      const identified = (network_id: string, identity: typeof first) => ({
        network_id,
        identity: { ...identity, contact_id: id, version: 1 },
        contact: { id, identities, version }
      })
      const owners = yield* store.identify(ours, "phone_messaging", network_ids)
      const shown = owners.map(({ contact, ...rest }) => ({
        ...rest,
        contact: { id: contact.id, identities: contact.identities, version: contact.version }
      }))
      assert.deepStrictEqual(shown, [
        identified(`3${alias}`, second),
        identified(`2${alias}`, first),
        identified(`1${alias}`, first)
      ])
      const socialOwners = yield* store.identify(ours, "photo_social", network_ids)
      assert.deepStrictEqual(socialOwners.map(({ identity, network_id }) => [network_id, identity.id]), [[
        `1${alias}`,
        social.id
      ]])
      assert.deepStrictEqual(yield* store.identify(theirs, "phone_messaging", network_ids), [])
      assert.deepStrictEqual(yield* store.identify(ours, "phone_messaging", []), [])
      yield* Fixtures.mustCommit(ours, IdentityRows.update({ id: first.id, version: 1 }, { display_name: "Kim" }))
      const [now] = yield* store.identify(ours, "phone_messaging", [`1${alias}`])
      assert.deepStrictEqual(now?.identity, { ...first, display_name: "Kim", contact_id: id, version: 2 })
    }), { arbitrary: { runs } })
}

const separation = (it: It) => {
  it.effect("finds each of many concurrently for its own organization", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const mine = yield* Effect.replicateEffect(Fixtures.contact(ours), 20)
      const yours = yield* Effect.replicateEffect(Fixtures.contact(theirs), 20)
      const lookups = [...mine, ...yours, ...mine].flatMap((contact) => [[ours, contact], [theirs, contact]] as const)
      const results = yield* Effect.forEach(lookups, ([organization, { id }]) => store.find(organization, id), {
        concurrency: "unbounded"
      })
      const expected = lookups.map(([organization, contact]) =>
        (organization === ours ? mine : yours).includes(contact) ? Option.some(contact) : Option.none()
      )
      assert.deepStrictEqual(results, expected)
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const phone = yield* Fixtures.newPhone
      const mine = yield* Fixtures.contact(ours, { primary_phone: phone })
      yield* Fixtures.identity(ours, mine.id, { external_id: phone })
      const before = yield* store.find(ours, mine.id)
      assert.deepStrictEqual(yield* store.find(theirs, mine.id), Option.none())
      assert.deepStrictEqual(yield* store.load(theirs, mine.id), Option.none())
      assert.deepStrictEqual(yield* Fixtures.contacts(theirs), [])
      const yours = yield* Fixtures.contact(theirs, { primary_phone: phone })
      const identity = yield* Fixtures.identity(theirs, yours.id, { external_id: phone })
      const owners = yield* store.identify(theirs, "phone_messaging", [phone])
      assert.deepStrictEqual(owners.map((owner) => owner.identity.id), [identity.id])
      const renamed = ContactRows.update({ id: mine.id, version: 2 }, { first_name: "Eve" })
      assert.strictEqual(yield* Fixtures.commitOutcome(theirs, renamed), "Conflict")
      assert.deepStrictEqual(yield* store.find(ours, mine.id), before)
    }))
}

export const portTests = (it: It, options: Options) => {
  rows(it, options)
  inserts(it, options)
  concurrency(it)
  lists(it, options)
  updates(it, options)
  matches(it)
  people(it)
  identities(it, options)
  separation(it)
  longTexts(it)
}
