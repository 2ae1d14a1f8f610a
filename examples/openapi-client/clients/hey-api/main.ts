// With functions and types from @hey-api/openapi-ts.
import assert from "node:assert/strict"
import { setTimeout } from "node:timers/promises"
import { client } from "./generated/client.gen.ts"
import { createContact, listContacts, listMessages, startConversation, updateContact } from "./generated/sdk.gen.ts"

const { API_KEY = "", BASE_URL = "", CHANNEL_ID = "" } = process.env
client.setConfig({ baseUrl: BASE_URL, auth: API_KEY })

const created = await createContact({
  headers: { "Idempotency-Key": "signup-4712" },
  body: { first_name: "Noor", last_name: "Lind", primary_phone: "+49 151 87654321", lifecycle_stage: "lead" }
})
assert.ok(created.data)
console.log("created", created.data.data.first_name, created.data.data.primary_phone)

const contact_id = created.data.data.id
const updated = await updateContact({
  path: { contact_id },
  headers: { "Idempotency-Key": "upgrade-4712" },
  // @ts-expect-error a stage that the document does not list does not compile, and the service rejects it too
  body: { lifecycle_stage: "best_friend" }
})
assert.equal(updated.response?.status, 400)
assert.ok(updated.error)
console.log("rejected", updated.error.error.code, updated.error.error.param)

const found = await listContacts({ query: { query: "lind", page_size: 10 } })
assert.ok(found.data?.data.some((contact) => contact.id === contact_id))

const started = await startConversation({
  headers: { "Idempotency-Key": "reminder-4712" },
  body: {
    channel_id: CHANNEL_ID,
    phone: "+49 151 87654321",
    template: {
      id: "demo.spring_sale",
      components: [{ type: "body", parameters: [{ type: "text", text: "10%" }, { type: "text", text: "Friday" }] }]
    }
  }
})
assert.ok(started.data, JSON.stringify(started.error))
const { conversation_id } = started.data.data

let messages = await listMessages({ path: { conversation_id } })
for (let tries = 0; messages.data?.data.length === 0 && tries < 100; tries++) {
  await setTimeout(100)
  messages = await listMessages({ path: { conversation_id } })
}
assert.ok(messages.data)
console.log("messages", messages.data.data.map(({ text, type }) => `${type}: ${text}`))
assert.equal(messages.data.data.length, 1)
