/** Tests of the guarantees of a contact import with any storage: each contact is created once, and no existing contact changes. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { ContactImports } from "@messaging-crm/core/ContactImports"
import { CreateContact } from "@messaging-crm/core/Contacts"
import { MemberId } from "@messaging-crm/core/Ids"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Arbitrary, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { hardText, integer } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import type { Options } from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"

/** An organization with a tag and two contact fields, and the calls of the tests. */
const makeScene = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const { id: owner_user_id } = yield* Fixtures.member(organization_id)
  const as = Effect.provideService(CurrentActor, { organization_id, member_id: null })
  const vip = yield* Tags.use((tags) => tags.create(CreateTag.make({ name: "VIP", color: "red" }))).pipe(
    as,
    Effect.orDie
  )
  const field = (key: string, type: "text" | "number") =>
    ContactFields.use((fields) => fields.create(CreateContactField.make({ key, name: key, type, options: null }))).pipe(
      as,
      Effect.orDie
    )
  const customer_number = yield* field("customer_number", "text")
  const visits = yield* field("visits", "number")
  const add = (inputs: ReadonlyArray<CreateContact>) => as(ContactImports.use((imports) => imports.add(inputs)))
  const importTable = (columns: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>, key?: string) =>
    ContactImports.use((imports) =>
      Effect.flatMap(imports.open(columns, key ?? null), (table) => imports.addRows(table, rows))
    ).pipe(as, Effect.orDie)
  const contacts = Fixtures.contacts(organization_id, {}, { after: null, size: 999 })
  return { add, as, contacts, customer_number, importTable, organization_id, owner_user_id, vip, visits }
})

/** The result of each contact, an error by its tag. */
const outcomes = (results: ReadonlyArray<Result.Result<string, { readonly _tag: string }>>) =>
  results.map(Result.match({ onSuccess: (arrival) => arrival, onFailure: ({ _tag }) => _tag }))

const written = Arbitrary.array(
  Arbitrary.all({
    first_name: hardText({ min: 1, max: 4 }),
    notes: Arbitrary.array(hardText({ min: 1, max: 100 }), { maxLength: 1 })
  }),
  { minLength: 1, maxLength: 8 }
)

const contactsCreated = (it: Scene.It, { runs }: Options) => {
  it.effect.prop("creates each contact once, in any portions and any number of repetitions", {
    written,
    size: integer({ min: 1, max: 3 })
  }, ({ size, written }) =>
    Effect.gen(function*() {
      const { add, contacts } = yield* makeScene
      const inputs = written.map(({ first_name, notes: [notes] }) =>
        CreateContact.make(notes === undefined ? { first_name } : { first_name, notes })
      )
      const distinct = new Set(inputs.map(({ first_name, notes }) => JSON.stringify([first_name, notes])))
      const portions = inputs.flatMap((_, index) => index % size === 0 ? [add(inputs.slice(index, index + size))] : [])
      const results = yield* Effect.all([...portions, add(inputs), ...portions], { concurrency: "unbounded" })
      assert.lengthOf(outcomes(results.flat()).filter((arrival) => arrival === "created"), distinct.size)
      const before = yield* contacts
      assert.lengthOf(before, distinct.size)
      yield* TestClock.adjust("1 minute")
      assert.notInclude(outcomes(yield* add(inputs.toReversed())), "created")
      assert.deepStrictEqual(yield* contacts, before)
    }), { arbitrary: { runs: Math.min(runs, 50) } })

  it.effect("identifies contacts with equivalent values as one", () =>
    Effect.gen(function*() {
      const { add, vip, visits } = yield* makeScene
      const kim = CreateContact.make({ first_name: "Kim", tag_ids: [vip.id], custom_values: { [visits.id]: "3" } })
      const again = CreateContact.make({
        tag_ids: [vip.id, vip.id],
        custom_values: { [visits.id]: "3" },
        last_name: null,
        first_name: "Kim"
      })
      const other = CreateContact.make({ ...kim, custom_values: { [visits.id]: "4" } })
      assert.deepStrictEqual(outcomes(yield* add([kim, again, other])), ["created", "unchanged", "created"])
    }))
}

const keyedRows = (it: Scene.It) => {
  it.effect("identifies the rows of a key column by canonical values, emails regardless of case", () =>
    Effect.gen(function*() {
      const { importTable } = yield* makeScene
      const emails = ["kim@shop.example", "KIM@Shop.Example", "lee@shop.example"].map((email) => [email])
      assert.deepStrictEqual(
        outcomes(yield* importTable(["primary_email"], emails, "primary_email")),
        ["created", "unchanged", "created"]
      )
      const phones = [["+49 151 12345678"], ["0049 151 12345678"]]
      assert.deepStrictEqual(
        outcomes(yield* importTable(["primary_phone"], phones, "primary_phone")),
        ["created", "unchanged"]
      )
    }))
}

