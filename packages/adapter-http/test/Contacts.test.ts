/** `/contacts`. */
import { assert, describe, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { emptyContact } from "@messaging-crm/core/Contacts"
import type * as Crm from "@messaging-crm/core/Crm"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { idempotency, orderReady, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

const absent = "01990000-0000-7000-8000-000000000000"

describe("create", () => {
  it("returns 201 with every field, absent ones null", async () => {
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
      ...emptyContact,
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

  it("rejects invalid input, and names the field", async () => {
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
        [{ first_name: "A", website_url: "https:a" }, "website_url"],
        [{ first_name: "A", website_url: "https:///a" }, "website_url"],
        [{ first_name: "A", network_url: "example.org" }, "network_url"],
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
      const response = await service.request("POST", "/v1/contacts", { key, json, ...idempotency() })
      assert.strictEqual(response.status, 400, JSON.stringify(json).slice(0, 100))
      assert.strictEqual(response.body.error.code, "invalid_input")
      assert.strictEqual(response.body.error.param, param)
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
        ContactFields.use((fields) => fields.create(CreateContactField.make({ key: type, name: type, type, options })))
          .pipe(
            Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
          )
      )
    const url = await field("url")
    const cases = [
      [await field("number"), "12.5", "twelve"],
      [await field("date"), "2024-02-29", "2023-02-29"],
      [await field("boolean"), "true", "yes"],
      [await field("select", ["basic", "pro"]), "pro", "plus"],
      [url, "https://example.org", "example"],
      [url, "https://example.org/a%20b", "https://example.org "]
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
      const rejected = await create(bad)
      assert.strictEqual(rejected.status, 400, bad)
      assert.strictEqual(rejected.body.error.param, `custom_values.${id}`)
    }
  })
})

describe("update", () => {
  const make = async () => {
    const ours = await service.organization()
    const json = { first_name: "Ada", company: "Acme", notes: "first", lifecycle_stage: "lead" }
    const { data } = (await service.request("POST", "/v1/contacts", { key: ours.key, json, ...idempotency() })).body
    const patch = (body: unknown) =>
      service.request("PATCH", `/v1/contacts/${data.id}`, { key: ours.key, json: body, ...idempotency() })
    const note = (text: unknown) =>
      service.request("POST", `/v1/contacts/${data.id}/notes`, { key: ours.key, json: { text } })
    return { ...ours, contact: data, note, patch }
  }

  it("rejects invalid input, and changes nothing", async () => {
    const { contact, key, patch } = await make()
    for (
      const [json, param] of [
        [{ first_name: "Eve", owner_user_id: absent }, "owner_user_id"],
        [{ first_name: "Eve", tag_ids: [absent] }, "tag_ids"],
        [{ first_name: "Eve", custom_values: { [absent]: "x" } }, `custom_values.${absent}`],
        [{ first_name: "Eve", birthday: "soon" }, "birthday"],
        [{ updated_at: null }, "updated_at"]
      ] as const
    ) {
      const response = await patch(json)
      assert.strictEqual(response.status, 400, JSON.stringify(json))
      assert.strictEqual(response.body.error.param, param, JSON.stringify(json))
    }
    assert.deepStrictEqual((await service.request("GET", `/v1/contacts/${contact.id}`, { key })).body.data, contact)
  })

  it("adds and removes single tags, up to 30 at a contact", async () => {
    const { contact, key, patch } = await make()
    const tags: ReadonlyArray<{ readonly id: string; readonly name: string }> = await Promise.all(
      Array.from({ length: 32 }, async (_, index) => {
        const json = { name: `t${String(index).padStart(2, "0")}`, color: "red" }
        return (await service.request("POST", "/v1/tags", { key, json })).body.data
      })
    )
    const [a = "", b = "", c = "", ...more] = tags.map(({ id }) => id)
    const named = async (json: unknown) => {
      const response = await patch(json)
      assert.strictEqual(response.status, 200, response.text)
      return response.body.data.tags.map(({ name }: { readonly name: string }) => name)
    }
    assert.deepStrictEqual(await named({ add_tag_ids: [c, a, c.toUpperCase()] }), ["t00", "t02"])
    assert.deepStrictEqual(await named({ add_tag_ids: [b], remove_tag_ids: [a] }), ["t01", "t02"])
    assert.deepStrictEqual(await named({ remove_tag_ids: [a] }), ["t01", "t02"])
    assert.deepStrictEqual(await named({ add_tag_ids: [], remove_tag_ids: [b, c] }), [])
    const before = (await service.request("GET", `/v1/contacts/${contact.id}`, { key })).body.data
    for (
      const [json, param] of [
        [{ tag_ids: [a], add_tag_ids: [b] }, "add_tag_ids"],
        [{ tag_ids: null, add_tag_ids: [] }, "add_tag_ids"],
        [{ tag_ids: [a], remove_tag_ids: [b] }, "remove_tag_ids"],
        [{ add_tag_ids: [a, b], remove_tag_ids: [b.toUpperCase()] }, "remove_tag_ids"],
        [{ add_tag_ids: [absent] }, "add_tag_ids"],
        [{ remove_tag_ids: [absent] }, "remove_tag_ids"],
        [{ add_tag_ids: null }, "add_tag_ids"],
        [{ remove_tag_ids: Array.from({ length: 31 }, () => a) }, "remove_tag_ids"]
      ] as const
    ) {
      const response = await patch(json)
      assert.strictEqual(response.status, 400, JSON.stringify(json).slice(0, 100))
      assert.strictEqual(response.body.error.param, param)
    }
    assert.lengthOf(await named({ tag_ids: [a, b, ...more.slice(0, 28)] }), 30)
    const rejected = await patch({ add_tag_ids: [c] })
    assert.strictEqual(rejected.status, 409)
    assert.deepInclude(rejected.body.error, { code: "conflict", param: "add_tag_ids" })
    assert.lengthOf(await named({ add_tag_ids: [c], remove_tag_ids: [a] }), 30)
    const created = await service.request("POST", "/v1/contacts", {
      key,
      json: { first_name: "Eve", add_tag_ids: [a] },
      ...idempotency()
    })
    assert.strictEqual(created.body.error.param, "add_tag_ids")
    assert.deepStrictEqual(before.tags, [])
  })

  it("appends notes after a blank line; beyond 200,000 characters it returns 409 with a remedy", async () => {
    const { note, patch } = await make()
    assert.strictEqual((await note(" second ")).body.data.notes, "first\n\n second ")
    for (const text of ["", "x".repeat(5001), null]) {
      const response = await note(text)
      assert.strictEqual(response.status, 400, `${text?.length} characters`)
      assert.strictEqual(response.body.error.param, "text")
    }
    await patch({ notes: null })
    assert.strictEqual((await note("alone")).body.data.notes, "alone")
    assert.strictEqual((await note(" \n")).body.data.notes, "alone\n\n \n")
    await patch({ notes: null })
    assert.strictEqual((await note(" ".repeat(5000))).body.data.notes, " ".repeat(5000))
    // A character may be four bytes, and a body has 65,536.
    await patch({ notes: "\u{1F600}".repeat(15_000) })
    for (let round = 0; round < 36; round++) await note("\u{1F600}".repeat(5000))
    const { length } = Array.from((await note("\u{1F600}".repeat(4900))).body.data.notes)
    assert.strictEqual(length, 15_000 + 36 * 5002 + 4902)
    assert.strictEqual((await note("x".repeat(200_000 - length - 2))).status, 200)
    const rejected = await note("1")
    assert.strictEqual(rejected.status, 409)
    assert.strictEqual(rejected.body.error.code, "conflict")
    assert.strictEqual(rejected.body.error.param, "text")
    assert.include(rejected.body.error.message, "update the contact with `notes`")
    await patch({ notes: "short" })
    assert.strictEqual((await note("1")).status, 200)
  })
})

it("accepts an update with the owner, values, and assignment that it read, even if they could not be set now", async () => {
  const { channel, key, organization, owner } = await service.organization()
  const actor = { organization_id: organization.id, member_id: owner.id }
  const run = <A, E>(effect: Effect.Effect<A, E, Crm.Services | CurrentActor>) =>
    service.runtime.runPromise(Effect.provideService(effect, CurrentActor, actor))
  const leaver = await run(
    Members.use((members) => members.add(AddMember.make({ name: "Lee", email: "lee@acme.example", role: "member" })))
  )
  const write = (method: string, path: string, json: unknown) =>
    service.request(method, `/v1${path}`, { key, json, ...idempotency() })
  const { data } = (await write("POST", "/contacts", { first_name: "Kim", owner_user_id: leaver.id })).body
  const template = orderReady(channel)
  const start = { channel_id: channel.id, phone: "+4915112345678", template }
  const { conversation_id } = (await write("POST", "/conversations", start)).body.data
  const assign = (assigned_user_id: string) =>
    write("PATCH", `/conversations/${conversation_id}/assignment`, { assigned_user_id })
  assert.strictEqual((await assign(leaver.id)).status, 200)
  await run(Members.use((members) => members.remove(leaver.id)))

  const kept = await write("PATCH", `/contacts/${data.id}`, { owner_user_id: leaver.id, city: "Bonn" })
  assert.strictEqual(kept.status, 200, kept.text)
  assert.deepInclude(kept.body.data, { owner_user_id: leaver.id, city: "Bonn" })
  const assigned = await assign(leaver.id)
  assert.strictEqual(assigned.status, 200, assigned.text)
  assert.strictEqual(assigned.body.data.assigned_user_id, leaver.id)

  await write("PATCH", `/contacts/${data.id}`, { owner_user_id: owner.id })
  assert.strictEqual((await write("PATCH", `/contacts/${data.id}`, { owner_user_id: leaver.id })).status, 400)
  await assign(owner.id)
  assert.strictEqual((await assign(leaver.id)).status, 400)
})

it("no store gets a custom value under a key that it could not keep, and no response repeats one", async () => {
  const { key } = await service.organization()
  for (const name of ["\u0000", "\ud800"]) {
    const custom_values = { [name]: "x" }
    for (
      const [path, json] of [
        ["/contacts", { first_name: "A", custom_values }],
        ["/contacts", { first_name: "A", [name]: "x" }],
        ["/contacts/upsert", { match: "primary_email", contacts: [{ primary_email: "a@b.example", custom_values }] }]
      ] as const
    ) {
      const { body, status, text } = await service.request("POST", `/v1${path}`, { key, json, ...idempotency() })
      assert.strictEqual(status, 400, text)
      const { message, param } = body.error
      assert.isTrue(message.isWellFormed() && param?.isWellFormed(), text)
    }
  }
})
