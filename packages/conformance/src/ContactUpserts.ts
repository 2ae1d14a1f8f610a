/** Tests of the guarantees of an upsert of contacts with any storage: one contact for each person, and each outcome once. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Commit } from "@messaging-crm/core/Commit"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { AddNote, Contacts, ContactStore, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts, type UpsertResult } from "@messaging-crm/core/ContactUpserts"
import * as Crm from "@messaging-crm/core/Crm"
import { type EncodedResponse, Idempotency, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { Effect, Exit, Layer, Result, Schema } from "effect"
import * as Fixtures from "./Fixtures.ts"
import * as Scene from "./Journeys/Scene.ts"

const decode = Schema.decodeUnknownSync(UpsertContacts)

/** The outcome of each contact, an error by its tag. */
const outcomes = (results: ReadonlyArray<UpsertResult>) =>
  results.map(Result.match({ onSuccess: ({ outcome }) => outcome, onFailure: ({ _tag }) => _tag }))

const begin = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const { id: member_id } = yield* Fixtures.member(organization_id)
  const as = Effect.provideService(CurrentActor, { organization_id, member_id })
  const upsert = (match: UpsertContacts["match"], contacts: ReadonlyArray<unknown>, rest: object = {}) =>
    as(Effect.map(ContactUpserts.use((all) => all.upsert(decode({ match, contacts, ...rest }))), outcomes))
  const everyone = as(
    Effect.map(Contacts.use((all) => all.list({ cursor: null, page_size: 100 })), ({ data }) => data)
  )
  const create = (fields: object) =>
    as(Contacts.use((all) => all.create(Schema.decodeUnknownSync(CreateContact)(fields))))
  /** Sends a request under a key, as the API does. */
  const request = (key: string, contacts: ReadonlyArray<unknown>, fingerprint = "f".repeat(64)) =>
    as(Idempotency.use((idempotency) =>
      idempotency.once(
        { key: IdempotencyKey.make(key), fingerprint, request_id: "r" },
        (record) =>
          ContactUpserts.use((all) =>
            all.upsert(decode({ match: "primary_email", contacts }), {
              encode: (results): Effect.Effect<EncodedResponse> =>
                Effect.succeed({ status: 200, body: new TextEncoder().encode(outcomes(results).join()) }),
              record
            })
          )
      )
    )).pipe(Effect.map(({ body, replayed }) => ({ outcomes: new TextDecoder().decode(body), replayed })))
  return { as, create, everyone, organization_id, request, upsert }
})

interface CommitControl {
  /** How many further commits take effect. Those after them fail with a defect and change nothing, as if the process were killed. */
  commitsLeft: number
  /** An effect that runs once, before the next lookup of a contact. */
  beforeLookup: Effect.Effect<unknown>
}

/** A storage, and the object with which a test controls its commits and lookups. */
const controlled = (storage: Layer.Layer<Crm.StoragePorts, unknown>) => {
  const control: CommitControl = { commitsLeft: Infinity, beforeLookup: Effect.void }
  const layer = Layer.effect(
    Commit,
    Commit.useSync(({ commit }) => ({
      commit: (organization_id, changes) =>
        Effect.suspend(() =>
          control.commitsLeft-- > 0 ? commit(organization_id, changes) : Effect.die(new Error("Killed."))
        )
    }))
  ).pipe(
    Layer.merge(Layer.effect(
      ContactStore,
      ContactStore.useSync((store) => ({
        ...store,
        match: (...value) =>
          Effect.suspend(() => {
            const { beforeLookup } = control
            control.beforeLookup = Effect.void
            return Effect.andThen(beforeLookup, store.match(...value))
          })
      }))
    )),
    Layer.provideMerge(storage)
  )
  return { control, layer }
}

