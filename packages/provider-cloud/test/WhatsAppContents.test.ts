/** The details of a message of WhatsApp, and messages with fields of any form. */
import { assert, describe, it } from "@effect/vitest"
import { boundedDetails, type MessageDetails } from "@messaging-crm/core/MessageDetails"
import { Arbitrary, Schema } from "effect"
import { whatsAppEntry } from "../src/fake/CallbackBodies.ts"
import { ana, eventOf, number, parseEntries } from "./Callback.ts"
import { choice, messengerContents, whatsAppContent } from "./Contents.ts"

it("a WhatsApp message with a chosen button or row has its ID, title, and payload", () => {
  const reply = (name: string, value: object) =>
    whatsAppContent({ type: "interactive", interactive: { [name]: value } })
  assert.deepStrictEqual(reply("button_reply", { id: "cancel:4711", title: "Cancel" }), {
    type: "interactive",
    text: "Cancel",
    details: choice({ id: "cancel:4711", title: "Cancel" })
  })
  assert.deepStrictEqual(
    reply("list_reply", { id: "slot-2", title: "Tomorrow", description: "9 to 12" }).details,
    choice({ kind: "list_row", id: "slot-2", title: "Tomorrow", description: "9 to 12" })
  )
  assert.deepStrictEqual(whatsAppContent({ type: "button", button: { payload: "STOP", text: "No more" } }), {
    type: "interactive",
    text: "No more",
    details: choice({ kind: "template_button", title: "No more", payload: "STOP" })
  })
})

it("a WhatsApp message with a place has its coordinates, name, address, and URL, without a type too", () => {
  const location = {
    latitude: 53.0793,
    longitude: 8.8017,
    name: "Berg Café",
    address: "Lindenweg 4",
    url: "https://cafe.example/"
  }
  const expected = {
    type: "location",
    text: "Berg Café\nLindenweg 4\n53.0793, 8.8017",
    details: { location }
  } as const
  assert.deepStrictEqual(whatsAppContent({ type: "location", location }), expected)
  assert.deepStrictEqual(whatsAppContent({ location }), expected)
})

it("a WhatsApp message with contacts has every number and address", () => {
  const card = {
    name: { formatted_name: "Noor Berg", first_name: "Noor" },
    org: { company: "Berg Café", department: "Kitchen", title: "Owner" },
    birthday: "1990-05-17",
    phones: [{ phone: "+49 421 5550100", type: "WORK", wa_id: "494215550100" }, { wa_id: "4915199" }, 7],
    emails: [{ email: "noor@cafe.example", type: "HOME" }],
    urls: [{ url: "https://cafe.example/" }],
    addresses: [{ street: "Lindenweg 4", zip: "28195", city: "Bremen", country: "Germany", type: "WORK" }]
  }
  assert.deepStrictEqual(
    whatsAppContent({ type: "contacts", contacts: [card, { name: { first_name: "Kim", last_name: "Roe" } }] }),
    {
      type: "contacts",
      text: "Noor Berg\n+49 421 5550100\n4915199\nKim Roe",
      details: {
        contacts: [
          {
            name: "Noor Berg",
            organization: "Berg Café",
            department: "Kitchen",
            job_title: "Owner",
            birthday: "1990-05-17",
            phones: [
              { type: "WORK", value: "+49 421 5550100", external_id: "+494215550100" },
              { type: null, value: "4915199", external_id: "+4915199" }
            ],
            emails: [{ type: "HOME", value: "noor@cafe.example" }],
            urls: [{ type: null, value: "https://cafe.example/" }],
            addresses: [{ type: "WORK", value: "Lindenweg 4, 28195 Bremen, Germany" }]
          },
          {
            name: "Kim Roe",
            organization: null,
            department: null,
            job_title: null,
            birthday: null,
            phones: [],
            emails: [],
            urls: [],
            addresses: []
          }
        ]
      }
    }
  )
})

