/**
 * Kinds of callbacks that the networks document, each with what becomes of it: the type of the message and the names of
 * its details, or nothing. The bodies are written by hand.
 */
import { type CallbackEntry, messengerEntry, whatsAppEntry } from "../src/fake/CallbackBodies.ts"

export interface Documented {
  readonly name: string
  /** Makes the entry for an account. The ID is that of the message. */
  readonly entry: (account: string, id: string) => CallbackEntry
  readonly network: "instagram" | "messenger" | "whatsapp"
  /** The resulting type and details, such as `location: location quoted`; null if it is no message. */
  readonly becomes: string | null
}

const person = "4915112345678"
const file = { id: "77", mime_type: "image/jpeg", sha256: "made up" }

/** The file of a link that no network has. It is not fetched. */
const url = "http://192.168.0.1/file"

/** Fields that can surround a message of any type, with the resulting details. */
const surroundings: ReadonlyArray<readonly [object, string]> = [
  [{}, ""],
  [{ context: { from: "15550783881", id: "wamid.before" } }, "quoted"],
  [{ context: { forwarded: true } }, "forwarded"],
  [{ referral: { source_type: "post", source_id: "1", source_url: "https://network.example/p/1" } }, "referral"]
]

const whatsAppMessages: Readonly<Record<string, readonly [message: object, becomes: string]>> = {
  text: [{ type: "text", text: { body: "Hi \u{1F44B}" } }, "text:"],
  image: [{ type: "image", image: { ...file, caption: "Look" } }, "image:"],
  "image that was shared in the app": [{ type: "image", image: { ...file, url } }, "image:"],
  video: [{ type: "video", video: file }, "video:"],
  audio: [{ type: "audio", audio: { ...file, voice: false } }, "audio:"],
  "voice message": [{ type: "audio", audio: { ...file, voice: true } }, "audio:"],
  document: [{ type: "document", document: { ...file, filename: "offer.pdf" } }, "document:"],
  sticker: [{ type: "sticker", sticker: { ...file, animated: false } }, "sticker:"],
  "pinned place": [{ type: "location", location: { latitude: 1.5, longitude: 2.5 } }, "location: location"],
  "named place": [
    { type: "location", location: { latitude: 1, longitude: 2, name: "Café", address: "Lindenweg 4", url } },
    "location: location"
  ],
  "place without a type": [{ location: { latitude: 1, longitude: 2, name: "Café" } }, "location: location"],
  contact: [
    {
      type: "contacts",
      contacts: [{ name: { formatted_name: "Noor" }, phones: [{ phone: "+49 421 1", type: "CELL" }] }]
    },
    "contacts: contacts"
  ],
  "own number, on request": [
    { type: "contacts", contacts: [{ origin: "contact_request", phones: [{ phone: "+49 421 2", wa_id: "494212" }] }] },
    "contacts: contacts"
  ],
  "contact without a number": [
    { type: "contacts", contacts: [{ name: { formatted_name: "Noor" } }] },
    "contacts: contacts"
  ],
  "button of a message": [
    { type: "interactive", interactive: { type: "button_reply", button_reply: { id: "a", title: "A" } } },
    "interactive: choice"
  ],
  "row of a list": [
    {
      type: "interactive",
      interactive: { type: "list_reply", list_reply: { id: "b", title: "B", description: "The second" } }
    },
    "interactive: choice"
  ],
  "button of a template": [{ type: "button", button: { text: "Yes", payload: "YES" } }, "interactive: choice"],
  "answers of a flow": [
    {
      type: "interactive",
      interactive: { type: "nfm_reply", nfm_reply: { name: "flow", body: "Sent", response_json: "{}" } }
    },
    "interactive: flow"
  ],
  "address form": [
    {
      type: "interactive",
      interactive: {
        type: "nfm_reply",
        nfm_reply: { name: "address_message", response_json: { values: { city: "Bremen" } } }
      }
    },
    "interactive: flow"
  ],
  "answers of a flow that are no object": [
    { type: "interactive", interactive: { type: "nfm_reply", nfm_reply: { name: "flow", response_json: "[1]" } } },
    "interactive: flow provider_data"
  ],
  "reply to a request for calls": [
    {
      type: "interactive",
      interactive: { type: "call_permission_reply", call_permission_reply: { response: "reject" } }
    },
    "interactive: provider_data"
  ],
  "interactive of a new kind": [
    { type: "interactive", interactive: { type: "poll_reply", poll_reply: {} } },
    "interactive: provider_data"
  ],
  reaction: [{ type: "reaction", reaction: { message_id: "wamid.before", emoji: "\u{1F44D}" } }, "reaction: reaction"],
  "removed reaction": [{ type: "reaction", reaction: { message_id: "wamid.before", emoji: "" } }, "reaction: reaction"],
  order: [
    {
      type: "order",
      order: { catalog_id: "8", product_items: [{ product_retailer_id: "m", quantity: 1, item_price: 2 }] }
    },
    "unsupported: order provider_type"
  ],
  "type that the network does not support": [
    { type: "unsupported", errors: [{ code: 131051, title: "Message type unknown" }] },
    "unsupported: provider_data"
  ],
  "type that the network names and does not support": [
    { type: "unsupported", unsupported: { type: "poll_creation" }, errors: [{ code: 131051 }] },
    "unsupported: provider_data provider_type"
  ],
  "file that the network could not load": [
    { type: "image", image: { caption: "Look" }, errors: [{ code: 131052, title: "Media download error" }] },
    "image: provider_data"
  ],
  "type that is not documented": [{ type: "hologram", hologram: {} }, "unsupported: provider_data provider_type"]
}

