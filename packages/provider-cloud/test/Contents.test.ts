/** What a message of the networks holds in addition to its text and its file. */
import { assert, describe, it } from "@effect/vitest"
import { bounded, type MessageDetails } from "@messaging-crm/core/MessageDetails"
import { type Notice, read } from "@messaging-crm/provider-cloud/Callback"
import { Arbitrary, DateTime, Option, Schema } from "effect"
import { bodyOf, phonePart, socialPart } from "../src/fake/Bodies.ts"

const number = "106540352242922"
const person = "4915112345678"

const parse = (...parts: Parameters<typeof bodyOf>[0]) =>
  Option.getOrThrow(read(bodyOf(parts), DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")))

const eventOf = ([notice]: ReadonlyArray<Notice>) => notice?.event ?? assert.fail("There is no notice.")

/** Returns the type, text and details of one phone message. */
const phone = (message: object) => {
  const part = phonePart(number, { messages: [{ from: person, id: "wamid.1", timestamp: "1767225600", ...message }] })
  const event = eventOf(parse(part).notices)
  if (event.event !== "message_received") throw new Error(`A ${event.event} is not a received message.`)
  return { type: event.type, text: event.text, details: event.details }
}

const items = (item: object, object: "instagram" | "page" = "page") =>
  parse(socialPart(object, { account: "1784", person: "24601", timestamp: 1767225600123, item })).notices.map(
    ({ event, file }) => {
      if (event.event !== "message_received") throw new Error(`A ${event.event} is not a received message.`)
      return { type: event.type, text: event.text, details: event.details, file }
    }
  )

const social = (item: object, object: "instagram" | "page" = "page") => {
  const [only, ...others] = items(item, object)
  assert.isEmpty(others)
  return only
}

const attached = (...attachments: ReadonlyArray<object>) => ({ message: { mid: "m_1", attachments } })

const choice = (fields: Partial<NonNullable<MessageDetails["choice"]>>): MessageDetails => ({
  choice: { kind: "button", id: null, title: null, description: null, payload: null, ...fields }
})

describe("a phone message", () => {
  it("with a chosen button or row has its id, title and payload", () => {
    const chosen = (name: string, reply: object) => phone({ type: "interactive", interactive: { [name]: reply } })
    assert.deepStrictEqual(chosen("button_reply", { id: "cancel:4711", title: "Cancel" }), {
      type: "interactive",
      text: "Cancel",
      details: choice({ id: "cancel:4711", title: "Cancel" })
    })
    assert.deepStrictEqual(
      chosen("list_reply", { id: "slot-2", title: "Tomorrow", description: "9 to 12" }).details,
      choice({ kind: "list_row", id: "slot-2", title: "Tomorrow", description: "9 to 12" })
    )
    assert.deepStrictEqual(phone({ type: "button", button: { payload: "STOP", text: "No more" } }), {
      type: "interactive",
      text: "No more",
      details: choice({ kind: "template_button", title: "No more", payload: "STOP" })
    })
  })

  it("with a place has its coordinates, name, address and URL, also without a type", () => {
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
    assert.deepStrictEqual(phone({ type: "location", location }), expected)
    assert.deepStrictEqual(phone({ location }), expected)
  })

  it("with contacts has all that can be called or written to", () => {
    const card = {
      name: { formatted_name: "Noor Berg", first_name: "Noor" },
      org: { company: "Berg Café", title: "Owner" },
      phones: [{ phone: "+49 421 5550100", type: "WORK", wa_id: "494215550100" }, { wa_id: "4915199" }, 7],
      emails: [{ email: "noor@cafe.example", type: "HOME" }],
      urls: [{ url: "https://cafe.example/" }],
      addresses: [{ street: "Lindenweg 4", zip: "28195", city: "Bremen", country: "Germany", type: "WORK" }]
    }
    assert.deepStrictEqual(
      phone({ type: "contacts", contacts: [card, { name: { first_name: "Kim", last_name: "Roe" } }] }),
      {
        type: "contacts",
        text: "Noor Berg\n+49 421 5550100\n4915199\nKim Roe",
        details: {
          contacts: [
            {
              name: "Noor Berg",
              organization: "Berg Café",
              phones: [{ type: "WORK", value: "+49 421 5550100" }, { type: null, value: "4915199" }],
              emails: [{ type: "HOME", value: "noor@cafe.example" }],
              urls: [{ type: null, value: "https://cafe.example/" }],
              addresses: [{ type: "WORK", value: "Lindenweg 4, 28195 Bremen, Germany" }]
            },
            { name: "Kim Roe", organization: null, phones: [], emails: [], urls: [], addresses: [] }
          ]
        }
      }
    )
  })

  it("that is a reaction has its target, and says whether it removes the former one", () => {
    const reaction = (emoji?: string) => phone({ type: "reaction", reaction: { message_id: "wamid.X", emoji } })
    const details = (action: "react" | "unreact", emoji: string | null): MessageDetails => ({
      reaction: { action, emoji, provider_message_id: "wamid.X" }
    })
    assert.deepStrictEqual(reaction("👍"), { type: "reaction", text: "👍", details: details("react", "👍") })
    assert.deepStrictEqual(reaction(""), { type: "reaction", text: null, details: details("unreact", null) })
    assert.deepStrictEqual(reaction(), { type: "reaction", text: null, details: details("unreact", null) })
  })

  it("that is an order has its items, with numbers as numbers or text", () => {
    const product_items = [
      { product_retailer_id: "mug-blue", quantity: 2, item_price: 9.5, currency: "EUR" },
      { product_retailer_id: "mug-red", quantity: "1", item_price: "10.25", currency: "EUR" }
    ]
    assert.deepStrictEqual(phone({ type: "order", order: { catalog_id: "801", text: "Please", product_items } }), {
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
    })
  })

  it("with the answers of a flow has them as JSON", () => {
    const flow = (response_json: unknown) =>
      phone({ type: "interactive", interactive: { nfm_reply: { name: "flow", body: "Sent", response_json } } })
    assert.deepStrictEqual(flow("{\"date\":\"2026-11-24\",\"guests\":2,\"note\":\"a\\u0000b\"}"), {
      type: "interactive",
      text: "Sent",
      details: { flow: { name: "flow", response: { date: "2026-11-24", guests: 2, note: "a\uFFFDb" } } }
    })
    for (const bad of ["{", "[]", "7", null, 7]) {
      assert.deepStrictEqual(flow(bad).details, { flow: { name: "flow", response: null } })
    }
    const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`
    assert.isNotNull(flow(`{"a":${deep}}`).details?.flow?.response)
  })

  it("of every type has the quoted message, forwarding, the product and the ad", () => {
    const referral = {
      source_type: "ad",
      source_id: "120200001",
      source_url: "https://network.example/ad",
      headline: "Mugs",
      body: "Free delivery",
      media_type: "image",
      image_url: "https://cdn.example/ad.jpg",
      ctwa_clid: "click-4711"
    }
    const context = { from: "15550783881", id: "wamid.prev" }
    const image = { type: "image", image: { id: "77", mime_type: "image/jpeg", caption: "This one?" } }
    assert.deepStrictEqual(phone({ ...image, context, referral }).details, {
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
        product_id: null
      }
    })
    const text = { type: "text", text: { body: "Hi" } }
    assert.deepStrictEqual(phone({ ...text, context: { forwarded: true } }).details, {
      forwarded: { many_times: false }
    })
    assert.deepStrictEqual(phone({ ...text, context: { frequently_forwarded: true } }).details, {
      forwarded: { many_times: true }
    })
    const referred_product = { catalog_id: "801", product_retailer_id: "mug-blue" }
    assert.deepStrictEqual(phone({ ...text, context: { ...context, referred_product } }).details, {
      quoted: { provider_message_id: "wamid.prev", from: "+15550783881" },
      product: { catalog_id: "801", product_id: "mug-blue" }
    })
    const button_reply = { id: "yes", title: "Yes" }
    assert.hasAllKeys(phone({ type: "interactive", interactive: { button_reply }, context }).details, [
      "choice",
      "quoted"
    ])
    assert.isNull(phone(text).details)
  })

  it("of a type that is not known has the network's name for it", () => {
    assert.deepStrictEqual(phone({ type: "poll", poll: {} }), {
      type: "unsupported",
      text: null,
      details: { provider_type: "poll" }
    })
  })

  it("that failed says why, and pauses the channel if the whole number is refused", () => {
    const failed = (...errors: ReadonlyArray<unknown>) =>
      eventOf(
        parse(phonePart(number, {
          statuses: [{ id: "wamid.1", status: "failed", timestamp: "1767225600", recipient_id: person, errors }]
        })).notices
      )
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
})

describe("a message of a page or a photo account", () => {
  it("with a chosen button or quick reply has its payload", () => {
    assert.deepStrictEqual(social({ postback: { mid: "m_1", title: "Track it", payload: "TRACK:4711" } }), {
      type: "interactive",
      text: "Track it",
      details: choice({ kind: "postback", title: "Track it", payload: "TRACK:4711" }),
      file: null
    })
    assert.deepStrictEqual(social({ message: { mid: "m_1", text: "Red", quick_reply: { payload: "COLOR:RED" } } }), {
      type: "interactive",
      text: "Red",
      details: choice({ kind: "quick_reply", title: "Red", payload: "COLOR:RED" }),
      file: null
    })
  })

  it("with a place has its coordinates", () => {
    const payload = { coordinates: { lat: 53.0793, long: 8.8017 } }
    const url = "https://maps.network.example/?v=1"
    assert.deepStrictEqual(social(attached({ type: "location", title: "Kim's place", url, payload })), {
      type: "location",
      text: "Kim's place\n53.0793, 8.8017",
      details: { location: { latitude: 53.0793, longitude: 8.8017, name: "Kim's place", address: null, url } },
      file: null
    })
  })

  it("that is a reaction has its target", () => {
    const reaction = { mid: "m_X", action: "react", reaction: "love", emoji: "❤" }
    assert.deepStrictEqual(social({ reaction })?.details, {
      reaction: { action: "react", emoji: "❤", provider_message_id: "m_X" }
    })
  })

  it("with a shared post, reel or link has its link, which is not fetched", () => {
    const share = (type: string, payload: object, more: object = {}) => social(attached({ type, payload, ...more }))
    const reel = { reel_video_id: 1790002, title: "Autumn", url: "https://www.network.example/reel/1790002" }
    for (const type of ["ig_reel", "reel"]) {
      assert.deepStrictEqual(share(type, reel), {
        type: "unsupported",
        text: "Autumn",
        details: {
          shares: [{ type, id: "1790002", title: "Autumn", url: "https://www.network.example/reel/1790002" }],
          provider_type: type
        },
        file: null
      })
    }
    const url = "https://www.network.example/p/1"
    for (const type of ["share", "post", "ig_post", "ig_story", "fallback"]) {
      assert.deepInclude(share(type, { url }), { file: null, text: url })
      assert.deepStrictEqual(share(type, { url })?.details?.shares, [{ type, id: null, title: null, url }])
    }
    assert.deepStrictEqual(share("fallback", {}, { title: "Shop", url })?.details?.shares, [
      { type: "fallback", id: null, title: "Shop", url }
    ])
    const elements = [{ id: "9", retailer_id: "mug-blue", title: "Blue mug", image_url: "https://cdn.example/mug.jpg" }]
    assert.deepStrictEqual(share("template", { product: { elements } })?.details?.shares, [
      { type: "product", id: "mug-blue", title: "Blue mug", url: "https://cdn.example/mug.jpg" }
    ])
  })

  it("about a story has the story", () => {
    const story = { id: 17900, url: "https://cdn.example/story.jpg" }
    assert.deepStrictEqual(social({ message: { mid: "m_1", text: "Nice", reply_to: { story } } }, "instagram"), {
      type: "text",
      text: "Nice",
      details: { story: { action: "reply", id: "17900", url: "https://cdn.example/story.jpg" } },
      file: null
    })
    const mention = social(attached({ type: "story_mention", payload: { url: story.url } }), "instagram")
    assert.deepStrictEqual(mention?.details, {
      story: { action: "mention", id: null, url: story.url },
      provider_type: "story_mention"
    })
  })

  it("has the quoted message and the ad, also with several files", () => {
    const referral = {
      ref: "spring",
      ad_id: "6045246247433",
      source: "ADS",
      type: "OPEN_THREAD",
      ads_context_data: { ad_title: "Mugs", photo_url: "https://cdn.example/ad.jpg", post_id: "1", product_id: "9" }
    }
    const expected = {
      source: "ADS",
      type: "OPEN_THREAD",
      id: "6045246247433",
      url: null,
      ref: "spring",
      headline: "Mugs",
      body: null,
      media_url: "https://cdn.example/ad.jpg",
      click_id: null,
      product_id: "9"
    }
    const files = ["image", "file"].map((type) => ({ type, payload: { url: `https://cdn.example/${type}` } }))
    const all = items({ message: { mid: "m_1", reply_to: { mid: "m_0" }, referral, attachments: files } })
    assert.deepStrictEqual(all.map(({ details }) => details), [
      { quoted: { provider_message_id: "m_0", from: null }, referral: expected },
      null
    ])
    const start = social({ postback: { mid: "m_1", title: "Start", payload: "START", referral } })
    assert.deepStrictEqual(start?.details?.referral, expected)
  })

  it("with a text keeps what is attached that is no file", () => {
    const link = { type: "fallback", title: "Shop", payload: { url: "https://shop.example/" } }
    const place = { type: "location", payload: { coordinates: { lat: 1, long: 2 } } }
    const image = { type: "image", payload: { url: "https://cdn.example/1" } }
    const [first, ...files] = items({ message: { mid: "m_1", text: "See", attachments: [link, place, link, image] } })
    assert.deepInclude(first, { type: "text", text: "See", file: null })
    assert.deepInclude(first?.details?.location, { latitude: 1, longitude: 2 })
    assert.lengthOf(first?.details?.shares ?? [], 2)
    assert.deepStrictEqual(files.map(({ type }) => type), ["image"])
  })
})

describe("any part", () => {
  const junk = Arbitrary.schema(Schema.Json)
  const names = ["context", "referral", "location", "contacts", "interactive", "button", "reaction", "order", "text"]

  it.prop("of any shape never ends the reader, and gives details within their limits", {
    parts: Arbitrary.array(junk, { minLength: names.length, maxLength: names.length }),
    type: Arbitrary.schema(Schema.Literals([...names, "poll"]))
  }, ({ parts, type }) => {
    const { details } = phone({ ...Object.fromEntries(names.map((name, index) => [name, parts[index]])), type })
    assert.isAtMost(JSON.stringify(bounded(details ?? null)).length, 16_384)
    const [message, attachment, payload, referral] = parts
    const given = { mid: "m_1", text: "Hi", referral, reply_to: message, quick_reply: message }
    items({
      message: { ...given, attachments: [attachment, { type: "share", payload }, { type: "location", payload }] }
    })
  })
})