it("a WhatsApp message that is a reaction has its target, and says whether it removes the former one", () => {
  const reaction = (emoji?: string) => whatsAppContent({ type: "reaction", reaction: { message_id: "wamid.X", emoji } })
  const details = (action: "react" | "unreact", emoji: string | null): MessageDetails => ({
    reaction: { action, emoji, provider_message_id: "wamid.X" }
  })
  assert.deepStrictEqual(reaction("👍"), { type: "reaction", text: "👍", details: details("react", "👍") })
  assert.deepStrictEqual(reaction(""), { type: "reaction", text: null, details: details("unreact", null) })
  assert.deepStrictEqual(reaction(), { type: "reaction", text: null, details: details("unreact", null) })
})

it("a WhatsApp message that is an order has its items, with numbers as numbers or text", () => {
  const product_items = [
    { product_retailer_id: "mug-blue", quantity: 2, item_price: 9.5, currency: "EUR" },
    { product_retailer_id: "mug-red", quantity: "1", item_price: "10.25", currency: "EUR" }
  ]
  assert.deepStrictEqual(
    whatsAppContent({ type: "order", order: { catalog_id: "801", text: "Please", product_items } }),
    {
      type: "unsupported",
      text: "Please",
      details: {
        order: {
          catalog_id: "801",
          text: "Please",
          items: [
            { product_id: "mug-blue", quantity: 2, price: 9.5, currency: "EUR" },
            { product_id: "mug-red", quantity: 1, price: 10.25, currency: "EUR" }
          ]
        },
        provider_type: "order"
      }
    }
  )
})