const inbound = { from: person, id: "wamid.none", timestamp: "1763640000" }

/** Makes a change of a number under any field. */
const changeOf = (account: string, field: string, value: object): CallbackEntry => {
  const entry = whatsAppEntry(account, value)
  return "change" in entry ? { ...entry, change: { ...entry.change, field } } : entry
}

/** The ways in which a message comes under other fields: of the business, or while another app has the conversation. */
const otherForms: ReadonlyArray<
  readonly [name: string, field: string, value: (message: object, id: string) => object]
> = [
  ["in the business's app", "smb_message_echoes", (message, id) => ({
    message_echoes: [{ from: "15550783881", to: person, id, timestamp: "1763640000", ...message }]
  })],
  ["of another app", "message_echoes", (message, id) => ({
    contacts: [{ profile: { username: "kim" }, user_id: "DE.1", parent_user_id: "DE.ENT.1" }],
    message_echoes: [{ to_user_id: "DE.1", to_parent_user_id: "DE.ENT.1", id, timestamp: "1763640000", ...message }]
  })],
  ["of another app in standby", "standby", (message, id) => ({
    standby: { message_echoes: [{ id, timestamp: "1763640000", message: { to: person, ...message } }] }
  })],
  ["to another app in standby", "standby", (message, id) => ({
    standby: { contacts: [{ profile: { name: "Kim" }, wa_id: person }], messages: [{ ...inbound, id, ...message }] }
  })]
]

const whatsApp = (name: string, message: object, becomes: string | null): Documented => ({
  name: `whatsapp: ${name}`,
  network: "whatsapp",
  becomes,
  entry: (account, id) =>
    whatsAppEntry(account, {
      contacts: [{ profile: { name: "Kim" }, wa_id: person }],
      messages: [{ from: person, id, timestamp: "1763640000", ...message }]
    })
})

const change = (name: string, field: string, value: object): Documented => ({
  name: `whatsapp: ${name}`,
  network: "whatsapp",
  becomes: null,
  entry: (account) => changeOf(account, field, value)
})

