/** Callbacks with messages of people, which a test posts instead of the network. */
import { type DateTime, Effect } from "effect"
import { createHmac } from "node:crypto"
import { app } from "./Network.ts"
import type { Server } from "./Servers.ts"

/** A message from a person to a channel. */
export interface Message {
  readonly channel_id: string
  readonly provider_message_id: string
  readonly from: string
  /** The content in the network's format. */
  readonly content: { readonly type: string; readonly [field: string]: unknown }
  readonly sent_at: DateTime.Utc
  readonly display_name?: string
}

/** Returns the content of a text message. */
export const text = (body: string): Message["content"] => ({ type: "text", text: { body } })

/** Returns a message as the network reports it. */
const entryOf = ({ channel_id, content, display_name = "Kim", from, provider_message_id, sent_at }: Message) => {
  const wa_id = from.replace("+", "")
  const timestamp = String(Math.floor(sent_at.epochMilliseconds / 1000))
  const value = {
    messaging_product: "whatsapp",
    metadata: { display_phone_number: "493012345678", phone_number_id: channel_id },
    contacts: [{ profile: { name: display_name }, wa_id }],
    messages: [{ from: wa_id, id: provider_message_id, timestamp, ...content }]
  }
  return { id: "acme", changes: [{ field: "messages", value }] }
}

/** Posts a signed callback to a server, as the network does, and returns the status of the response. */
export const post = ({ url }: Server, messages: ReadonlyArray<Message>) =>
  Effect.promise(async (signal) => {
    const body = JSON.stringify({ object: "whatsapp_business_account", entry: messages.map(entryOf) })
    const signature = createHmac("sha256", app.secret).update(body).digest("hex")
    const headers = { "content-type": "application/json", "x-hub-signature-256": `sha256=${signature}` }
    const response = await fetch(`${url}/ingress/graph`, { method: "POST", headers, body, signal })
    await response.arrayBuffer()
    return response.status
  })