it("a WhatsApp message with the answers of a flow has them as JSON", () => {
  const flow = (response_json: unknown) =>
    whatsAppContent({ type: "interactive", interactive: { nfm_reply: { name: "flow", body: "Sent", response_json } } })
  assert.deepStrictEqual(flow("{\"date\":\"2026-11-24\",\"guests\":2,\"note\":\"a\\u0000b\"}"), {
    type: "interactive",
    text: "Sent",
    details: { flow: { name: "flow", response: { date: "2026-11-24", guests: 2, note: "a\uFFFDb" } } }
  })
  for (const bad of ["{", "[]", "7", null, 7]) {
    const nfm_reply = { name: "flow", body: "Sent", response_json: bad }
    assert.deepStrictEqual(flow(bad).details, {
      flow: { name: "flow", response: null },
      provider_data: { interactive: { nfm_reply } }
    })
  }
  const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`
  assert.isNotNull(flow(`{"a":${deep}}`).details?.flow?.response)
})

it("a WhatsApp message of every type has the quoted message, forwarding, the product, and the ad", () => {
  const referral = {
    source_type: "ad",
    source_id: "120200001",
    source_url: "https://network.example/ad",
    headline: "Mugs",
    body: "Free delivery",
    media_type: "image",
    image_url: "https://cdn.example/ad.jpg",
    ctwa_clid: "click-4711",
    welcome_message: { text: "Hello!" }
  }
  const context = { from: "15550783881", id: "wamid.prev" }
  const image = { type: "image", image: { id: "77", mime_type: "image/jpeg", caption: "This one?" } }
  assert.deepStrictEqual(whatsAppContent({ ...image, context, referral }).details, {
    quoted: { provider_message_id: "wamid.prev", from: "+15550783881" },
    referral: {
      source: "ad",
      type: null,
      id: "120200001",
      url: "https://network.example/ad",
      ref: null,
      headline: "Mugs",
      body: "Free delivery",
      media_url: "https://cdn.example/ad.jpg",
      click_id: "click-4711",
      product_id: null,
      greeting: "Hello!"
    }
  })
  const text = { type: "text", text: { body: "Hi" } }
  assert.deepStrictEqual(whatsAppContent({ ...text, context: { forwarded: true } }).details, {
    forwarded: { many_times: false }
  })
  assert.deepStrictEqual(whatsAppContent({ ...text, context: { frequently_forwarded: true } }).details, {
    forwarded: { many_times: true }
  })
  const referred_product = { catalog_id: "801", product_retailer_id: "mug-blue" }
  assert.deepStrictEqual(whatsAppContent({ ...text, context: { ...context, referred_product } }).details, {
    quoted: { provider_message_id: "wamid.prev", from: "+15550783881" },
    product: { catalog_id: "801", product_id: "mug-blue" }
  })
  const button_reply = { id: "yes", title: "Yes" }
  assert.hasAllKeys(whatsAppContent({ type: "interactive", interactive: { button_reply }, context }).details, [
    "choice",
    "quoted"
  ])
  assert.isNull(whatsAppContent(text).details)
})

it("a WhatsApp message of a type with a long name has no half of a character, which no database would store", () => {
  const type = `${"x".repeat(99)}😀 and more`
  for (const message of [{ type }, { type: "unsupported", unsupported: { type } }]) {
    assert.strictEqual(whatsAppContent(message).details?.provider_type, `${"x".repeat(99)}😀`)
  }
})

it("a WhatsApp message of an unknown type has the network's name for it, and its contents", () => {
  assert.deepStrictEqual(whatsAppContent({ type: "poll", poll: { question: "Lunch?" } }), {
    type: "unsupported",
    text: null,
    details: { provider_type: "poll", provider_data: { poll: { question: "Lunch?" } } }
  })
  const errors = [{ code: 131051, title: "Message type unknown" }]
  assert.deepStrictEqual(
    whatsAppContent({ type: "unsupported", unsupported: { type: "poll_creation" }, errors }).details,
    {
      provider_type: "poll_creation",
      provider_data: { unsupported: { type: "poll_creation" }, errors }
    }
  )
  const call_permission_reply = { response: "accept", is_permanent: false }
  const interactive = { type: "call_permission_reply", call_permission_reply }
  assert.deepStrictEqual(whatsAppContent({ type: "interactive", interactive }), {
    type: "interactive",
    text: null,
    details: { provider_data: { interactive } }
  })
  const lost = { type: "image", image: { caption: "Look" }, errors: [{ code: 131052 }] }
  assert.deepInclude(whatsAppContent(lost), {
    type: "image",
    text: "Look",
    details: { provider_data: { errors: lost.errors } }
  })
})

it("a WhatsApp message that failed says why, and pauses the channel if the whole number is rejected", () => {
  const failed = (...errors: ReadonlyArray<unknown>) =>
    eventOf(
      parseEntries(whatsAppEntry(number, {
        statuses: [{ id: "wamid.1", status: "failed", timestamp: "1767225600", recipient_id: ana.wa_id, errors }]
      })).events
    )
  assert.deepInclude(failed({ code: "131049", title: "Not delivered" }), {
    failure: { code: 131049, title: "Not delivered", description: null }
  })
  const error = {
    code: 131042,
    title: "Payment issue",
    message: "Payment issue",
    error_data: { details: "No card." }
  }
  assert.deepInclude(failed(error), {
    status: "failed",
    failure: { code: 131042, title: "Payment issue", description: "No card." },
    pauses_channel: "channel_blocked"
  })
  const expired = failed(7, { code: 131047, message: "Re-engagement message" })
  assert.deepInclude(expired, { failure: { code: 131047, title: "Re-engagement message", description: null } })
  assert.notProperty(expired, "pauses_channel")
  for (const none of [failed(), failed("no")]) assert.notProperty(none, "failure")
})

describe("any field", () => {
  const junk = Arbitrary.schema(Schema.Json)
  const names = ["context", "referral", "location", "contacts", "interactive", "button", "reaction", "order", "text"]

  it.prop("of any shape never ends the reader, and gives details within their limits", {
    values: Arbitrary.array(junk, { minLength: names.length, maxLength: names.length }),
    type: Arbitrary.schema(Schema.Literals([...names, "poll"]))
  }, ({ type, values }) => {
    const { details } = whatsAppContent({
      ...Object.fromEntries(names.map((name, index) => [name, values[index]])),
      type
    })
    assert.isAtMost(JSON.stringify(boundedDetails(details ?? null)).length, 16_384)
    const [message, attachment, payload, referral] = values
    const given = { mid: "m_1", text: "Hi", referral, reply_to: message, quick_reply: message }
    messengerContents({
      message: { ...given, attachments: [attachment, { type: "share", payload }, { type: "location", payload }] }
    })
  })
})
