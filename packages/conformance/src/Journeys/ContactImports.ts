/** Tests of the guarantees of a contact import with any storage: each contact is created once, and no existing contact changes. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { ContactImports, type ImportMode, makePreview, type UpsertKey } from "@messaging-crm/core/ContactImports"
import { CreateContact } from "@messaging-crm/core/Contacts"
import { MemberId } from "@messaging-crm/core/Ids"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Arbitrary, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { integer, literal, visibleHardText } from "../Arbitraries.ts"
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
  const importTable = (
    columns: ReadonlyArray<string>,
    rows: ReadonlyArray<ReadonlyArray<string>>,
    key?: string,
    mode?: ImportMode
  ) =>
    ContactImports.use((imports) =>
      Effect.flatMap(imports.open(columns, key ?? null), (table) => imports.addRows(table, rows, mode))
    ).pipe(as, Effect.orDie)
  const upsertTable = (
    columns: ReadonlyArray<string>,
    rows: ReadonlyArray<ReadonlyArray<string>>,
    key: UpsertKey,
    mode?: ImportMode
  ) =>
    ContactImports.use((imports) =>
      Effect.flatMap(imports.open(columns, key), (table) => imports.upsertRows(table, key, rows, mode))
    ).pipe(as, Effect.orDie)
  const contacts = Fixtures.contacts(organization_id, {}, { after: null, size: 999 })
  return { add, as, contacts, customer_number, importTable, organization_id, owner_user_id, upsertTable, vip, visits }
})

/** The result of each contact, an error by its tag. */
const outcomes = (results: ReadonlyArray<Result.Result<string, { readonly _tag: string }>>) =>
  results.map(Result.match({ onSuccess: (arrival) => arrival, onFailure: ({ _tag }) => _tag }))

