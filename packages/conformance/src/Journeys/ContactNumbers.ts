/** Tests of how numbers, emails, and IDs find a contact with any storage, as people write and copy them (contract §8.3). */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Audit } from "@messaging-crm/core/Audit"
import { ContactImports } from "@messaging-crm/core/ContactImports"
import { type ContactFilters, Contacts, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { Country, DefaultCountry } from "@messaging-crm/core/Countries"
import { CreateOrganization, Organizations, UpdateOrganization } from "@messaging-crm/core/Organizations"
import { Effect, Result, Schema } from "effect"
import * as Scene from "./JourneyScene.ts"

const number = "+4915112345678"

/** An organization with a default country or none, and its operations as its operator and its keys run them. */
const makeScene = Effect.fnUntraced(function*(default_country: string | null) {
  const country = default_country === null ? null : Country.make(default_country)
  const { organization } = yield* Organizations.use((organizations) =>
    organizations.create(CreateOrganization.make({
      name: "Acme",
      owner_name: "Ada",
      owner_email: "ada@acme.example",
      default_country: country
    }))
  )
  const as = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: null }),
      Effect.provideService(DefaultCountry, country)
    )
  const create = (fields: unknown) =>
    as(Effect.flatMap(
      Schema.decodeUnknownEffect(CreateContact)(fields),
      (input) => Contacts.use((contacts) => contacts.create(input))
    ))
  const update = (id: Parameters<Contacts["Service"]["update"]>[0], fields: unknown) =>
    as(Effect.flatMap(
      Schema.decodeUnknownEffect(UpdateContact)(fields),
      (input) => Contacts.use((contacts) => contacts.update(id, input))
    ))
  const upsert = (body: unknown) =>
    as(Effect.flatMap(
      Schema.decodeUnknownEffect(UpsertContacts)(body),
      (input) => ContactUpserts.use((upserts) => upserts.upsert(input))
    ))
  const found = (filters: Partial<ContactFilters>) =>
    as(Effect.map(
      Contacts.use((contacts) => contacts.list({ cursor: null, page_size: 50, ...filters })),
      ({ data }) => data.map(({ id }) => id)
    ))
  const importRows = (columns: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>, key: string | null) =>
    as(
      ContactImports.use((imports) =>
        Effect.flatMap(imports.open(columns, key), (table) => imports.addRows(table, rows))
      )
    )
  return { as, create, found, importRows, organization, update, upsert }
})

const outcomes = (results: ReadonlyArray<Result.Result<unknown, { readonly _tag: string }>>) =>
  results.map(Result.match({ onSuccess: (outcome) => outcome, onFailure: ({ _tag }) => _tag }))

const copiedValues = (it: Scene.It) => {
  it.effect("stores and finds a contact whatever cannot be seen in its values", () =>
    Effect.gen(function*() {
      const { create, found, update, upsert } = yield* makeScene(null)
      const copied = {
        first_name: "Kim\u200D",
        primary_phone: "\u202A+49\u00A0151\u201112345678\u202C",
        primary_email: "\uFEFFkim@\u00ADacme.example\u200B"
      }
      const contact = yield* create(copied)
      assert.deepInclude(contact, {
        first_name: "Kim\u200D",
        primary_phone: number,
        primary_email: "kim@acme.example"
      })
      const queries = [
        copied.primary_phone,
        copied.primary_email,
        "٠٠٤٩١٥١١٢٣٤٥٦٧٨",
        "\u2068kim@acme",
        "+４９１５１",
        "kim"
      ]
      for (const query of queries) assert.deepStrictEqual(yield* found({ query }), [contact.id], query)
      const city = (name: string) => ({ city: name })
      const by = (match: string, value: object) => upsert({ match, contacts: [value] })
      const upserted = [
        yield* by("primary_phone", { primary_phone: "\u2068+49 151 12345678\u2069", ...city("Ulm") }),
        yield* by("primary_email", { primary_email: "kim\u200B@acme.example", ...city("Bonn") })
      ]
      for (const [result] of upserted) {
        assert.deepStrictEqual(result, Result.succeed({ id: contact.id, outcome: "updated" }))
      }
      const network = { match: "external_id", channel_type: "photo_social" }
      yield* upsert({ ...network, contacts: [{ external_id: "\u200E1784\u200F", first_name: "Lee" }] })
      const again = yield* upsert({ ...network, contacts: [{ external_id: " 1784\u2060", first_name: "Lee" }] })
      assert.deepStrictEqual(outcomes(again).map((outcome) => (outcome as { outcome: string }).outcome), ["unchanged"])
      const changed = yield* update(contact.id, { primary_phone: "+49\u200B15112345679" })
      assert.strictEqual(changed.primary_phone, "+4915112345679")
    }))

  it.effect("imports a number once, whatever cannot be seen in the cell of the key", () =>
    Effect.gen(function*() {
      const { found, importRows } = yield* makeScene(null)
      const numbers = [number, "\u202A+49 151 12345678\u202C", "+49\u200B15112345678", "+1\uFE0D-415-555-2671"]
      const rows = numbers.map((cell) => [cell])
      assert.deepStrictEqual(
        outcomes(yield* importRows(["primary_phone"], rows, "primary_phone")),
        ["created", "unchanged", "unchanged", "created"]
      )
      assert.lengthOf(yield* found({ phone: "+14155552671" }), 1)
      const emails = [["kim@acme.example"], ["KIM@acme.example\u200B"], ["mailto:kim@acme.example"], [
        "kim@acme.example;"
      ]]
      assert.deepStrictEqual(
        outcomes(yield* importRows(["primary_email"], emails, "primary_email")),
        ["created", "unchanged", "unchanged", "SchemaError"]
      )
    }))
}

