/** IDs in requests, in whatever operation: which of them are accepted, and how they are written. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { start } from "../testing/Service.ts"
import { makeOrganization } from "./InputScene.ts"

const service = start()
afterAll(() => service.stop())

// Tests of reads and of rejected requests share these organizations, because such requests do not change them.
const [ours, theirs] = [await makeOrganization(service), await makeOrganization(service)]
const { contact, conversation, phone, template } = ours

describe("an ID of another organization is rejected by the name of its field", () => {
  const cases = [
    ["POST", "/contacts", { first_name: "A", owner_user_id: theirs.owner.id }, "owner_user_id"],
    ["POST", "/contacts", { first_name: "A", tag_ids: [ours.tag.id, theirs.tag.id] }, "tag_ids"],
    [
      "POST",
      "/contacts",
      { first_name: "A", custom_values: { [theirs.field.id]: "x" } },
      `custom_values.${theirs.field.id}`
    ],
    ["PATCH", `/contacts/${contact.id}`, { owner_user_id: theirs.owner.id }, "owner_user_id"],
    ["PATCH", `/contacts/${contact.id}`, { tag_ids: [theirs.tag.id] }, "tag_ids"],
    [
      "PATCH",
      `/contacts/${contact.id}`,
      { custom_values: { [theirs.field.id]: null } },
      `custom_values.${theirs.field.id}`
    ],
    ["PATCH", `${conversation}/assignment`, { assigned_user_id: theirs.owner.id }, "assigned_user_id"],
    ["POST", "/conversations", { channel_id: theirs.channel.id, phone, template }, "channel_id"],
    [
      "POST",
      "/conversations",
      { channel_id: ours.channel.id, phone, template: theirs.template },
      "template.id"
    ],
    ["POST", `${conversation}/messages`, { type: "template", template: theirs.template }, "template.id"]
  ] as const
  for (const [method, path, json, param] of cases) {
    const endpoint = `${method} ${path}`.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "{id}")
    it(`${endpoint}: ${param.replace(/\..*-.*/, "")}`, async () => {
      const response = await ours.write(method, path, json)
      assert.strictEqual(response.status, 400)
      assert.strictEqual(response.body.error.code, "invalid_input")
      assert.strictEqual(response.body.error.param, param)
      const unchanged = await service.request("GET", `/v1/contacts/${contact.id}`, { key: ours.key })
      assert.deepStrictEqual(unchanged.body.data, contact)
    })
  }
})

describe("an ID", () => {
  it("of another organization, or of nobody, matches nothing as a filter", async () => {
    for (
      const query of [
        `/contacts?tag_id=${theirs.tag.id}`,
        `/contacts?owner_user_id=${theirs.owner.id}`,
        `/conversations?assigned_user_id=${theirs.owner.id}`,
        `/conversations?contact_id=${theirs.contact.id}`,
        `/conversations?channel_id=${theirs.channel.id}`,
        "/contacts?owner_user_id=01990000-0000-7000-8000-000000000000",
        "/conversations?assigned_user_id=01990000-0000-7000-8000-000000000000"
      ]
    ) {
      const response = await service.request("GET", `/v1${query}`, { key: ours.key })
      assert.strictEqual(response.status, 200, query)
      assert.deepStrictEqual<object>(response.body, { data: [], next_cursor: null }, query)
    }
  })

  it("of a contact field is rejected if it is repeated in another letter case", async () => {
    const { field } = ours
    const upper = field.id.toUpperCase()
    const cases = [
      ["POST", "/contacts", { first_name: "Twice", custom_values: { [field.id]: "gold", [upper]: "silver" } }, upper],
      ["PATCH", `/contacts/${contact.id}`, { custom_values: { [upper]: null, [field.id]: "gold" } }, field.id],
      [
        "POST",
        "/contacts/upsert",
        {
          match: "primary_email",
          contacts: [{
            primary_email: "twice@acme.example",
            custom_values: { [field.id]: "gold", [upper]: "gold" }
          }]
        },
        upper
      ]
    ] as const
    for (const [method, path, json, name] of cases) {
      const rejected = await ours.write(method, path, json)
      assert.strictEqual(rejected.status, 400, rejected.text)
      assert.isTrue(rejected.body.error.param?.endsWith(`custom_values.${name}`), rejected.text)
      assert.include(rejected.body.error.message, "another letter case")
    }
    const listed = await service.request("GET", "/v1/contacts?query=twice", { key: ours.key })
    assert.deepStrictEqual(listed.body.data, [])
  })

  it("is read in upper case, wherever it stands, and shown in lower case", async () => {
    const upper = (id: string) => id.toUpperCase()
    const { channel, conversation, field, key, owner, tag, template, write } = await makeOrganization(service)
    const created = await write("POST", "/contacts", {
      first_name: "Upper",
      owner_user_id: upper(owner.id),
      tag_ids: [upper(tag.id), tag.id],
      custom_values: { [upper(field.id)]: "gold" }
    })
    assert.strictEqual(created.status, 201, created.text)
    const { data } = created.body
    assert.strictEqual(data.owner_user_id, owner.id)
    assert.deepStrictEqual(data.tags, [tag])
    assert.deepStrictEqual(data.custom_values, { [field.id]: "gold" })
    const cleared = await write("PATCH", `/contacts/${upper(data.id)}`, {
      custom_values: { [upper(field.id)]: null }
    })
    assert.deepStrictEqual(cleared.body.data.custom_values, {})
    for (const query of [`tag_id=${upper(tag.id)}`, `owner_user_id=${upper(owner.id)}`]) {
      const found = await service.request("GET", `/v1/contacts?${query}`, { key })
      assert.deepStrictEqual(found.body.data.map(({ id }: { readonly id: string }) => id), [data.id], query)
    }
    const assigned = await write("PATCH", `${conversation}/assignment`, { assigned_user_id: upper(owner.id) })
    assert.strictEqual(assigned.body.data.assigned_user_id, owner.id)
    const sent = await write("POST", "/conversations", { channel_id: upper(channel.id), phone, template })
    assert.strictEqual(sent.status, 202)
    assert.strictEqual(
      (await service.request("GET", `/v1/sends/${upper(sent.body.data.id)}`, { key })).status,
      200
    )
  })
})
