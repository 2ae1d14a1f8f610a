/** How requests are read that contain numbers, emails, and IDs as people write and copy them (contract §1.5, §8.3). */
import { assert, describe, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Country } from "@messaging-crm/core/Countries"
import { Organizations, UpdateOrganization } from "@messaging-crm/core/Organizations"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { idempotency, start } from "../testing/Service.ts"
import { makeOrganization } from "./InputScene.ts"

const service = start()
afterAll(() => service.stop())

const abroad = await makeOrganization(service)
const inGermany = await makeOrganization(service)
const germany = inGermany.organization.id
await service.runtime.runPromise(
  Organizations.use((organizations) =>
    organizations.update(UpdateOrganization.make({ default_country: Country.make("DE") }))
  ).pipe(Effect.provideService(CurrentActor, { organization_id: germany, member_id: null }))
)

type Caller = typeof abroad

const create = async ({ write }: Caller, fields: object) => (await write("POST", "/contacts", fields)).body

const list = async ({ key }: Caller, query: Readonly<Record<string, string>>) =>
  await service.request("GET", `/v1/contacts?${new URLSearchParams(query)}`, { key })

describe("a decimal fraction is no number", () => {
  for (const sent of ["4915112345678.0", "14155552671.0"]) {
    it(sent, async () => {
      const { error } = await create(abroad, { primary_phone: sent })
      assert.deepInclude(error, {
        code: "invalid_input",
        param: "primary_phone",
        message:
          "primary_phone must be one phone number that starts with + and the country code, such as +4915112345678."
      })
    })
  }
})

describe("a number that a spreadsheet has rounded is rejected with what to do", () => {
  for (const sent of ["4.91512E+12", "4,91512E+12", "5.1E+10", "4.9e12"]) {
    it(sent, async () => {
      const { error } = await create(abroad, { primary_phone: sent })
      assert.deepInclude(error, {
        code: "invalid_input",
        param: "primary_phone",
        message:
          "primary_phone must be a phone number with all its digits, but a spreadsheet has rounded it; format the column as text and enter the number again."
      })
    })
  }
})

describe("what cannot be seen is not stored", () => {
  const cases = {
    "\u202A+49 151 12345603\u202C": "+4915112345603",
    "\u2068+4915112345604\u2069": "+4915112345604",
    "\u200E+4915112345605": "+4915112345605",
    "+49\u200B15112345606": "+4915112345606",
    "+1\uFE0D-415-555-2671": "+14155552671"
  }
  for (const [sent, right] of Object.entries(cases)) {
    it(right, async () => {
      const { data } = await create(abroad, { primary_phone: sent })
      assert.strictEqual(data.primary_phone, right)
      for (const query of [{ phone: sent }, { query: sent }, { query: right }]) {
        const { body } = await list(abroad, query)
        assert.deepStrictEqual(body.data.map(({ id }: { readonly id: string }) => id), [data.id], JSON.stringify(query))
      }
    })
  }

  it("in an email", async () => {
    const { data } = await create(abroad, { primary_email: "kim@example.com\u200B" })
    assert.strictEqual(data.primary_email, "kim@example.com")
    const { body } = await list(abroad, { email: "\u2068kim@example.com" })
    assert.deepStrictEqual(body.data, [data])
  })

  it("but is named if the value is rejected, in every field", async () => {
    const message = async (fields: object) => (await create(abroad, fields)).error.message
    const ending = "Invisible characters: "
    assert.include(
      await message({ primary_phone: "\u202A0151 123\u00A045678\u202C" }),
      `${ending}U+202A, U+00A0, U+202C.`
    )
    assert.include(await message({ primary_email: "kim\u200B@acme" }), `${ending}U+200B.`)
    assert.strictEqual(
      await message({ birthday: "\u200E1990-02-28" }),
      `birthday must be a calendar date, YYYY-MM-DD. ${ending}U+200E.`
    )
    assert.include(await message({ owner_user_id: `${abroad.owner.id}\uFEFF` }), `${ending}U+FEFF.`)
    assert.include(await message({ first_name: "\u200B".repeat(201) }), `${ending}U+200B.`)
    assert.notInclude(await message({ primary_phone: "0151 12345678" }), ending)
    const marks = Array.from({ length: 20 }, (_, index) => String.fromCodePoint(0xE0101 + index)).join("")
    for (const fields of [{ primary_phone: `0151${marks.slice(0, 40)}` }, { birthday: marks + "1990-02-30" }]) {
      const many = await message(fields)
      assert.match(many, /Invisible characters: (?:U\+[0-9A-F]+, )+…\.$/)
      assert.isBelow(many.length, 160, many)
    }
    assert.include((await list(abroad, { tag_id: `${abroad.tag.id}\u200B` })).body.error.message, `${ending}U+200B.`)
  })
})

describe("the default country of the organization", () => {
  it("reads a number as it is dialed within it, in every operation", async () => {
    const { data } = await create(inGermany, { primary_phone: "0151 23456701" })
    assert.strictEqual(data.primary_phone, "+4915123456701")
    const path = `/contacts/${data.id}`
    const updated = await inGermany.write("PATCH", path, { primary_phone: "(0151) 23456702" })
    assert.strictEqual(updated.body.data.primary_phone, "+4915123456702")
    for (const query of [{ phone: "0151/23456702" }, { query: "0151 23456702" }]) {
      assert.deepStrictEqual((await list(inGermany, query)).body.data, [updated.body.data])
    }
    const upsert = { match: "primary_phone", contacts: [{ primary_phone: "0151 23456702", city: "Ulm" }] }
    const { results } = (await inGermany.write("POST", "/contacts/upsert", upsert)).body.data
    assert.deepStrictEqual(results, [{ outcome: "updated", contact_id: data.id, error: null }])
    const { channel, template } = inGermany
    const body = { channel_id: channel.id, phone: "0151 23456702", template }
    const started = await inGermany.write("POST", "/conversations", body)
    assert.strictEqual(started.status, 202)
    const conversation = (await service.request("GET", `/v1/conversations/${started.body.data.conversation_id}`, {
      key: inGermany.key
    })).body.data
    assert.deepInclude(conversation.contact, { id: data.id, external_id: "+4915123456702" })
  })

  it("is part of how a repeated request is recognized", async () => {
    const sent = { key: inGermany.key, ...idempotency() }
    const first = await service.request("POST", "/v1/contacts", { ...sent, json: { primary_phone: "0151 23456703" } })
    const again = await service.request("POST", "/v1/contacts", { ...sent, json: { primary_phone: "+4915123456703" } })
    assert.deepStrictEqual([first.status, again.status, again.text], [201, 201, first.text])
    assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
  })

  it("is not that of another organization", async () => {
    for (const primary_phone of ["0151 12345678", "(646) 555-1234", "6465551234", "612345678"]) {
      assert.strictEqual((await create(abroad, { primary_phone })).error.param, "primary_phone", primary_phone)
    }
    const { error } = await create(inGermany, { primary_phone: "(646) 555-1234" })
    assert.strictEqual(
      error.message,
      "primary_phone must be one phone number, as it is dialed within DE or with + and the country code."
    )
  })
})
