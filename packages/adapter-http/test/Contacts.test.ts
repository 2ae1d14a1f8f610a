/** `/contacts`. */
import { assert, describe, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactFields } from "@messaging-crm/core/ContactFields"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { idempotency, start } from "./Service.ts"

const service = start()
afterAll(() => service.stop())

const absent = "01990000-0000-7000-8000-000000000000"

describe("create", () => {
  it("answers 201 with every field, absent ones null", async () => {
    const { key, owner } = await service.organization()
    const tag = await service.request("POST", "/v1/tags", { key, json: { name: "VIP", color: "amber" } })
    const json = {
      first_name: " Ada ",
      last_name: "Lovelace",
      primary_email: "ada@example.org",
      primary_phone: "0049 (151) 123-456.78",
      company: "",
      birthday: "1815-12-10",
      website_url: "https://example.org/a",
      notes: "  kept as sent ",
      owner_user_id: owner.id.toUpperCase(),
      lead_status: "open_deal",
      lifecycle_stage: "customer",
      tag_ids: [tag.body.data.id, tag.body.data.id]
    }
    const created = await service.request("POST", "/v1/contacts", { key, json, ...idempotency() })
    assert.strictEqual(created.status, 201)
    const { data } = created.body
    assert.deepStrictEqual(data, {
      id: data.id,
      first_name: "Ada",
      last_name: "Lovelace",
      primary_email: "ada@example.org",
      primary_phone: "+4915112345678",
      company: null,
      job_title: null,
      birthday: "1815-12-10",
      city: null,
      region: null,
      country: null,
      street_address: null,
      postal_code: null,
      website_url: "https://example.org/a",
      network_url: null,
      source: null,
      notes: "  kept as sent ",
      owner_user_id: owner.id,
      lead_status: "open_deal",
      lifecycle_stage: "customer",
      custom_values: {},
      identities: [],
      tags: [tag.body.data],
      last_activity_at: null,
      last_activity_preview: null,
      last_conversation_id: null,
      updated_at: data.updated_at
    })
    assert.deepStrictEqual((await service.request("GET", `/v1/contacts/${data.id}`, { key })).body, created.body)
    assert.strictEqual((await service.request("GET", `/v1/contacts/${data.id.toUpperCase()}`, { key })).status, 200)
  })

  it("refuses what does not fit, and names the field", async () => {
    const { key } = await service.organization()
    const foreign = await service.organization()
    const foreignTag = await service.request("POST", "/v1/tags", {
      key: foreign.key,
      json: { name: "x", color: "red" }
    })
    for (
      const [json, param] of [
        [{}, "first_name"],
        [{ company: "Acme" }, "first_name"],
        [{ first_name: "  " }, "first_name"],
        [{ first_name: "x".repeat(201) }, "first_name"],
        [{ primary_email: "not an email" }, "primary_email"],
        [{ primary_phone: "0151 12345678" }, "primary_phone"],
        [{ primary_phone: "+1" }, "primary_phone"],
        [{ first_name: "A", birthday: "2023-02-29" }, "birthday"],
        [{ first_name: "A", website_url: "ftp://x.example" }, "website_url"],
        [{ first_name: "A", network_url: "example.org" }, "network_url"],
        [{ first_name: "A", notes: "x".repeat(50_001) }, "notes"],
        [{ first_name: "A", lead_status: "hot" }, "lead_status"],
        [{ first_name: "A", lifecycle_stage: "friend" }, "lifecycle_stage"],
        [{ first_name: "A", owner_user_id: absent }, "owner_user_id"],
        [{ first_name: "A", owner_user_id: foreign.owner.id }, "owner_user_id"],
        [{ first_name: "A", tag_ids: ["x"] }, "tag_ids.0"],
        [{ first_name: "A", tag_ids: [absent] }, "tag_ids"],
        [{ first_name: "A", tag_ids: [foreignTag.body.data.id] }, "tag_ids"],
        [{ first_name: "A", tag_ids: Array.from({ length: 31 }, () => absent) }, "tag_ids"],
        [{ first_name: "A", custom_values: { [absent]: "x" } }, `custom_values.${absent}`],
        [{ first_name: "A", custom_values: { [absent]: 1 } }, `custom_values.${absent}`],
        [{ first_name: "A", id: absent }, "id"]
      ] as const
    ) {
      const answer = await service.request("POST", "/v1/contacts", { key, json, ...idempotency() })
      assert.strictEqual(answer.status, 400, JSON.stringify(json).slice(0, 100))
      assert.strictEqual(answer.body.error.code, "invalid_input")
      assert.strictEqual(answer.body.error.param, param)
    }
    assert.deepStrictEqual((await service.request("GET", "/v1/contacts", { key })).body.data, [])
  })

  it("checks custom values by the type of their field", async () => {
    const { key, organization, owner } = await service.organization()
    const field = (
      type: "boolean" | "date" | "number" | "select" | "url",
      options: ReadonlyArray<string> | null = null
    ) =>
      service.runtime.runPromise(
        ContactFields.use((fields) => fields.create({ key: type, name: type, type, options })).pipe(
          Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
        )
      )
    const cases = [
      [await field("number"), "12.5", "twelve"],
      [await field("date"), "2024-02-29", "2023-02-29"],
      [await field("boolean"), "true", "yes"],
      [await field("select", ["basic", "pro"]), "pro", "plus"],
      [await field("url"), "https://example.org", "example"]
    ] as const
    for (const [{ id }, good, bad] of cases) {
      const create = (value: string | null) =>
        service.request("POST", "/v1/contacts", {
          key,
          json: { first_name: "A", custom_values: { [id]: value } },
          ...idempotency()
        })
      assert.deepStrictEqual((await create(good)).body.data.custom_values, { [id]: good })
      assert.deepStrictEqual((await create(null)).body.data.custom_values, {})
      const refused = await create(bad)
      assert.strictEqual(refused.status, 400)
      assert.strictEqual(refused.body.error.param, `custom_values.${id}`)
    }
  })
})

