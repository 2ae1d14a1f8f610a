// A program of an integrator's own. Everything that it knows of the API comes from the OpenAPI document.
import assert from "node:assert/strict"
import createClient from "openapi-fetch"
import type { paths } from "./api.d.ts"

const { API_KEY, BASE_URL = "" } = process.env
const client = createClient<paths>({ baseUrl: BASE_URL, headers: { Authorization: `Bearer ${API_KEY}` } })

const created = await client.POST("/contacts", {
  params: { header: { "Idempotency-Key": "signup-4711" } },
  body: { first_name: "Kim", last_name: "Berg", primary_phone: "+49 151 12345678", lifecycle_stage: "lead" }
})
assert.equal(created.response.status, 201)
assert.ok(created.data)
console.log("created", created.data.data.first_name, created.data.data.primary_phone)

const contact_id = created.data.data.id
const updated = await client.PATCH("/contacts/{contact_id}", {
  params: { path: { contact_id }, header: { "Idempotency-Key": "upgrade-4711" } },
  // @ts-expect-error a stage that the document does not know does not compile, and the service refuses it too
  body: { lifecycle_stage: "best_friend" }
})
assert.equal(updated.response.status, 400)
assert.ok(updated.error)
console.log("refused", updated.error.error.code, updated.error.error.param)

const found = await client.GET("/contacts", { params: { query: { query: "berg", page_size: 10 } } })
assert.ok(found.data)
console.log("found", found.data.data.map((contact) => `${contact.first_name} ${contact.last_name}`))
assert.ok(found.data.data.some((contact) => contact.id === contact_id))