const written = Arbitrary.array(
  Arbitrary.all({
    first_name: visibleHardText({ min: 1, max: 4 }),
    notes: Arbitrary.array(visibleHardText({ min: 1, max: 100 }), { maxLength: 1 })
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

const columns = ["first_name", "primary_phone", "primary_email"]
const [phone, other_phone] = ["+49 151 12345678", "+49 151 12345679"]

const secondContacts = (it: Scene.It) => {
  it.effect("creates no second contact with a phone or an email, unless it is allowed", () =>
    Effect.gen(function*() {
      const { contacts, importTable } = yield* makeScene
      const rows = [["Kim", phone, "kim@shop.example"], ["Lee", "", "lee@shop.example"], ["Max", "", ""]]
      const created = ["created", "created", "created"]
      assert.deepStrictEqual(outcomes(yield* importTable(columns, rows)), created)
      const before = yield* contacts
      const keyed = yield* importTable(columns, rows.slice(0, 2), "primary_email")
      assert.deepStrictEqual(outcomes(keyed), ["ContactExists", "ContactExists"])
      const changed = [["Kimberley", "0049 151 12345678", ""], ["Lee", other_phone, "LEE@shop.example"], [
        "Max",
        "",
        ""
      ]]
      assert.deepStrictEqual(outcomes(yield* importTable(columns, changed)), [
        "ContactExists",
        "ContactExists",
        "unchanged"
      ])
      assert.deepStrictEqual(yield* contacts, before)
      const allowed: ImportMode = { allows_duplicates: true, preview: null }
      assert.deepStrictEqual(
        outcomes(yield* importTable(columns, rows.slice(0, 2), "primary_email", allowed)),
        created.slice(1)
      )
      // Each has its contact now, so nothing would be created.
      assert.deepStrictEqual(outcomes(yield* importTable(columns, rows.slice(0, 2), "primary_email")), [
        "unchanged",
        "unchanged"
      ])
      assert.lengthOf(yield* contacts, 5)
    }))

  it.effect("creates no second contact for an earlier row, whether or not it is in the same portion", () =>
    Effect.gen(function*() {
      const rows = [["Kim", phone, ""], ["Lee", phone, ""], ["Kim", phone, ""], ["Max", other_phone, ""]]
      const expected = ["created", "ContactExists", "unchanged", "created"]
      const one = yield* makeScene
      assert.deepStrictEqual(outcomes(yield* one.importTable(columns, rows)), expected)
      assert.deepStrictEqual(outcomes(yield* one.importTable(columns, rows)), [
        "unchanged",
        "ContactExists",
        "unchanged",
        "unchanged"
      ])
      const each = yield* makeScene
      const results = yield* Effect.forEach(rows, (row) => each.importTable(columns, [row]))
      assert.deepStrictEqual(outcomes(results.flat()), expected)
    }))

  it.effect("creates no second contact by an upsert whose key is new and whose other value is not", () =>
    Effect.gen(function*() {
      const { contacts, importTable, upsertTable } = yield* makeScene
      yield* importTable(columns, [["Kim", phone, "kim@shop.example"]])
      const moved = [["Kim", other_phone, "Kim@shop.example"]]
      assert.deepStrictEqual(outcomes(yield* upsertTable(columns, moved, "primary_phone")), ["ContactExists"])
      assert.lengthOf(yield* contacts, 1)
      assert.deepStrictEqual(outcomes(yield* upsertTable(columns, moved, "primary_email")), ["updated"])
      assert.lengthOf(yield* contacts, 1)
      const allowed: ImportMode = { allows_duplicates: true, preview: null }
      const back = [["Kim", phone, "kim@shop.example"]]
      assert.deepStrictEqual(outcomes(yield* upsertTable(columns, back, "primary_phone", allowed)), ["created"])
      assert.lengthOf(yield* contacts, 2)
    }))

  it.effect("counts no value of an earlier row that is rejected", () =>
    Effect.gen(function*() {
      const { upsertTable } = yield* makeScene
      const named = [...columns, "custom_values.visits"]
      const rows = [["Kim", phone, "kim@shop.example", "often"], ["Lee", other_phone, "kim@shop.example", "3"]]
      const expected = ["CustomValueInvalid", "created"]
      const preview: ImportMode = { allows_duplicates: false, preview: makePreview() }
      assert.deepStrictEqual(outcomes(yield* upsertTable(named, rows, "primary_phone", preview)), expected)
      assert.deepStrictEqual(outcomes(yield* upsertTable(named, rows, "primary_phone")), expected)
    }))
}

const name = literal("", "Kim", "Lee")

/** Rows of few people, so that many have the same values. */
const row = Arbitrary.all({
  first_name: name,
  phone: literal("", "", phone, other_phone, "12"),
  email: literal("", "", "kim@shop.example", "Kim@shop.example", "lee@shop.example")
}).pipe(Arbitrary.map(({ email, first_name, phone }) => [first_name, phone, email]))

/** Rows of few people whose email always comes with one phone, or none. An update then takes no value from a contact. */
const upsertRow = Arbitrary.all({
  first_name: name,
  person: integer({ min: 0, max: 3 }),
  without: literal("", "", "phone", "email")
}).pipe(Arbitrary.map(({ first_name, person, without }) => {
  const [phones, emails] = [[phone, other_phone, phone, "12"], ["kim@shop.example", "lee@shop.example", "", ""]]
  return [first_name, without === "phone" ? "" : phones[person] ?? "", without === "email" ? "" : emails[person] ?? ""]
}))

const previews = (it: Scene.It, { runs }: Options) => {
  it.effect.prop("previews what an import then does, and writes nothing", {
    before: Arbitrary.array(row, { maxLength: 4 }),
    rows: Arbitrary.array(row, { minLength: 1, maxLength: 8 }),
    upserts: Arbitrary.array(upsertRow, { minLength: 1, maxLength: 8 }),
    key: literal("", "primary_phone", "primary_email"),
    updates: literal(true, false),
    allows_duplicates: literal(true, false),
    size: integer({ min: 1, max: 4 })
  }, ({ allows_duplicates, before, key, rows, size, updates, upserts }) =>
    Effect.gen(function*() {
      const { contacts, importTable, upsertTable } = yield* makeScene
      const isUpsert = updates && key !== ""
      if (isUpsert) yield* upsertTable(columns, upserts.slice(0, 3).toReversed(), key)
      else yield* importTable(columns, before, undefined, { allows_duplicates: true, preview: null })
      const all = isUpsert ? upserts : rows
      const portions = all.flatMap((_, index) => index % size === 0 ? [all.slice(index, index + size)] : [])
      const run = (mode: ImportMode) =>
        Effect.forEach(portions, (portion) =>
          isUpsert
            ? upsertTable(columns, portion, key, mode)
            : importTable(columns, portion, key === "" ? undefined : key, mode)).pipe(
            Effect.map((results) => outcomes(results.flat()))
          )
      const unchanged = yield* contacts
      const previewed = yield* run({ allows_duplicates, preview: makePreview() })
      assert.deepStrictEqual(yield* contacts, unchanged)
      assert.deepStrictEqual(previewed, yield* run({ allows_duplicates, preview: null }))
    }), { arbitrary: { runs: Math.min(runs, 50) } })
}

export const journeyTests = (storage: Scene.Storage, options: Options) => {
  const crm = Scene.crm(storage)

  it.layer(crm, { timeout: "5 minutes" })("an import of contacts", (it) => {
    contactsCreated(it, options)
    keyedRows(it)
    contactsRejected(it)
    rowsRead(it)
    rowsIdentified(it)
    secondContacts(it)
    previews(it, options)
  })
}