describe("list", () => {
  it("walks all contacts once, most recently updated first", async () => {
    const { key } = await service.organization()
    const ids: Array<string> = []
    for (let index = 0; index < 7; index++) {
      const json = { first_name: `Contact ${index}` }
      ids.push((await service.request("POST", "/v1/contacts", { key, json, ...idempotency() })).body.data.id)
    }
    const walked: Array<string> = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`
      const { body, status } = await service.request("GET", `/v1/contacts?page_size=3${query}`, { key })
      assert.strictEqual(status, 200)
      walked.push(...body.data.map((row: { readonly id: string }) => row.id))
      cursor = body.next_cursor
    } while (cursor !== null)
    assert.strictEqual(walked.length, 7)
    assert.deepStrictEqual(walked.toSorted(), ids.toSorted())
  })

  it("refuses a cursor of another organization or list", async () => {
    const [ours, theirs] = [await service.organization(), await service.organization()]
    for (const name of ["a", "b"]) {
      await service.request("POST", "/v1/contacts", { key: ours.key, json: { first_name: name }, ...idempotency() })
    }
    const page = await service.request("GET", "/v1/contacts?page_size=1", { key: ours.key })
    const cursor = encodeURIComponent(page.body.next_cursor)
    assert.strictEqual((await service.request("GET", `/v1/contacts?cursor=${cursor}`, { key: ours.key })).status, 200)
    for (const path of [`/v1/contacts?cursor=${cursor}`, `/v1/contacts?cursor=${cursor}x`]) {
      const answer = await service.request("GET", path, { key: theirs.key })
      assert.strictEqual(answer.status, 400)
      assert.strictEqual(answer.body.error.param, "cursor")
    }
  })
})

it("never shows another organization's contact", async () => {
  const [ours, theirs] = [await service.organization(), await service.organization()]
  const { body } = await service.request("POST", "/v1/contacts", {
    key: ours.key,
    json: { first_name: "A" },
    ...idempotency()
  })
  const foreign = await service.request("GET", `/v1/contacts/${body.data.id}`, { key: theirs.key })
  assert.strictEqual(foreign.status, 404)
  assert.deepStrictEqual((await service.request("GET", "/v1/contacts", { key: theirs.key })).body.data, [])
})
