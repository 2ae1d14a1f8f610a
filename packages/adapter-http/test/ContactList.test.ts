/** The list of `/contacts`. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { idempotency, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

const absent = "01990000-0000-7000-8000-000000000000"

it("rejects a cursor of another organization or list", async () => {
  const [ours, theirs] = [await service.organization(), await service.organization()]
  for (const name of ["a", "b"]) {
    await service.request("POST", "/v1/contacts", { key: ours.key, json: { first_name: name }, ...idempotency() })
  }
  const page = await service.request("GET", "/v1/contacts?page_size=1", { key: ours.key })
  const cursor = encodeURIComponent(String(page.body.next_cursor))
  assert.strictEqual((await service.request("GET", `/v1/contacts?cursor=${cursor}`, { key: ours.key })).status, 200)
  for (const path of [`/v1/contacts?cursor=${cursor}`, `/v1/contacts?cursor=${cursor}x`]) {
    const response = await service.request("GET", path, { key: theirs.key })
    assert.strictEqual(response.status, 400, path)
    assert.strictEqual(response.body.error.param, "cursor", path)
  }
})

/** An organization with a tag and two contacts, which no test changes. */
const makeContacts = async () => {
  const { key, owner } = await service.organization()
  const create = async (path: string, json: unknown) =>
    (await service.request("POST", path, { key, json, ...idempotency() })).body.data
  const tag = await create("/v1/tags", { name: "VIP", color: "red" })
  const ada = await create("/v1/contacts", {
    first_name: "Ada",
    last_name: "Straße",
    primary_phone: "+49 151 12345678",
    tag_ids: [tag.id]
  })
  const eve = await create("/v1/contacts", {
    first_name: "Eve",
    company: "100%_Acme",
    primary_email: "Eve@strasse.example",
    owner_user_id: owner.id,
    lifecycle_stage: "lead"
  })
  return { ada: ada.id, eve: eve.id, key, owner: owner.id, since: ada.updated_at, tag: tag.id }
}

const { ada, eve, key, owner, since, tag } = await makeContacts()

