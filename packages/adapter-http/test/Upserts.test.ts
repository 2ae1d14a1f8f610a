/** `POST /contacts/upsert`. */
import { assert, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { idempotency, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

const upserting = (key: string) => (json: unknown, idempotencyKey?: string) =>
  service.request("POST", "/v1/contacts/upsert", { key, json, ...idempotency(idempotencyKey) })

interface Result {
  readonly outcome: string
  readonly contact_id: string | null
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null } | null
}

it("shows the outcome of each contact, and replays the response", async () => {
  const { key } = await service.organization()
  const upsert = upserting(key)
  for (let copy = 0; copy < 2; copy++) {
    const json = { primary_email: "two@shop.example" }
    await service.request("POST", "/v1/contacts", { key, json, ...idempotency() })
  }
  const contacts = [
    { primary_email: "kim@shop.example", first_name: "Kim" },
    { primary_email: "two@shop.example", city: "Bonn" },
    { primary_email: "eve@shop.example", tag_ids: ["01990000-0000-7000-8000-000000000000"] }
  ]
  const first = await upsert({ match: "primary_email", contacts }, "customers-1")
  assert.strictEqual(first.status, 200, first.text)
  const results: ReadonlyArray<Result> = first.body.data.results
  assert.deepStrictEqual(results.map(({ outcome }) => outcome), ["created", "failed", "failed"])
  const [created, ambiguous, unknown] = results
  const read = await service.request("GET", `/v1/contacts/${created?.contact_id}`, { key })
  assert.deepInclude(read.body.data, { first_name: "Kim", primary_email: "kim@shop.example" })
  assert.isNull(created?.error)
  assert.isNull(ambiguous?.contact_id)
  assert.deepInclude(ambiguous?.error, { code: "conflict", param: "primary_email" })
  assert.deepInclude(unknown?.error, { code: "invalid_input", param: "tag_ids" })
  const again = await upsert({ match: "primary_email", contacts }, "customers-1")
  assert.strictEqual(again.text, first.text)
  assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
  const other = await upsert({ match: "primary_email", contacts: contacts.slice(1) }, "customers-1")
  assert.deepStrictEqual([other.status, other.body.error.code], [409, "idempotency_conflict"])
  const next = await upsert({ match: "primary_email", contacts: contacts.slice(0, 1) })
  assert.deepStrictEqual(next.body.data.results, [{ ...created, outcome: "unchanged" }])
})

it("upserts nothing under a key that another operation used", async () => {
  const { key } = await service.organization()
  const used = { key, json: { first_name: "Kim" }, ...idempotency("customers-1") }
  assert.strictEqual((await service.request("POST", "/v1/contacts", used)).status, 201)
  const contacts = [{ primary_email: "kim@shop.example" }]
  const response = await upserting(key)({ match: "primary_email", contacts }, "customers-1")
  assert.deepStrictEqual([response.status, response.body.error?.code], [409, "idempotency_conflict"])
  const found = await service.request("GET", "/v1/contacts?email=kim%40shop.example", { key })
  assert.deepStrictEqual(found.body.data, [])
})

it("accepts 1 to 100 contacts, each with the value of the match", async () => {
  const { key } = await service.organization()
  const upsert = upserting(key)
  const person = (index: number) => ({ primary_phone: `+49151000${String(index).padStart(5, "0")}` })
  const many = await upsert({
    match: "primary_phone",
    contacts: Array.from({ length: 100 }, (_, index) => person(index))
  })
  assert.lengthOf(many.body.data.results, 100, many.text)
  for (
    const [json, param] of [
      [{}, "match"],
      [{ match: "id", contacts: [{}] }, "match"],
      [{ match: "primary_phone" }, "contacts"],
      [{ match: "primary_phone", contacts: [] }, "contacts"],
      [{ match: "primary_phone", contacts: Array.from({ length: 101 }, (_, index) => person(index)) }, "contacts"],
      [{ match: "primary_phone", contacts: [person(1), { first_name: "Kim" }] }, "contacts.1.primary_phone"],
      [{ match: "primary_phone", contacts: [{ primary_phone: null }] }, "contacts.0.primary_phone"],
      [{ match: "primary_email", contacts: [{ primary_email: " " }] }, "contacts.0.primary_email"],
      [{ match: "primary_phone", contacts: [person(1), { primary_phone: "0151" }] }, "contacts.1.primary_phone"],
      [{ match: "primary_phone", contacts: [{ ...person(1), birthday: "soon" }] }, "contacts.0.birthday"],
      [{ match: "primary_phone", contacts: [{ ...person(1), id: "x" }] }, "contacts.0.id"],
      [{ match: "primary_phone", contacts: [{ ...person(1), external_id: "x" }] }, "contacts.0.external_id"],
      [{ match: "primary_phone", channel_type: "photo_social", contacts: [person(1)] }, "channel_type"],
      [{ match: "external_id", contacts: [{ external_id: "x" }] }, "channel_type"],
      [
        { match: "external_id", channel_type: "photo_social", contacts: [{ external_id: "" }] },
        "contacts.0.external_id"
      ],
      [
        { match: "external_id", channel_type: "photo_social", contacts: [{ external_id: "x".repeat(501) }] },
        "contacts.0.external_id"
      ]
    ] as const
  ) {
    const response = await upsert(json)
    assert.strictEqual(response.status, 400, JSON.stringify(json).slice(0, 100))
    assert.strictEqual(response.body.error.param, param)
  }
  const longest = { external_id: "x".repeat(500), first_name: "Kim" }
  const found = await upsert({ match: "external_id", channel_type: "photo_social", contacts: [longest] })
  assert.strictEqual(found.body.data.results[0].outcome, "created")
})

it("is available at its path only, and requires a key and the scope", async () => {
  const { key, organization, owner } = await service.organization()
  const json = { match: "primary_phone", contacts: [{ primary_phone: "+4915112345678" }] }
  const keyless = await service.request("POST", "/v1/contacts/upsert", { key, json })
  assert.strictEqual(keyless.body.error.code, "missing_idempotency_key")
  const reader = await service.keyWith({ organization_id: organization.id, member_id: owner.id }, ["contacts:read"])
  assert.strictEqual((await upserting(reader)(json)).status, 403)
  assert.strictEqual((await service.request("GET", "/v1/contacts/upsert", { key })).status, 405)
})
