// With a Zodios client from openapi-zod-client, which validates each request and response.
import { isErrorFromAlias } from "@zodios/core"
import assert from "node:assert/strict"
import { api, createApiClient, schemas } from "./generated/api.ts"

const { API_KEY = "", BASE_URL = "" } = process.env
const client = createApiClient(BASE_URL, { axiosConfig: { headers: { Authorization: `Bearer ${API_KEY}` } } })

const { data: contact } = await client.createContact(
  { first_name: "Ole", primary_phone: "+49 151 11111114", lead_status: null, tag_ids: [] },
  { headers: { "Idempotency-Key": "signup-4715" } }
)
assert.equal(contact.primary_phone, "+4915111111114")

const found = await client.listContacts({ queries: { query: "ole", updated_since: "2026-01-01T00:00:00+01:00" } })
assert.ok(found.data.some(({ id }) => id === contact.id))

const rejected = await client.createContact({}, { headers: { "Idempotency-Key": "signup-4716" } }).catch(
  (error: unknown) => error
)
assert.ok(isErrorFromAlias(api.api, "createContact", rejected))
assert.deepEqual([rejected.response.status, rejected.response.data.error.code], [400, "invalid_input"])

// The schemas of a union find its member by its `type`.
const file = { type: "image", image: { link: "https://shop.example/a.png" } }
assert.ok(schemas.TemplateParameter.safeParse(file).success)
assert.ok(!schemas.TemplateParameter.safeParse({ ...file, image: { link: "ftp://shop.example/a.png" } }).success)
console.log("openapi-zod-client:", contact.first_name, rejected.response.data.error.param)
