/** Examples of messages with details, one for each part (contract §11.10). They continue the story of `Examples.ts`. */
import type { MessageDetails } from "@messaging-crm/core/MessageDetails"
import type { Message } from "@messaging-crm/core/Messages"
import * as ConversationExamples from "./ConversationExamples.ts"

type Encoded = typeof Message.Encoded

const inbound = (type: Encoded["type"], text: string | null, details: typeof MessageDetails.Encoded): Encoded => ({
  ...ConversationExamples.inboundMessage,
  type,
  text,
  details
})

const choice = inbound("interactive", "Deliver tomorrow", {
  choice: { kind: "list_row", id: "slot-2", title: "Deliver tomorrow", description: "9:00 to 12:00", payload: null },
  quoted: { provider_message_id: "wamid.4709", from: "+4915112345679" }
})

const postback = inbound("interactive", "Track my order", {
  choice: { kind: "postback", id: null, title: "Track my order", description: null, payload: "TRACK:4711" }
})

const location = inbound("location", "Berg Café\nLindenweg 4, Bremen\n53.0793, 8.8017", {
  location: {
    latitude: 53.0793,
    longitude: 8.8017,
    name: "Berg Café",
    address: "Lindenweg 4, Bremen",
    url: "https://cafe.example/"
  }
})

const contacts = inbound("contacts", "Noor Berg\n+49 421 5550100", {
  contacts: [{
    name: "Noor Berg",
    organization: "Berg Café",
    department: null,
    job_title: "Owner",
    birthday: "1990-05-17",
    phones: [{ type: "WORK", value: "+49 421 5550100", external_id: "+494215550100" }],
    emails: [{ type: "WORK", value: "noor@cafe.example" }],
    urls: [],
    addresses: [{ type: "WORK", value: "Lindenweg 4, 28195 Bremen" }]
  }]
})

const reaction = inbound("reaction", "👍", {
  reaction: { action: "react", emoji: "👍", provider_message_id: "wamid.4711" }
})

const order = inbound("unsupported", "Two of these, please", {
  order: {
    catalog_id: "801",
    text: "Two of these, please",
    items: [{ product_id: "mug-blue", quantity: 2, price: 9.5, currency: "EUR" }]
  },
  provider_type: "order"
})

const flow = inbound("interactive", "Sent", {
  flow: { name: "flow", response: { date: "2026-11-24", guests: 2 } }
})

const story = inbound("text", "Is this still available?", {
  story: { action: "reply", id: "1790001", url: "https://cdn.network.example/story.jpg" }
})

const shares = inbound("unsupported", "Autumn collection", {
  shares: [{
    type: "reel",
    id: "1790002",
    title: "Autumn collection",
    url: "https://www.network.example/reel/1790002"
  }]
})

const forwarded = inbound("text", "See the offer below", { forwarded: { many_times: true } })

const product = inbound("text", "Does it come in green?", {
  product: { catalog_id: "801", product_id: "mug-blue" }
})

const referral = inbound("text", "I saw your ad", {
  referral: {
    source: "ad",
    type: null,
    id: "120200001",
    url: "https://network.example/ad",
    ref: null,
    headline: "Mugs for winter",
    body: "Free delivery in November",
    media_url: "https://cdn.network.example/ad.jpg",
    click_id: "click-4711",
    product_id: null,
    greeting: "Hello! Which mug may it be?"
  }
})

const providerData = inbound("interactive", null, {
  provider_data: {
    interactive: { type: "call_permission_reply", call_permission_reply: { response: "accept", is_permanent: false } }
  }
})

const failure: Encoded = {
  ...ConversationExamples.message,
  status: "failed",
  details: {
    failure: {
      code: 131026,
      title: "Message undeliverable",
      description: "The recipient cannot receive this message."
    }
  },
  delivered_at: null,
  failed_at: "2026-11-20T10:00:02.000Z"
}

/** A message for each part of details, by the name of the example. */
export const details: Readonly<Record<string, Encoded>> = {
  choice,
  postback,
  location,
  contacts,
  reaction,
  order,
  flow,
  story,
  shares,
  forwarded,
  product,
  referral,
  providerData,
  failure
}
