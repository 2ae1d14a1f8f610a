/** The list of `/contacts`. */
import { assert, it } from "@effect/vitest"
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
    assert.strictEqual(response.status, 400)
    assert.strictEqual(response.body.error.param, "cursor")
  }
})

it("narrows the list by text, tag, owner, stage and channel, together", async () => {
  const { key, owner } = await service.organization()
  const create = async (json: unknown) =>
    (await service.request("POST", "/v1/contacts", { key, json, ...idempotency() })).body.data.id
  const tag = (await service.request("POST", "/v1/tags", { key, json: { name: "VIP", color: "red" } })).body.data
  const ada = await create({
    first_name: "Ada",
    last_name: "Straße",
    primary_phone: "+49 151 12345678",
    tag_ids: [tag.id]
  })
  const eve = await create({
    first_name: "Eve",
    company: "100%_Acme",
    primary_email: "Eve@strasse.example",
    owner_user_id: owner.id,
    lifecycle_stage: "lead"
  })
  const list = async (query: Record<string, string>) => {
    const response = await service.request("GET", `/v1/contacts?${new URLSearchParams(query)}`, { key })
    assert.strictEqual(response.status, 200, response.text)
    return response.body.data.map((row: { readonly id: string }) => row.id).toSorted()
  }
  const both = [ada, eve].toSorted()
  const since = (await service.request("GET", `/v1/contacts/${ada}`, { key })).body.data.updated_at
  for (
    const [query, expected] of [
      [{ query: "ADA STRASSE" }, [ada]],
      [{ query: "0151-123" }, []],
      [{ query: "151 123/45" }, [ada]],
      [{ query: "+49151" }, [ada]],
      [{ query: "0%_a" }, [eve]],
      [{ query: "%" }, [eve]],
      [{ query: "" }, both],
      [{ query: "  " }, both],
      [{ query: "4915112345678" }, [ada]],
      [{ tag_id: tag.id }, [ada]],
      [{ tag_id: absent }, []],
      [{ owner_user_id: owner.id }, [eve]],
      [{ lifecycle_stage: "lead" }, [eve]],
      [{ channel: "phone_messaging" }, [ada]],
      [{ channel: "photo_social" }, []],
      [{ query: "e", owner_user_id: owner.id, lifecycle_stage: "lead" }, [eve]],
      [{ query: "ada", owner_user_id: owner.id }, []],
      [{ phone: "0049 (151) 123-456.78" }, [ada]],
      [{ phone: "4915112345678", query: "ada", tag_id: tag.id, channel: "phone_messaging" }, [ada]],
      [{ phone: "4915112345678", query: "eve" }, []],
      [{ phone: "+4915112345679" }, []],
      [{ email: "EVE@Straße.example" }, [eve]],
      [{ email: "eve@STRASSE.example", lifecycle_stage: "lead", owner_user_id: owner.id }, [eve]],
      [{ email: " eve@strasse.example " }, [eve]],
      [{ email: "eve@strasse.exampl" }, []],
      [{ external_id: "+4915112345678" }, []],
      [{ updated_since: since }, both],
      [{ updated_since: since, query: "ada" }, [ada]],
      [{ updated_since: "2999-01-01T00:00:00Z" }, []],
      [{ updated_since: "2999-01-01T00:00:00Z", query: "ada" }, []]
    ] as const
  ) {
    assert.deepStrictEqual(await list(query), [...expected].toSorted(), JSON.stringify(query))
  }
  for (
    const [query, param] of [
      ["tag_id=x", "tag_id"],
      ["owner_user_id=", "owner_user_id"],
      ["lifecycle_stage=friend", "lifecycle_stage"],
      ["channel=pigeon", "channel"],
      [`query=${"x".repeat(201)}`, "query"],
      ["phone=0151123456", "phone"],
      ["phone=", "phone"],
      ["email=", "email"],
      [`email=${"x".repeat(321)}`, "email"],
      ["external_id=", "external_id"],
      [`external_id=${"x".repeat(501)}`, "external_id"],
      ["updated_since=2026-11-20", "updated_since"],
      ["updated_since=2026-02-30T00:00:00Z", "updated_since"],
      ["updated_since=2026-11-20T10:00:00.0123456789Z", "updated_since"]
    ] as const
  ) {
    const response = await service.request("GET", `/v1/contacts?${query}`, { key })
    assert.strictEqual(response.status, 400)
    assert.strictEqual(response.body.error.param, param)
  }
  const page = await service.request("GET", "/v1/contacts?page_size=1", { key })
  const cursor = encodeURIComponent(String(page.body.next_cursor))
  const other = await service.request("GET", `/v1/contacts?page_size=1&query=a&cursor=${cursor}`, { key })
  assert.strictEqual(other.body.error.param, "cursor")
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