const defaultCountries = (it: Scene.It) => {
  it.effect("reads numbers as they are dialed within the default country, and rejects them without one", () =>
    Effect.gen(function*() {
      const { create, found, importRows, upsert } = yield* makeScene("DE")
      const contact = yield* create({ primary_phone: "0151 12345678" })
      assert.strictEqual(contact.primary_phone, number)
      assert.deepStrictEqual(yield* found({ query: "(0151) 123-45678" }), [contact.id])
      const [upserted] = yield* upsert({
        match: "primary_phone",
        contacts: [{ primary_phone: "0151/12345678", city: "Ulm" }]
      })
      assert.deepStrictEqual(upserted, Result.succeed({ id: contact.id, outcome: "updated" }))
      const people = { match: "external_id", channel_type: "phone_messaging" }
      yield* upsert({ ...people, contacts: [{ external_id: "0151 12345678", first_name: "Kim" }] })
      assert.lengthOf(yield* found({ external_id: number }), 1)
      const rows = [["0151 12345679"], ["+49 151 12345679"], ["(646) 555-1234"]]
      assert.deepStrictEqual(
        outcomes(yield* importRows(["primary_phone"], rows, "primary_phone")),
        ["created", "unchanged", "SchemaError"]
      )
      const other = yield* makeScene(null)
      for (const primary_phone of ["0151 12345678", "(646) 555-1234", "6465551234", "4915112345678.0"]) {
        const error = yield* Effect.flip(other.create({ primary_phone }))
        assert.strictEqual(error._tag, "SchemaError", primary_phone)
      }
      assert.deepStrictEqual(yield* other.found({}), [])
    }))

  it.effect("changes the default country of one organization, with an audit record", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* makeScene(null), yield* makeScene("GB")]
      const set = (default_country: string | null) =>
        ours.as(Organizations.use((organizations) =>
          organizations.update(
            UpdateOrganization.make({
              default_country: default_country === null ? null : Country.make(default_country)
            })
          )
        ))
      const stored = ({ organization }: typeof ours) =>
        Effect.map(
          Organizations.use((organizations) => organizations.get(organization.id)),
          ({ default_country }) => default_country
        )
      assert.strictEqual((yield* set("DE")).default_country, "DE")
      assert.strictEqual((yield* set("DE")).default_country, "DE")
      assert.deepStrictEqual([yield* stored(ours), yield* stored(theirs)], ["DE", "GB"])
      assert.isNull((yield* set(null)).default_country)
      const records = yield* ours.as(
        Audit.use((audit) =>
          audit.list({ resource_id: ours.organization.id, key_id: null, member_id: null, before: null }, 10)
        )
      )
      // The second update changed nothing.
      assert.deepStrictEqual(
        records.map(({ operation }) => operation),
        ["organizations.update", "organizations.update", "organizations.create"]
      )
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("the numbers, emails, and IDs of contacts", (it) => {
    copiedValues(it)
    defaultCountries(it)
  })
}