const results = (it: Scene.It) => {
  it.effect("creates, updates, and leaves contacts as they are, in the given order", () =>
    Effect.gen(function*() {
      const { create, everyone, upsert } = yield* begin
      yield* create({ first_name: "Kim", primary_email: "Kim@Acme.example", company: "Acme" })
      yield* create({ first_name: "Eve", primary_email: "eve@acme.example" })
      const contacts = [
        { primary_email: "noor@acme.example", first_name: "Noor" },
        { primary_email: "kim@ACME.example", city: "Bonn" },
        { primary_email: "eve@acme.example", first_name: "Eve", company: null },
        { primary_email: "NOOR@acme.example", last_name: "Ali" }
      ]
      assert.deepStrictEqual(yield* upsert("primary_email", contacts), ["created", "updated", "unchanged", "updated"])
      const found = yield* everyone
      assert.lengthOf(found, 3)
      const kim = found.find(({ first_name }) => first_name === "Kim")
      assert.deepInclude(kim, { company: "Acme", city: "Bonn", primary_email: "kim@ACME.example" })
      const again = [contacts[3], contacts[1], contacts[2]]
      assert.deepStrictEqual(yield* upsert("primary_email", again), ["unchanged", "unchanged", "unchanged"])
      assert.deepStrictEqual(yield* everyone, found)
    }))
}

const matches = (it: Scene.It) => {
  it.effect("finds a contact by a phone in any spelling", () =>
    Effect.gen(function*() {
      const { create, everyone, upsert } = yield* begin
      yield* create({ primary_phone: "+49 151 12345678" })
      assert.deepStrictEqual(
        yield* upsert("primary_phone", [{ primary_phone: "0049 (151) 123-45678", city: "Ulm" }]),
        [
          "updated"
        ]
      )
      assert.lengthOf(yield* everyone, 1)
    }))

  it.effect("finds a contact by an identity, and gives it to a new one", () =>
    Effect.gen(function*() {
      const { everyone, organization_id, upsert } = yield* begin
      const kim = yield* Fixtures.contact(organization_id, { first_name: "Kim" })
      yield* Fixtures.identity(organization_id, kim.id, { channel_type: "photo_social", external_id: "one" }, [
        "alias"
      ])
      const rest = { channel_type: "photo_social" }
      const contacts = [
        { external_id: "one", city: "Ulm" },
        { external_id: "alias", city: "Bonn" },
        { external_id: "two", first_name: "Noor" },
        { external_id: "three" },
        { external_id: "two", first_name: "Noor" }
      ]
      assert.deepStrictEqual(yield* upsert("external_id", contacts, rest), [
        "updated",
        "updated",
        "created",
        "ContactUnnamed",
        "unchanged"
      ])
      const noor = (yield* everyone).find(({ first_name }) => first_name === "Noor")
      assert.deepStrictEqual(
        noor?.identities.map(({ channel_type, external_id }) => [channel_type, external_id]),
        [["photo_social", "two"]]
      )
      const number = [{ external_id: "0049 151 12345678", first_name: "Ada" }, { external_id: "+4915112345678" }]
      assert.deepStrictEqual(yield* upsert("external_id", number, { channel_type: "phone_messaging" }), [
        "created",
        "unchanged"
      ])
    }))

  it.effect("finds a person by a network's ID with spaces at its ends, and by the former number of a Mexican phone", () =>
    Effect.gen(function*() {
      const { upsert } = yield* begin
      const outcomesOf = (channel_type: string, ...ids: ReadonlyArray<string>) =>
        upsert("external_id", ids.map((external_id) => ({ external_id, first_name: "Kim" })), { channel_type })
      const found = ["created", "unchanged", "unchanged"]
      assert.deepStrictEqual(yield* outcomesOf("photo_social", "ig-1", "ig-1 ", "\n ig-1"), found)
      const spellings = ["+5215512345678", "525512345678", "+52 55 1234 5678"]
      assert.deepStrictEqual(yield* outcomesOf("phone_messaging", ...spellings), found)
    }))
}

