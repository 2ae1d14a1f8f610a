/** Tests of the guarantees of an upsert of contacts with any storage: one contact for each person, and each outcome once. */
import { assert, it } from "@effect/vitest"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { Effect } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { interruptions, keys } from "./ContactUpserts/Interruptions.ts"
import { controlStorage, makeScene } from "./ContactUpserts/UpsertScene.ts"
import * as Scene from "./JourneyScene.ts"

const results = (it: Scene.It) => {
  it.effect("creates, updates, and leaves contacts as they are, in the given order", () =>
    Effect.gen(function*() {
      const { create, everyone, upsert } = yield* makeScene
      yield* create({ first_name: "Kim", primary_email: "Kim@Acme.example", company: "Acme" })
      yield* create({ first_name: "Eve", primary_email: "eve@acme.example" })
      const contacts = [
        { primary_email: "noor@acme.example", first_name: "Noor" },
        { primary_email: "kim@ACME.example", city: "Bonn" },
        { primary_email: "eve@acme.example", first_name: "Eve", company: null },
        { primary_email: "NOOR@acme.example", last_name: "Ali" }
      ]
      assert.deepStrictEqual(yield* upsert("primary_email", contacts), ["created", "updated", "unchanged", "updated"])
      const upserted = yield* everyone
      assert.lengthOf(upserted, 3)
      const kim = upserted.find(({ first_name }) => first_name === "Kim")
      assert.deepInclude(kim, { company: "Acme", city: "Bonn", primary_email: "kim@ACME.example" })
      const again = [contacts[3], contacts[1], contacts[2]]
      assert.deepStrictEqual(yield* upsert("primary_email", again), ["unchanged", "unchanged", "unchanged"])
      assert.deepStrictEqual(yield* everyone, upserted)
    }))
}

const phones = (it: Scene.It) => {
  it.effect("finds a contact by a phone in any spelling", () =>
    Effect.gen(function*() {
      const { create, everyone, upsert } = yield* makeScene
      yield* create({ primary_phone: "+49 151 12345678" })
      const again = [{ primary_phone: "0049 (151) 123-45678", city: "Ulm" }]
      assert.deepStrictEqual(yield* upsert("primary_phone", again), ["updated"])
      assert.lengthOf(yield* everyone, 1)
    }))
}

/** Texts of digits and separators that are not one certain number, and others that begin as a number does. */
const unreadable = [
  "0151 12345678",
  "+49 151 12345678-79",
  "1234567/68",
  "4915112345678.0",
  "2026-11-20",
  "12",
  "1234567890123456",
  "++4915112345678",
  "+49 151 12345678 ext. 12",
  "tel:0151 12345678",
  "(+49) 151 abc"
]

const identities = (it: Scene.It) => {
  it.effect("finds a contact by an identity, and gives it to a new one", () =>
    Effect.gen(function*() {
      const { everyone, organization_id, upsert } = yield* makeScene
      const kim = yield* Fixtures.contact(organization_id, { first_name: "Kim" })
      const rest = { channel_type: "photo_social" } as const
      yield* Fixtures.identity(organization_id, kim.id, { ...rest, external_id: "one" }, ["alias"])
      const contacts = [
        { external_id: "one", city: "Ulm" },
        { external_id: "alias", city: "Bonn" },
        { external_id: "two", first_name: "Noor" },
        { external_id: "three" },
        { external_id: "two", first_name: "Noor" }
      ]
      const expected = ["updated", "updated", "created", "ContactUnnamed", "unchanged"]
      assert.deepStrictEqual(yield* upsert("external_id", contacts, rest), expected)
      const noor = (yield* everyone).find(({ first_name }) => first_name === "Noor")
      assert.deepStrictEqual(
        noor?.identities.map(({ channel_type, external_id }) => [channel_type, external_id]),
        [["photo_social", "two"]]
      )
      const number = [{ external_id: "0049 151 12345678", first_name: "Ada" }, { external_id: "+4915112345678" }]
      const byNumber = upsert("external_id", number, { channel_type: "phone_messaging" })
      assert.deepStrictEqual(yield* byNumber, ["created", "unchanged"])
    }))

  it.effect("rejects the external ID of an erased identity, before and after the erasure", () =>
    Effect.gen(function*() {
      const { as, everyone, organization_id, upsert } = yield* makeScene
      const kim = yield* Fixtures.contact(organization_id, { first_name: "Kim" })
      const { channel_type, id } = yield* Fixtures.identity(organization_id, kim.id)
      const contacts = [{ external_id: `erased-${id}`, first_name: "Noor" }, {
        external_id: "erased-1",
        first_name: "Ada"
      }]
      const outcomes = upsert("external_id", contacts, { channel_type })
      assert.deepStrictEqual(yield* outcomes, ["ExternalIdErased", "created"])
      yield* as(PersonalData.use((personal) => personal.erase(kim.id)))
      assert.deepStrictEqual(yield* outcomes, ["ExternalIdErased", "unchanged"])
      assert.sameMembers(
        (yield* everyone).flatMap(({ identities }) => identities.map(({ external_id }) => external_id)),
        ["erased-1", `erased-${id}`]
      )
    }))

  it.effect("rejects an external ID on phone messaging that is no certain number but looks like one", () =>
    Effect.gen(function*() {
      const { everyone, upsert } = yield* makeScene
      const outcomesOf = (channel_type: string) =>
        upsert("external_id", unreadable.map((external_id) => ({ external_id, first_name: "Kim" })), { channel_type })
      assert.deepStrictEqual(yield* outcomesOf("phone_messaging"), unreadable.map(() => "ExternalIdUnreadable"))
      assert.deepStrictEqual(yield* everyone, [])
      // On other networks, such a text is an ID like any other.
      assert.deepStrictEqual(yield* outcomesOf("photo_social"), unreadable.map(() => "created"))
    }))

  it.effect("finds a person by a network's ID with spaces at its ends, and by the former number of a Mexican phone", () =>
    Effect.gen(function*() {
      const { upsert } = yield* makeScene
      const outcomesOf = (channel_type: string, ...ids: ReadonlyArray<string>) =>
        upsert("external_id", ids.map((external_id) => ({ external_id, first_name: "Kim" })), { channel_type })
      const expected = ["created", "unchanged", "unchanged"]
      assert.deepStrictEqual(yield* outcomesOf("photo_social", "ig-1", "ig-1 ", "\n ig-1"), expected)
      const spellings = ["+5215512345678", "525512345678", "+52 55 1234 5678"]
      assert.deepStrictEqual(yield* outcomesOf("phone_messaging", ...spellings), expected)
    }))
}