const noMessages: ReadonlyArray<Documented> = [
  whatsApp("opened for the first time", { type: "request_welcome" }, null),
  whatsApp(
    "security code changed",
    { type: "system", system: { type: "customer_identity_changed", body: "Changed" } },
    null
  ),
  whatsApp(
    "system message of a new kind",
    { type: "system", system: { type: "user_joined_club", body: "Joined" } },
    null
  ),
  whatsApp("group", { group_id: "1", type: "text", text: { body: "Hi all" } }, null),
  change("history", "history", { messages: [{ ...inbound, type: "text", text: { body: "Old" } }] }),
  change("call", "calls", { calls: [{ id: "wacid.1", from: person, event: "connect", timestamp: "1763640000" }] }),
  change("template was approved", "message_template_status_update", { event: "APPROVED", message_template_id: 1 }),
  change("quality of the number", "phone_number_quality_update", { event: "FLAGGED", current_limit: "TIER_1K" }),
  change("account was reviewed", "account_review_update", { decision: "APPROVED" }),
  change("field of a new kind", "weather", { messages: [{ ...inbound, type: "text", text: { body: "Rain" } }] }),
  change("errors of the account", "messages", { errors: [{ code: 130429, title: "Rate limit hit" }] }),
  change("payment", "messages", {
    statuses: [{ id: "wamid.pay", type: "payment", status: "failed", timestamp: "1763640000", recipient_id: person }]
  })
]

const attachments: Readonly<Record<string, readonly [attachment: object, becomes: string]>> = {
  image: [{ type: "image", payload: { url } }, "image:"],
  sticker: [{ type: "sticker", payload: { url, sticker_id: 369239263222822 } }, "sticker:"],
  "sticker as an image": [{ type: "image", payload: { url, sticker_id: 369239263222822 } }, "sticker:"],
  video: [{ type: "video", payload: { url } }, "video:"],
  audio: [{ type: "audio", payload: { url } }, "audio:"],
  file: [{ type: "file", payload: { url } }, "document:"],
  place: [{ type: "location", title: "Café", payload: { coordinates: { lat: 1, long: 2 } } }, "location: location"],
  link: [
    { type: "fallback", title: "Shop", url: "https://shop.example/", payload: null },
    "unsupported: provider_type shares"
  ],
  share: [{ type: "share", payload: { url } }, "unsupported: provider_type shares"],
  post: [{ type: "ig_post", payload: { url, ig_post_media_id: "1" } }, "unsupported: provider_type shares"],
  reel: [{ type: "reel", payload: { url, title: "Autumn", reel_video_id: 1 } }, "unsupported: provider_type shares"],
  "reel of Instagram": [
    { type: "ig_reel", payload: { url, reel_video_id: "1" } },
    "unsupported: provider_type shares"
  ],
  "story mention": [{ type: "story_mention", payload: { url } }, "unsupported: provider_type story"],
  "story that was shared": [
    { type: "ig_story", payload: { story_media_url: url } },
    "unsupported: provider_type shares"
  ],
  product: [
    { type: "template", payload: { product: { elements: [{ id: "1", retailer_id: "m", title: "Mug" }] } } },
    "unsupported: provider_data provider_type shares"
  ],
  buttons: [
    { type: "template", payload: { template_type: "button", text: "Choose", buttons: [{ title: "A", payload: "A" }] } },
    "unsupported: provider_data provider_type shares"
  ],
  appointment: [
    { type: "appointment_booking", payload: { booking_id: "B1", status: "requested", start_time: 1763640000 } },
    "unsupported: provider_data provider_type shares"
  ],
  heart: [{ type: "like_heart" }, "unsupported: provider_type shares"],
  "picture that disappears": [{ type: "ephemeral" }, "unsupported: provider_type shares"],
  "attachment of a new kind": [{ type: "hologram", payload: { url } }, "unsupported: provider_type shares"]
}

type MessengerEvent = readonly [name: string, event: (id: string) => object, becomes: string | null]

const referral = { ref: "spring", source: "ADS", type: "OPEN_THREAD", ad_id: "1" }