const rejections = (it: Scene.It) => {
  it.effect("rejects one contact and upserts the others", () =>
    Effect.gen(function*() {
      const { as, create, everyone, upsert } = yield* begin
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

  it.effect("creates another contact where all earlier ones have other values by now", () =>
    Effect.gen(function*() {
      const { as, everyone, upsert } = yield* begin
      const first = [{ primary_phone: "+4915112345678" }]
      for (let round = 0; round < 9; round++) {
        assert.deepStrictEqual(yield* upsert("primary_phone", first), ["created"])
        const found = (yield* everyone).filter(({ primary_phone }) => primary_phone !== null)
        assert.lengthOf(found, 1)
        yield* Effect.forEach(found, ({ id }) =>
          as(Contacts.use((all) => all.update(id, UpdateContact.make({ primary_phone: null })))))
      }
    }))
}

const concurrency = (it: Scene.It) => {
  it.effect("gives one contact to each of the people whom 50 concurrent requests name", () =>
    Effect.gen(function*() {
      const { everyone, upsert } = yield* begin
      const people = Array.from({ length: 20 }, (_, index) => ({ primary_phone: `+4915100000${100 + index}` }))
      const requests = Array.from({ length: 50 }, (_, index) =>
        upsert(
          "primary_phone",
          [...people.slice(index % 20), ...people.slice(0, index % 7)].map((person) => ({
            ...person,
            city: `City ${index}`
          }))
        ))
      const all = (yield* Effect.all(requests, { concurrency: "unbounded" })).flat()
      assert.strictEqual(
        all.filter((outcome) => outcome === "created").length,
        20
      )
      assert.deepStrictEqual(all.filter((outcome) => !["created", "unchanged", "updated"].includes(outcome)), [])
      assert.deepStrictEqual(
        (yield* everyone).map(({ primary_phone }) => primary_phone).toSorted(),
        people.map(({ primary_phone }) => primary_phone)
      )
    }))
}

const interruptions = (it: Scene.It, control: CommitControl) => {
  it.effect("repeats what was done and finishes the rest, after it was killed in the middle", () =>
    Effect.gen(function*() {
      const { as, everyone, request } = yield* begin
      const contacts = Array.from({ length: 10 }, (_, index) => ({ primary_email: `p${index}@acme.example` }))
      control.commitsLeft = 5
      const killed = yield* Effect.exit(request("upsert-1", contacts))
      control.commitsLeft = Infinity
      assert.isTrue(killed._tag === "Failure")
      const before = yield* everyone
      assert.isAbove(before.length, 0)
      assert.isBelow(before.length, 10)
      // A concurrent change stays.
      const [first] = before
      if (first === undefined) return assert.fail("No contact was created.")
      yield* as(Contacts.use((all) => all.addNote(first.id, AddNote.make({ text: "called" }))))
      const done = { outcomes: Array(10).fill("created").join(), replayed: true }
      assert.deepStrictEqual(yield* request("upsert-1", contacts), done)
      assert.deepStrictEqual(yield* request("upsert-1", contacts), done)
      assert.lengthOf(yield* everyone, 10)
      const other = yield* Effect.flip(request("upsert-1", contacts, "e".repeat(64)))
      assert.strictEqual(other._tag, "IdempotencyConflict")
      assert.deepStrictEqual(
        yield* request("upsert-2", contacts),
        { outcomes: Array(10).fill("unchanged").join(), replayed: false }
      )
    }))

  it.effect("keeps the outcome of a contact that its retry created meanwhile, and did not finish", () =>
    Effect.gen(function*() {
      const { request } = yield* begin
      const contacts = [{ primary_email: "a@acme.example" }]
      const otherProcess = Layer.fresh(Crm.layer)
      const services = yield* Layer.build(otherProcess)
      const killed: Array<boolean> = []
      const retry = Effect.gen(function*() {
        // The commits of its start, which finds the used key, and of its contact, but not the one of its response.
        control.commitsLeft = 2
        killed.push(Exit.isFailure(yield* Effect.exit(request("upsert-7", contacts))))
        control.commitsLeft = Infinity
      })
      control.beforeLookup = Effect.provideContext(retry, services)
      assert.strictEqual((yield* request("upsert-7", contacts)).outcomes, "created")
      assert.deepStrictEqual(killed, [true])
      assert.strictEqual((yield* request("upsert-7", contacts)).outcomes, "created")
    }))
}

const keys = (it: Scene.It, control: CommitControl) => {
  it.effect("lets another request with its key write nothing, though it was killed", () =>
    Effect.gen(function*() {
      const { everyone, request } = yield* begin
      const contacts = [{ primary_email: "a@acme.example" }, { primary_email: "b@acme.example" }]
      control.commitsLeft = 1
      yield* Effect.exit(request("upsert-3", contacts))
      control.commitsLeft = Infinity
      const other = [{ primary_email: "c@acme.example" }]
      const rejected = yield* Effect.flip(request("upsert-3", other, "e".repeat(64)))
      assert.strictEqual(rejected._tag, "IdempotencyConflict")
      assert.deepStrictEqual(yield* everyone, [])
      assert.strictEqual((yield* request("upsert-3", contacts)).outcomes, "created,created")
    }))

  it.effect("lets no other operation use its key once it has begun, and ends", () =>
    Effect.gen(function*() {
      const { as, everyone, request } = yield* begin
      const contacts = [{ primary_email: "a@acme.example" }, { primary_email: "b@acme.example" }]
      control.commitsLeft = 1
      yield* Effect.exit(request("upsert-4", contacts))
      control.commitsLeft = Infinity
      const other = { key: IdempotencyKey.make("upsert-4"), fingerprint: "e".repeat(64), request_id: "r" }
      const rejected = yield* Effect.flip(as(Idempotency.use((idempotency) =>
        idempotency.once(other, (record) =>
          Contacts.use((all) =>
            all.create(CreateContact.make({ first_name: "Kim" }), {
              encode: (): Effect.Effect<EncodedResponse> =>
                Effect.succeed({ status: 201, body: new Uint8Array() }),
              record
            })
          ))
      )))
      assert.strictEqual(rejected._tag, "IdempotencyConflict")
      assert.deepStrictEqual(yield* everyone, [])
      assert.strictEqual((yield* request("upsert-4", contacts)).outcomes, "created,created")
    }))

  it.effect("leaves no record of an erased person, whether it has ended or not", () =>
    Effect.gen(function*() {
      const { as, everyone, request } = yield* begin
      for (const [key, commits] of [["upsert-5", 2], ["upsert-6", Infinity]] as const) {
        const emails = [`a-${key}@acme.example`, `b-${key}@acme.example`]
        control.commitsLeft = commits
        yield* Effect.exit(request(key, emails.map((primary_email) => ({ primary_email }))))
        control.commitsLeft = Infinity
        // The contacts of a request are upserted concurrently. Of the one that was killed, either was the first.
        const kim = (yield* everyone).find(({ primary_email }) => emails.includes(primary_email ?? ""))
        if (kim === undefined) return assert.fail("No contact was upserted.")
        yield* as(PersonalData.use((all) => all.erase(kim.id)))
        // The key is unused again.
        const other = yield* request(key, [{ primary_email: `${key}@shop.example` }], "e".repeat(64))
        assert.deepStrictEqual(other, { outcomes: "created", replayed: false })
      }
    }))
}

export const suite = (storage: Layer.Layer<Crm.StoragePorts, unknown>) => {
  const { control, layer } = controlled(storage)

  it.layer(Scene.crm(layer), { timeout: "5 minutes" })("an upsert of contacts", (it) => {
    results(it)
    matches(it)
    rejections(it)
    concurrency(it)
    interruptions(it, control)
    keys(it, control)
  })
}
