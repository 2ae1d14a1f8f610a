/** An organization in which the requests of the document's examples succeed. */
import type { ChannelId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { DateTime, Effect } from "effect"
import * as ConversationExamples from "../src/api/ConversationExamples.ts"
import * as Examples from "../src/api/Examples.ts"
import * as WebhookExamples from "../src/api/WebhookExamples.ts"
import { idempotency, type start } from "../testing/Service.ts"

/** Stores a message that a contact sends to a channel. */
export const receive = (channel_id: ChannelId) =>
  Effect.gen(function*() {
    const sent_at = yield* DateTime.now
    yield* Inbound.use((inbound) =>
      inbound.receive({
        event: "message_received",
        channel_id,
        provider_message_id: "one",
        from: { external_id: "+4915112345678", display_name: null, username: null },
        type: "text",
        text: "When?",
        media: null,
        sent_at
      })
    )
  })

/** Creates the resources that the examples name, and returns the function that replaces their IDs in a text. */
export const settle = async (service: ReturnType<typeof start>) => {
  const { channel, key, organization, owner } = await service.organization()
  const post = async (path: string, json: unknown) =>
    (await service.request("POST", path, { key, json, ...idempotency() })).body.data
  const templates = await service.request("GET", "/v1/templates", { key })
  const contact = await post("/v1/contacts", { first_name: "Kim" })
  const tag = await post("/v1/tags", { name: "Known", color: "gray" })
  const names: Record<string, string> = {
    [Examples.ids.channel_id]: channel.id,
    [Examples.ids.template_id]: templates.body.data[0].id,
    [Examples.ids.assigned_user_id]: owner.id,
    [Examples.ids.contact_id]: contact.id,
    [Examples.ids.tag_id]: tag.id,
    [WebhookExamples.replayWebhook.since]: new Date().toISOString()
  }
  const webhook = await post("/v1/webhooks", { url: "https://shop.example/crm", event_types: ["message.sent"] })
  names[Examples.ids.webhook_id] = webhook.id
  const named = (text: string): string =>
    Object.entries(names).reduce((text, [theirs, ours]) => text.replaceAll(theirs, ours), text)
  const send = await post(
    "/v1/conversations",
    JSON.parse(named(JSON.stringify(ConversationExamples.startConversation)))
  )
  const follow = () => service.request("GET", `/v1/sends/${send.id}`, { key })
  await service.until(async () => (await follow()).body.data.status === "sent")
  names[Examples.ids.send_id] = send.id
  names[Examples.ids.conversation_id] = send.conversation_id
  const deliveries = await service.request("GET", `/v1/webhooks/${webhook.id}/deliveries`, { key })
  names[Examples.ids.delivery_id] = deliveries.body.data[0].id
  names[Examples.ids.event_id] = deliveries.body.data[0].event_id
  names[Examples.ids.message_id] = (await follow()).body.data.message_id
  // A text may be sent now: the contact has just written.
  await service.runtime.runPromise(receive(channel.id))
  return { actor: { organization_id: organization.id, member_id: owner.id }, key, named }
}