const rejections = (it: Scene.It) => {
  it.effect("rejects one contact and upserts the others", () =>
    Effect.gen(function*() {
      const { as, create, everyone, upsert } = yield* makeScene
      const field = yield* as(ContactFields.use((fields) =>
        fields.create(CreateContactField.make({ key: "visits", name: "Visits", type: "number", options: null }))
      ))
      yield* create({ primary_email: "two@acme.example" })
      yield* create({ primary_email: "TWO@acme.example" })
      const absent = yield* Fixtures.uuid
      const contacts = [
        { primary_email: "two@acme.example", city: "Ulm" },
        { primary_email: "a@acme.example", owner_user_id: absent },
        { primary_email: "b@acme.example", tag_ids: [absent] },
        { primary_email: "c@acme.example", custom_values: { [field.id]: "seven" } },
        { primary_email: "d@acme.example", custom_values: { [field.id]: "7" } }
      ]
      assert.deepStrictEqual(yield* upsert("primary_email", contacts), [
        "ContactAmbiguous",
        "ReferenceUnknown",
        "ReferenceUnknown",
        "CustomValueInvalid",
        "created"
      ])
      assert.lengthOf(yield* everyone, 3)
    }))

  it.effect("creates another contact if all earlier ones have other values by now", () =>
    Effect.gen(function*() {
      const { as, everyone, upsert } = yield* makeScene
      const first = [{ primary_phone: "+4915112345678" }]
      for (let round = 0; round < 9; round++) {
        assert.deepStrictEqual(yield* upsert("primary_phone", first), ["created"])
        const withPhone = (yield* everyone).filter(({ primary_phone }) => primary_phone !== null)
        assert.lengthOf(withPhone, 1)
        yield* Effect.forEach(withPhone, ({ id }) =>
          as(Contacts.use((contacts) => contacts.update(id, UpdateContact.make({ primary_phone: null })))))
      }
    }))
}

const concurrency = (it: Scene.It) => {
  it.effect("creates one contact for each person in 50 concurrent requests", () =>
    Effect.gen(function*() {
      const { everyone, upsert } = yield* makeScene
      const people = Array.from({ length: 20 }, (_, index) => ({ primary_phone: `+4915100000${100 + index}` }))
      const requests = Array.from({ length: 50 }, (_, index) =>
        upsert(
          "primary_phone",
          [...people.slice(index % 20), ...people.slice(0, index % 7)].map((person) => ({
            ...person,
            city: `City ${index}`
          }))
        ))
      const outcomes = (yield* Effect.all(requests, { concurrency: "unbounded" })).flat()
      assert.lengthOf(outcomes.filter((outcome) => outcome === "created"), 20)
      assert.deepStrictEqual(outcomes.filter((outcome) => !["created", "unchanged", "updated"].includes(outcome)), [])
      assert.deepStrictEqual(
        (yield* everyone).map(({ primary_phone }) => primary_phone).toSorted(),
        people.map(({ primary_phone }) => primary_phone)
      )
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  const { control, layer } = controlStorage(storage)

  it.layer(Scene.crm(layer), { timeout: "5 minutes" })("an upsert of contacts", (it) => {
    results(it)
    phones(it)
    identities(it)
    rejections(it)
    concurrency(it)
    interruptions(it, control)
    keys(it, control)
  })
}