const messagingEvents: ReadonlyArray<MessengerEvent> = [
  ["text", (mid) => ({ message: { mid, text: "Hi" } }), "text:"],
  ["reply to a message", (mid) => ({ message: { mid, text: "Yes", reply_to: { mid: "m_0" } } }), "text: quoted"],
  [
    "reply to a story",
    (mid) => ({ message: { mid, text: "Nice", reply_to: { story: { id: "1", url } } } }),
    "text: story"
  ],
  ["text after an ad", (mid) => ({ message: { mid, text: "Hi", referral } }), "text: referral"],
  ["quick reply", (mid) => ({ message: { mid, text: "Red", quick_reply: { payload: "RED" } } }), "interactive: choice"],
  ["postback", (mid) => ({ postback: { mid, title: "Start", payload: "START" } }), "interactive: choice"],
  [
    "postback after an ad",
    (mid) => ({ postback: { mid, title: "Start", payload: "START", referral } }),
    "interactive: choice referral"
  ],
  ["message that is not supported", (mid) => ({ message: { mid, is_unsupported: true } }), "unsupported:"],
  ...Object.entries(attachments).flatMap(([name, [attachment, becomes]]): ReadonlyArray<MessengerEvent> => [
    [name, (mid) => ({ message: { mid, attachments: [attachment] } }), becomes],
    [
      `${name}, as a reply`,
      (mid) => ({ message: { mid, reply_to: { mid: "m_0" }, attachments: [attachment] } }),
      [becomes.split(":")[0], [...becomes.split(" ").slice(1), "quoted"].toSorted().join(" ")].join(": ")
    ]
  ]),
  ["typing", () => ({ typing: true }), null],
  ["opt-in", () => ({ optin: { ref: "newsletter" } }), null],
  ["only a referral", () => ({ referral }), null],
  ["control was passed", () => ({ pass_thread_control: { new_owner_app_id: 1 } }), null],
  ["control was requested", () => ({ request_thread_control: { requested_owner_app_id: 1 } }), null],
  ["control was taken", () => ({ take_thread_control: { previous_owner_app_id: 1 } }), null],
  ["account was linked", () => ({ account_linking: { status: "linked" } }), null],
  ["game was played", () => ({ game_play: { game_id: 1 } }), null],
  ["feedback", () => ({ messaging_feedback: { feedback_screens: [] } }), null],
  ["policy", () => ({ "policy-enforcement": { action: "block" } }), null],
  ["removed reaction", () => ({ reaction: { mid: "m_0", action: "unreact" } }), null],
  ["event of a new kind", () => ({ weather: { is_rainy: true } }), null]
]

const messenger = (network: "instagram" | "messenger") => ([name, event, becomes]: MessengerEvent): Documented => ({
  name: `${network}: ${name}`,
  network,
  becomes,
  entry: (account, id) =>
    messengerEntry(network === "messenger" ? "page" : "instagram", {
      account,
      person: "24601",
      timestamp: 1_763_640_000_123,
      event: event(id)
    })
})

const isOfMessage = (event: object): event is { readonly message: object } => "message" in event

/** The same message of the business, and one in standby. */
const ofBusiness =
  (network: "instagram" | "messenger") => ([name, event, becomes]: MessengerEvent): ReadonlyArray<Documented> => {
    const object = network === "messenger" ? "page" : "instagram"
    if (!isOfMessage(event("")) || becomes === null) return []
    const entry = (account: string, id: string) => {
      const original = event(id)
      const message = { ...(isOfMessage(original) ? original.message : {}), is_echo: true, app_id: 1 }
      const [sender, recipient] = [{ id: account }, { id: "24601" }]
      return messengerEntry(object, {
        account,
        person: "24601",
        timestamp: 1_763_640_000_123,
        event: { sender, recipient, message }
      })
    }
    return [{ name: `${network}: ${name}, of the business`, network, becomes, entry }]
  }

/** Every documented kind of callback. */
export const documented: ReadonlyArray<Documented> = [
  ...Object.entries(whatsAppMessages).flatMap(([name, [message, becomes]]) =>
    surroundings.map(([around, more]) => {
      const [type = "", ...details] = becomes.split(" ")
      const all = [...details, ...(more === "" ? [] : [more])].toSorted()
      return whatsApp(`${name} ${more}`.trim(), { ...message, ...around }, [type, ...all].join(" "))
    })
  ),
  ...Object.entries(whatsAppMessages).flatMap(([name, [message, becomes]]) =>
    otherForms.map(([form, field, value]): Documented => ({
      name: `whatsapp: ${name} ${form}`,
      network: "whatsapp",
      becomes,
      entry: (account, id) => changeOf(account, field, value(message, id))
    }))
  ),
  ...noMessages,
  ...messagingEvents.map(messenger("messenger")),
  ...messagingEvents.map(messenger("instagram")),
  ...messagingEvents.flatMap(ofBusiness("messenger")),
  ...messagingEvents.flatMap(ofBusiness("instagram"))
]
