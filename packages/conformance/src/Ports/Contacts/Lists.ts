/** Tests of lists of contacts: their order and their filters. */
import { assert } from "@effect/vitest"
import { type Contact, type ContactCriteria, positionOf, searchText } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { Position } from "@messaging-crm/core/Page"
import { foldCase } from "@messaging-crm/core/Text"
import { Arbitrary, Effect } from "effect"
import { hardText, integer } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, type It, type Options } from "../../Fixtures.ts"

/** Lists the IDs of the contacts that pass the filters. */
const idsOf = (organization_id: OrganizationId, filters: Partial<ContactCriteria>) =>
  Effect.map(Fixtures.contacts(organization_id, filters), (contacts) => contacts.map(({ id }) => id))

const order = (it: It, { runs }: Options) => {
  it.effect.prop("lists by updated_at descending, then id descending, in pages without gaps or duplicates", {
    millis: Arbitrary.array(integer({ min: 0, max: 3 }), { maxLength: 7 }),
    size: integer({ min: 1, max: 4 })
  }, ({ millis, size }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.forEach(
        millis,
        (value) => Fixtures.contact(ours, { updated_at: afterNoon(value) })
      )
      const key = (contact: Contact) => `${contact.updated_at.epochMilliseconds} ${contact.id}`
      const listed = yield* Fixtures.readAllPages(
        size,
        (after: Position | null) => Fixtures.contacts(ours, {}, { after, size }),
        positionOf
      )
      assert.deepStrictEqual(listed.map(key), contacts.map(key).toSorted().toReversed())
    }), { arbitrary: { runs } })

  it.effect.prop("lists what contains a term, character by character, and nothing else", {
    names: Arbitrary.array(hardText({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 }),
    term: hardText({ min: 1, max: 2 })
  }, ({ names, term }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.forEach(names, (first_name) => Fixtures.contact(ours, { first_name }))
      const ids = yield* idsOf(ours, { search_terms: [foldCase(term), "no contact has this"] })
      const expected = contacts.filter((contact) => searchText(contact).includes(foldCase(term)))
      assert.deepStrictEqual(ids.toSorted(), expected.map(({ id }) => id).toSorted())
    }), { arbitrary: { runs } })
}

/** A contact that passes every filter, and seven that fail one each. Returns the filters and the contact's ID. */
const makeFilteredContacts = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const { id: owner_user_id } = yield* Fixtures.member(organization_id)
  const tag = yield* Fixtures.tag(organization_id, "vip")
  const phone = yield* Fixtures.newPhone
  const fields = {
    first_name: "Ada",
    owner_user_id,
    lifecycle_stage: "lead",
    tags: [tag],
    primary_phone: phone,
    primary_email: "Kim@Acme.example",
    updated_at: afterNoon(5)
  } as const
  const { id } = yield* Fixtures.contact(organization_id, fields)
  for (
    const lacking of [
      { first_name: "Eve" },
      { owner_user_id: null },
      { lifecycle_stage: "customer" },
      { tags: [] },
      { primary_phone: null },
      { primary_email: "Kim@Acme.exampl" },
      { updated_at: afterNoon(4) }
    ] as const
  ) {
    yield* Fixtures.contact(organization_id, { ...fields, ...lacking })
  }
  const match = {
    search_terms: ["ada"],
    owner_user_id,
    lifecycle_stage: "lead",
    tag_id: tag.id,
    phones: [yield* Fixtures.newPhone, phone],
    email_key: "kim@acme.example",
    updated_since: afterNoon(5)
  } as const
  return { id, match }
})

const filters = (it: It) => {
  it.effect("lists what passes every filter at once", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id, match } = yield* makeFilteredContacts(ours)
      assert.deepStrictEqual(yield* idsOf(ours, match), [id])
      for (const filter of Object.keys(match)) {
        // The type of `Object.keys` loses whose keys they are.
        const alone = { [filter]: match[filter as keyof typeof match] }
        assert.lengthOf(yield* idsOf(ours, alone), 7, filter)
        assert.lengthOf(yield* idsOf(theirs, alone), 0, filter)
      }
    }))

  it.effect("lists what was updated since any time that a request can state, also in a search", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours, { first_name: "Ada" })
      for (const search_terms of [null, ["ada"]] as const) {
        assert.deepStrictEqual(yield* idsOf(ours, { search_terms, updated_since: Fixtures.firstTime }), [id])
        assert.deepStrictEqual(yield* idsOf(ours, { search_terms, updated_since: Fixtures.lastTime }), [])
      }
    }))
}

const identities = (it: It) => {
  it.effect("lists who has an identity on a type of channel; a phone is one of phone messaging", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const primary_phone = yield* Fixtures.newPhone
      const [ada, kim] = [yield* Fixtures.contact(ours, { primary_phone }), yield* Fixtures.contact(ours)]
      yield* Fixtures.identity(ours, kim.id, { channel_type: "photo_social" })
      assert.deepStrictEqual(yield* idsOf(ours, { channel: "photo_social" }), [kim.id])
      assert.deepStrictEqual(yield* idsOf(ours, { channel: "page_messaging" }), [])
      assert.deepStrictEqual(yield* idsOf(ours, { channel: "phone_messaging" }), [ada.id])
    }))

  it.effect("lists who has an external id or an alias of an identity, on a type of channel if one is given", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [kim, eve] = [yield* Fixtures.contact(ours), yield* Fixtures.contact(ours, { first_name: "Eve" })]
      yield* Fixtures.identity(ours, kim.id, { external_id: "one" }, ["other"])
      yield* Fixtures.identity(ours, eve.id, { channel_type: "photo_social", external_id: "one" })
      assert.sameMembers(yield* idsOf(ours, { external_id: "one" }), [kim.id, eve.id])
      assert.deepStrictEqual(yield* idsOf(ours, { external_id: "one", channel: "photo_social" }), [eve.id])
      assert.deepStrictEqual(yield* idsOf(ours, { external_id: "one", channel: "page_messaging" }), [])
      assert.deepStrictEqual(yield* idsOf(ours, { external_id: "other" }), [kim.id])
      assert.deepStrictEqual(yield* idsOf(ours, { external_id: "one", search_terms: ["eve"] }), [eve.id])
      assert.deepStrictEqual(yield* idsOf(ours, { external_id: "ONE" }), [])
      assert.deepStrictEqual(yield* idsOf(theirs, { external_id: "one" }), [])
    }))
}

export const lists = (it: It, options: Options) => {
  order(it, options)
  filters(it)
  identities(it)
}