describe("a filter", () => {
  type Row = readonly [query: Readonly<Record<string, string>>, expected: ReadonlyArray<string>]
  const rowsByClaim: Readonly<Record<string, ReadonlyArray<Row>>> = {
    "by text ignores letter case, reads ß as ss, and has no wildcards": [
      [{ query: "ADA STRASSE" }, [ada]],
      [{ query: "0%_a" }, [eve]],
      [{ query: "%" }, [eve]]
    ],
    "by blank text matches every contact": [[{ query: "" }, [ada, eve]], [{ query: "  " }, [ada, eve]]],
    "by text matches a part of a phone number with its country code": [
      [{ query: "0151-123" }, []],
      [{ query: "151 123/45" }, [ada]],
      [{ query: "+49151" }, [ada]],
      [{ query: "4915112345678" }, [ada]]
    ],
    "by tag, owner, lifecycle stage, or channel matches contacts that have it": [
      [{ tag_id: tag }, [ada]],
      [{ tag_id: absent }, []],
      [{ owner_user_id: owner }, [eve]],
      [{ lifecycle_stage: "lead" }, [eve]],
      [{ channel: "phone_messaging" }, [ada]],
      [{ channel: "photo_social" }, []]
    ],
    "by phone number matches the whole number in any notation": [
      [{ phone: "0049 (151) 123-456.78" }, [ada]],
      [{ phone: "+4915112345679" }, []]
    ],
    "by email address ignores letter case and matches the whole address": [
      [{ email: "EVE@Straße.example" }, [eve]],
      [{ email: " eve@strasse.example " }, [eve]],
      [{ email: "eve@strasse.exampl" }, []]
    ],
    "by external ID does not match a phone number": [[{ external_id: "+4915112345678" }, []]],
    "by external ID without a channel matches any text": [[{ external_id: "0151 123456" }, []]],
    "by the time of the last change includes that time": [
      [{ updated_since: since }, [ada, eve]],
      [{ updated_since: "2999-01-01T00:00:00Z" }, []]
    ],
    "narrows the result of the others": [
      [{ query: "e", owner_user_id: owner, lifecycle_stage: "lead" }, [eve]],
      [{ query: "ada", owner_user_id: owner }, []],
      [{ phone: "4915112345678", query: "ada", tag_id: tag, channel: "phone_messaging" }, [ada]],
      [{ phone: "4915112345678", query: "eve" }, []],
      [{ email: "eve@STRASSE.example", lifecycle_stage: "lead", owner_user_id: owner }, [eve]],
      [{ updated_since: since, query: "ada" }, [ada]],
      [{ updated_since: "2999-01-01T00:00:00Z", query: "ada" }, []]
    ]
  }

  for (const [claim, rows] of Object.entries(rowsByClaim)) {
    it(claim, async () => {
      for (const [query, expected] of rows) {
        const { body, status, text } = await service.request("GET", `/v1/contacts?${new URLSearchParams(query)}`, {
          key
        })
        assert.strictEqual(status, 200, `${JSON.stringify(query)}: ${text}`)
        const found = body.data.map(({ id }: { readonly id: string }) => id)
        assert.deepStrictEqual(found.toSorted(), expected.toSorted(), JSON.stringify(query))
      }
    })
  }

  const invalid = [
    ["tag_id", "x"],
    ["owner_user_id", ""],
    ["lifecycle_stage", "friend"],
    ["channel", "pigeon"],
    ["query", "x".repeat(201)],
    ["query", "+".repeat(201)],
    ["phone", "0151123456"],
    ["phone", ""],
    ["email", ""],
    ["email", "x".repeat(321)],
    ["external_id", ""],
    ["external_id", "x".repeat(501)],
    ["updated_since", "2026-11-20"],
    ["updated_since", "2026-02-30T00:00:00Z"],
    ["updated_since", "2026-11-20T10:00:00.0123456789Z"]
  ] as const
  for (const [param, value] of invalid) {
    it(`${param} rejects "${value.slice(0, 40)}" (${value.length} characters)`, async () => {
      const response = await service.request("GET", `/v1/contacts?${param}=${value}`, { key })
      assert.strictEqual(response.status, 400)
      assert.strictEqual(response.body.error.param, param)
    })
  }

  it("external_id on phone messaging rejects what looks like a number but is none, as an upsert does", async () => {
    const external_id = "0151 123456"
    const query = new URLSearchParams({ channel: "phone_messaging", external_id })
    const { body, status } = await service.request("GET", `/v1/contacts?${query}`, { key })
    assert.strictEqual(status, 400)
    assert.deepInclude(body.error, { code: "invalid_input", param: "external_id" })
    const json = {
      match: "external_id",
      channel_type: "phone_messaging",
      contacts: [{ external_id, first_name: "Kim" }]
    }
    const upserted = await service.request("POST", "/v1/contacts/upsert", { key, json, ...idempotency() })
    const { code, message, param } = body.error
    assert.deepStrictEqual(upserted.body.data.results, [
      { outcome: "failed", contact_id: null, error: { code, message, param } }
    ])
  })

  it("rejects a cursor that was issued without it", async () => {
    const page = await service.request("GET", "/v1/contacts?page_size=1", { key })
    const cursor = encodeURIComponent(String(page.body.next_cursor))
    const other = await service.request("GET", `/v1/contacts?page_size=1&query=a&cursor=${cursor}`, { key })
    assert.strictEqual(other.body.error.param, "cursor")
  })
})

it("a page of long notes is shorter, and the pages together hold every contact", async () => {
  const { key } = await service.organization()
  const names = Array.from({ length: 25 }, (_, index) => `Contact ${index}`)
  for (const first_name of names) {
    // As JSON, with its empty custom values, each has 50,000 characters, and twenty are the limit.
    const json = { first_name, notes: "x".repeat(49_993) }
    assert.strictEqual((await service.request("POST", "/v1/contacts", { key, json, ...idempotency() })).status, 201)
  }
  const found: Array<string> = []
  const sizes: Array<number> = []
  for (let cursor: string | null = ""; cursor !== null;) {
    const { body } = await service.request("GET", `/v1/contacts?page_size=100&cursor=${cursor}`, { key })
    sizes.push(body.data.length)
    found.push(...body.data.map(({ first_name }: { readonly first_name: string }) => first_name))
    cursor = body.next_cursor
  }
  assert.deepStrictEqual(sizes, [20, 5])
  assert.sameMembers(found, names)
})
