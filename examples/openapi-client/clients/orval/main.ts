// With functions from orval.
import assert from "node:assert/strict"
import { createContact, listContacts } from "./generated/api.ts"

const headers = (key: string) => ({
  headers: { Authorization: `Bearer ${process.env.API_KEY}`, "Idempotency-Key": key }
})

const created = await createContact(
  { first_name: "Nil", primary_phone: "+49 151 11111116", lead_status: null, tag_ids: [] },
  headers("signup-4719")
)
assert.ok(created.status === 201)
const contact = created.data.data
assert.equal(contact.primary_phone, "+4915111111116")

const found = await listContacts({ query: "nil", updated_since: "2026-01-01T00:00:00+01:00" }, headers("ignored-4719"))
assert.ok(found.status === 200)
assert.ok(found.data.data.some(({ id }) => id === contact.id))

const rejected = await createContact({}, headers("signup-4720"))
assert.ok(rejected.status === 400)
assert.equal(rejected.data.error.code, "invalid_input")
console.log("orval:", contact.first_name, rejected.data.error.param)