const contactsRejected = (it: Scene.It) => {
  it.effect("rejects what cannot be created, and creates the rest", () =>
    Effect.gen(function*() {
      const { add, contacts, vip, visits } = yield* makeScene
      const { vip: foreign } = yield* makeScene
      const absent = MemberId.make(yield* Fixtures.uuid)
      const results = yield* add([
        CreateContact.make({ first_name: "Kim", tag_ids: [vip.id] }),
        CreateContact.make({ company: "Acme" }),
        CreateContact.make({ first_name: "Kim", owner_user_id: absent }),
        CreateContact.make({ first_name: "Kim", custom_values: { [absent]: "3" } }),
        CreateContact.make({ first_name: "Kim", custom_values: { [visits.id]: "often" } }),
        CreateContact.make({ first_name: "Kim", tag_ids: [foreign.id] }),
        CreateContact.make({ first_name: "Lee" })
      ])
      assert.deepStrictEqual(outcomes(results), [
        "created",
        "ContactUnnamed",
        "ReferenceUnknown",
        "ReferenceUnknown",
        "CustomValueInvalid",
        "ReferenceUnknown",
        "created"
      ])
      assert.lengthOf(yield* contacts, 2)
    }))
}

const rowsRead = (it: Scene.It) => {
  it.effect("reads a row as its columns say", () =>
    Effect.gen(function*() {
      const { contacts, customer_number, importTable, owner_user_id, vip, visits } = yield* makeScene
      const columns = ["first_name", "primary_phone", "owner_user_id", "tags", "custom_values.visits"]
      const otherColumns = [`custom_values.${customer_number.id}`, "notes"]
      const cells = [" Kim ", "0049 151 12345678", owner_user_id.toUpperCase(), "vip; ", "3", "A-1", "a\r\nb"]
      assert.deepStrictEqual(outcomes(yield* importTable([...columns, ...otherColumns], [cells])), ["created"])
      const [contact] = yield* contacts
      assert.deepInclude(contact, {
        first_name: "Kim",
        last_name: null,
        primary_phone: "+4915112345678",
        owner_user_id,
        tags: [vip],
        custom_values: { [visits.id]: "3", [customer_number.id]: "A-1" },
        notes: "a\r\nb"
      })
    }))

  it.effect("rejects rows, and imports those around them", () =>
    Effect.gen(function*() {
      const { contacts, importTable } = yield* makeScene
      const results = yield* importTable(["first_name", "primary_phone", "tags"], [
        ["Ada", "", ""],
        ["Ada"],
        ["Ada", "12", ""],
        ["Ada", "", "vip;unheard"],
        ["Ad\uFFFD", "", ""],
        ["", "", "vip"],
        ["Bob", "", ""],
        ["Ada", " ", ""]
      ])
      const rejected = ["CellsMismatch", "SchemaError", "TagUnknown", "TextBroken", "ContactUnnamed"]
      assert.deepStrictEqual(outcomes(results), ["created", ...rejected, "created", "unchanged"])
      assert.lengthOf(yield* contacts, 2)
    }))
}

const rowsIdentified = (it: Scene.It) => {
  it.effect("identifies rows by the key alone, and leaves an existing contact with that key unchanged", () =>
    Effect.gen(function*() {
      const { contacts, importTable } = yield* makeScene
      const columns = ["first_name", "custom_values.customer_number"]
      const key = "custom_values.customer_number"
      const first = yield* importTable(columns, [["Kim", "A-1"], ["Lee", "A-2"], ["Kim", ""]], key)
      assert.deepStrictEqual(outcomes(first), ["created", "created", "KeyMissing"])
      const before = yield* contacts
      const second = yield* importTable(columns, [["Kimberley", "A-1"], ["Kim", "A-3"]], key)
      assert.deepStrictEqual(outcomes(second), ["unchanged", "created"])
      assert.includeDeepMembers([...yield* contacts], [...before])
      assert.lengthOf(yield* contacts, 3)
    }))

  it.effect("imports the same into two organizations", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* makeScene, yield* makeScene]
      assert.deepStrictEqual(outcomes(yield* ours.add([CreateContact.make({ first_name: "Kim" })])), ["created"])
      assert.deepStrictEqual(outcomes(yield* theirs.add([CreateContact.make({ first_name: "Kim" })])), ["created"])
    }))
}

export const journeyTests = (storage: Scene.Storage, options: Options) => {
  const crm = Scene.crm(storage)

  it.layer(crm, { timeout: "5 minutes" })("an import of contacts", (it) => {
    contactsCreated(it, options)
    keyedRows(it)
    contactsRejected(it)
    rowsRead(it)
    rowsIdentified(it)
  })
}
