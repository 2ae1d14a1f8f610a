/** Tests of the details of a message of Messenger or Instagram. */
import { assert, it } from "@effect/vitest"
import { attached, choice, messengerContent, messengerContents } from "./Contents.ts"

it("a message of Messenger or Instagram with a chosen button or quick reply has its payload", () => {
  assert.deepStrictEqual(messengerContent({ postback: { mid: "m_1", title: "Track it", payload: "TRACK:4711" } }), {
    type: "interactive",
    text: "Track it",
    details: choice({ kind: "postback", title: "Track it", payload: "TRACK:4711" }),
    file: null
  })
  assert.deepStrictEqual(
    messengerContent({ message: { mid: "m_1", text: "Red", quick_reply: { payload: "COLOR:RED" } } }),
    {
      type: "interactive",
      text: "Red",
      details: choice({ kind: "quick_reply", title: "Red", payload: "COLOR:RED" }),
      file: null
    }
  )
})

it("a message of Messenger or Instagram has a type without half a character, which no database would store", () => {
  const type = `${"x".repeat(99)}😀 and more`
  const details = messengerContent(attached({ type, payload: {} }))?.details
  const cut = `${"x".repeat(99)}😀`
  assert.deepStrictEqual([details?.provider_type, details?.shares?.[0]?.type], [cut, cut])
})

it("a message of Messenger or Instagram with a place has its coordinates", () => {
  const payload = { coordinates: { lat: 53.0793, long: 8.8017 } }
  const url = "https://maps.network.example/?v=1"
  assert.deepStrictEqual(messengerContent(attached({ type: "location", title: "Kim's place", url, payload })), {
    type: "location",
    text: "Kim's place\n53.0793, 8.8017",
    details: { location: { latitude: 53.0793, longitude: 8.8017, name: "Kim's place", address: null, url } },
    file: null
  })
})

it("a message of Messenger or Instagram that is a reaction has its target", () => {
  const reaction = { mid: "m_X", action: "react", reaction: "love", emoji: "❤" }
  assert.deepStrictEqual(messengerContent({ reaction })?.details, {
    reaction: { action: "react", emoji: "❤", provider_message_id: "m_X" }
  })
  assert.deepInclude(messengerContent({ reaction: { mid: "m_X", action: "react", reaction: "love" } }), {
    text: "love"
  })
})

it("a message of Messenger or Instagram with a shared post, reel or link has its link, which is not fetched", () => {
  const share = (type: string, payload: object, more: object = {}) =>
    messengerContent(attached({ type, payload, ...more }))
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
  assert.deepStrictEqual(share("template", { product: { elements } })?.details, {
    shares: [{ type: "product", id: "mug-blue", title: "Blue mug", url: "https://cdn.example/mug.jpg" }],
    provider_type: "template",
    provider_data: { product: { elements } }
  })
})

it("a message of Messenger or Instagram with a sticker or a post that is attached under two types has it once", () => {
  const sticker = { url: "https://cdn.example/like.png", sticker_id: 369239263222822 }
  const [image, own] = ["image", "sticker"].map((type) => ({ type, payload: sticker }))
  for (const both of [[image, own], [own, image], [own], [image]]) {
    assert.deepInclude(messengerContent({ message: { mid: "m_1", attachments: both } }), {
      type: "sticker",
      file: { url: sticker.url }
    })
  }
  const post = { url: "https://cdn.example/p", ig_post_media_id: "1790003" }
  const posts = ["share", "ig_post"].map((type) => ({ type, payload: post }))
  assert.deepInclude(messengerContent(attached(...posts))?.details, { provider_type: "ig_post" })
  const images = [1, 2].map(() => ({ type: "image", payload: { url: sticker.url } }))
  assert.lengthOf(messengerContents(attached(...images)), 2)
})

it("a message of Messenger or Instagram with an attachment that no other detail describes has it unchanged", () => {
  const booking = { booking_id: "B1", status: "requested", start_time: 1739612400, timezone: "Europe/Berlin" }
  assert.deepInclude(messengerContent(attached({ type: "appointment_booking", payload: booking }))?.details, {
    provider_type: "appointment_booking",
    provider_data: booking
  })
  const buttons = [{ type: "web_url", title: "Visit", url: "https://shop.example/" }]
  const template = { template_type: "button", text: "Choose", buttons }
  const sent = messengerContent(attached({ type: "template", title: "", payload: template }))
  assert.deepInclude(sent, { text: "Choose" })
  assert.deepStrictEqual(sent?.details?.provider_data, template)
  const asked = messengerContent({
    message: { ...attached({ type: "hologram", payload: { depth: 7 } }).message, text: "See" }
  })
  assert.deepStrictEqual(asked?.details?.provider_data, { depth: 7 })
})

it("a message of Messenger or Instagram about a story has the story", () => {
  const story = { id: 17900, url: "https://cdn.example/story.jpg" }
  assert.deepStrictEqual(
    messengerContent({ message: { mid: "m_1", text: "Nice", reply_to: { story } } }, "instagram"),
    {
      type: "text",
      text: "Nice",
      details: { story: { action: "reply", id: "17900", url: "https://cdn.example/story.jpg" } },
      file: null
    }
  )
  const mention = messengerContent(attached({ type: "story_mention", payload: { url: story.url } }), "instagram")
  assert.deepStrictEqual(mention?.details, {
    story: { action: "mention", id: null, url: story.url },
    provider_type: "story_mention"
  })
})

it("a message of Messenger or Instagram has the quoted message and the ad, also with several files", () => {
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
    product_id: "9",
    greeting: null
  }
  const files = ["image", "file"].map((type) => ({ type, payload: { url: `https://cdn.example/${type}` } }))
  const all = messengerContents({ message: { mid: "m_1", reply_to: { mid: "m_0" }, referral, attachments: files } })
  assert.deepStrictEqual(all.map(({ details }) => details), [
    { quoted: { provider_message_id: "m_0", from: null }, referral: expected },
    null
  ])
  const start = messengerContent({ postback: { mid: "m_1", title: "Start", payload: "START", referral } })
  assert.deepStrictEqual(start?.details?.referral, expected)
})

it("a message of Messenger or Instagram with a text keeps what is attached that is no file", () => {
  const link = { type: "fallback", title: "Shop", payload: { url: "https://shop.example/" } }
  const place = { type: "location", payload: { coordinates: { lat: 1, long: 2 } } }
  const image = { type: "image", payload: { url: "https://cdn.example/1" } }
  const [first, ...files] = messengerContents({
    message: { mid: "m_1", text: "See", attachments: [link, place, link, image] }
  })
  assert.deepInclude(first, { type: "text", text: "See", file: null })
  assert.deepInclude(first?.details?.location, { latitude: 1, longitude: 2 })
  assert.lengthOf(first?.details?.shares ?? [], 2)
  assert.deepStrictEqual(files.map(({ type }) => type), ["image"])
})
