// With types from openapi-typescript, and openapi-fetch for the requests.
import assert from "node:assert/strict"
import { setTimeout } from "node:timers/promises"
import createClient from "openapi-fetch"
import type { paths } from "./generated/api.d.ts"

const { API_KEY, BASE_URL = "", CHANNEL_ID = "" } = process.env
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
  // @ts-expect-error a stage that the document does not list does not compile, and the service rejects it too
  body: { lifecycle_stage: "best_friend" }
})
assert.equal(updated.response.status, 400)
assert.ok(updated.error)
console.log("rejected", updated.error.error.code, updated.error.error.param)

const found = await client.GET("/contacts", { params: { query: { query: "berg", page_size: 10 } } })
assert.ok(found.data?.data.some((contact) => contact.id === contact_id))

const started = await client.POST("/conversations", {
  params: { header: { "Idempotency-Key": "reminder-4711" } },
  body: {
    channel_id: CHANNEL_ID,
    phone: "+49 151 12345678",
    template: {
      id: "demo.spring_sale",
      components: [{ type: "body", parameters: [{ type: "text", text: "10%" }, { type: "text", text: "Friday" }] }]
    }
  }
})
assert.ok(started.data, JSON.stringify(started.error))
const { conversation_id } = started.data.data

const list = () => client.GET("/conversations/{conversation_id}/messages", { params: { path: { conversation_id } } })
let messages = await list()
for (let tries = 0; messages.data?.data.length === 0 && tries < 100; tries++) {
  await setTimeout(100)
  messages = await list()
}
assert.ok(messages.data)
console.log("messages", messages.data.data.map(({ text, type }) => `${type}: ${text}`))
assert.equal(messages.data.data.length, 1)
