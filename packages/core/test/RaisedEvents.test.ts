import { assert, it } from "@effect/vitest"
import { deliveryIdOf, fullBodyOf } from "@messaging-crm/core/Changes"
import { ContactId, EventId, WebhookDeliveryId, WebhookId } from "@messaging-crm/core/Ids"
import { DateTime, Schema } from "effect"

it("the full body of an event has its resource in `data`, with times as text", () => {
  const created_at = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
  const contact_id = ContactId.make("01990000-0000-7000-8000-000000000004")
  const body = JSON.stringify({ type: "contact.updated", data: { contact_id } })
  const resource = { name: "contact", value: { created_at, notes: "\"}}" }, contact_id, message_id: null }
  assert.deepStrictEqual(JSON.parse(fullBodyOf({ body, resource }) ?? ""), {
    type: "contact.updated",
    data: { contact_id, contact: { created_at: "2026-11-20T12:00:00.000Z", notes: "\"}}" } }
  })
  assert.isNull(fullBodyOf({ body, resource: null }))
})

it("a delivery has an ID of its own for each event and webhook, and always the same", () => {
  const event = (tail: string) => EventId.make(`01990000-0000-7000-8000-${tail}`)
  const webhook = (tail: string) => WebhookId.make(`01980000-0000-7000-9000-${tail}`)
  assert.strictEqual(
    deliveryIdOf(event("00000000000f"), webhook("8000000000f0")),
    WebhookDeliveryId.make("01990000-0000-7000-8000-8000000000ff")
  )
  const tails = ["000000000001", "000000000002", "ffffffffffff"]
  const ids = tails.flatMap((tail) => [
    deliveryIdOf(event(tail), webhook("0000000000a0")),
    deliveryIdOf(event(tail), webhook("0000000000b0"))
  ])
  assert.lengthOf(new Set(ids), 6)
  assert.isTrue(ids.every(Schema.is(WebhookDeliveryId)))
})
