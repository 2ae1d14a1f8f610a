// With a class from swagger-typescript-api.
import assert from "node:assert/strict"
import { Api, type BadRequest, type HttpResponse } from "./generated/api.ts"

const { API_KEY = "", BASE_URL = "" } = process.env
const { contacts } = new Api<unknown>({
  baseUrl: BASE_URL,
  baseApiParams: { headers: { Authorization: `Bearer ${API_KEY}` } }
})

const { data: { data: contact } } = await contacts.createContact(
  { first_name: "Eva", primary_phone: "+49 151 11111115", lead_status: null, tag_ids: [] },
  { headers: { "Idempotency-Key": "signup-4717" } }
)
assert.equal(contact.primary_phone, "+4915111111115")

const { data: found } = await contacts.listContacts({ query: "eva", updated_since: "2026-01-01T00:00:00+01:00" })
assert.ok(found.data.some(({ id }) => id === contact.id))

const rejected = await contacts.createContact({}, { headers: { "Idempotency-Key": "signup-4718" } }).then(
  () => assert.fail("The service accepted an empty contact."),
  (response: HttpResponse<unknown, BadRequest>) => response
)
assert.deepEqual([rejected.status, rejected.error.error.code], [400, "invalid_input"])
console.log("swagger-typescript-api:", contact.first_name, rejected.error.error.param)
