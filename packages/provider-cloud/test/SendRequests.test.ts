/** The requests that send messages, and the meaning of responses and error codes. */
import { assert, describe, it } from "@effect/vitest"
import type { Channel, ChannelType } from "@messaging-crm/core/Channels"
import { ChannelId, SendId } from "@messaging-crm/core/Ids"
import type { OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { errorCodes, type GraphError, outcomeOf } from "@messaging-crm/provider-cloud/ErrorCodes"
import { DateTime } from "effect"
import { otherSpellings } from "../src/People.ts"
import { acceptedOf, pageMessage, phoneMessage, photoMessage } from "../src/SendRequests.ts"

const reference = SendId.make("01990000-0000-7000-8000-00000000abcd")

const channel = (type: ChannelType): Channel => ({
  id: ChannelId.make("01990000-0000-7000-8000-000000000001"),
  type,
  name: "Support",
  address: "+493012345678",
  phone_messaging_business_account_id: type === "phone_messaging" ? "acme" : null,
  connected_at: DateTime.makeUnsafe(0)
})

const text = (type: ChannelType, recipient: string): OutboundMessage => ({
  channel: channel(type),
  reference,
  recipient,
  content: { type: "text", text: "Your table is ready 🍽" }
})

const template: OutboundMessage = {
  ...text("phone_messaging", "+5511988887777"),
  content: {
    type: "template",
    text: "Hello Kim, order 4711 is ready",
    template: {
      id: "9200",
      name: "order_ready",
      language: "pt_BR",
      components: [
        { type: "header", parameters: [] },
        {
          type: "body",
          parameters: [
            { type: "text", text: "Kim", parameter_name: "first_name" },
            { type: "text", text: "4711", parameter_name: "order_number" }
          ]
        },
        { type: "button", sub_type: "URL", index: 0, parameters: [{ type: "text", text: "4711" }] },
        { type: "button", sub_type: "QUICK_REPLY", index: "1", parameters: [{ type: "text", text: "stop" }] }
      ]
    }
  }
}

const rejection = (fields: Partial<GraphError>): GraphError => ({
  code: 0,
  error_subcode: null,
  is_transient: false,
  status: 400,
  retry_after_seconds: null,
  ...fields
})

/** A rejection in one word. */
const word = (fields: Partial<GraphError>) => {
  const meaning = outcomeOf(rejection(fields))
  return `${meaning._tag === "ProviderBusy" ? "busy" : "reject"} ${meaning.reason}`
}

describe("the request of a send", () => {
  it("a text to a number, with the send id as its reference", () => {
    assert.deepStrictEqual<object>(phoneMessage(text("phone_messaging", "+5511988887777")), {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      to: "5511988887777",
      type: "text",
      text: { body: "Your table is ready 🍽", preview_url: false },
      biz_opaque_callback_data: reference
    })
  })

  it("a provider's user id goes in `recipient`, never in `to`", () => {
    for (const id of ["BR.13491208655302741918", "US.ENT.13491208655302741918"]) {
      const body = phoneMessage(text("phone_messaging", id))
      assert.deepInclude(body, { recipient: id })
      assert.notProperty(body, "to")
    }
  })

  it("a template by name and language, with named values, and parts without values left out", () => {
    const body: object = phoneMessage(template)
    assert.deepInclude(body, {
      type: "template",
      template: {
        name: "order_ready",
        language: { policy: "deterministic", code: "pt_BR" },
        components: [
          {
            type: "body",
            parameters: [
              { type: "text", text: "Kim", parameter_name: "first_name" },
              { type: "text", text: "4711", parameter_name: "order_number" }
            ]
          },
          { type: "button", sub_type: "url", index: "0", parameters: [{ type: "text", text: "4711" }] },
          { type: "button", sub_type: "quick_reply", index: "1", parameters: [{ type: "payload", payload: "stop" }] }
        ]
      }
    })
  })

  it("files, amounts, times, and payloads as core has them", () => {
    const parameters = [
      { type: "image", image: { link: "https://shop.example/1.png" } },
      { type: "video", video: { link: "https://shop.example/1.mp4" } },
      { type: "document", document: { link: "https://shop.example/1.pdf", filename: "invoice.pdf" } },
      {
        type: "currency",
        currency: { fallback_value: "12 €", code: "EUR", amount_1000: 12_000 },
        parameter_name: "sum"
      },
      { type: "date_time", date_time: { fallback_value: "Monday" } },
      { type: "payload", payload: "stop" }
    ] as const
    const { content } = template
    if (content.type !== "template") return assert.fail("It is a template.")
    const components = parameters.map((parameter) => ({ type: "body" as const, parameters: [parameter] }))
    const body = phoneMessage({ ...template, content: { ...content, template: { ...content.template, components } } })
    assert.deepNestedInclude(body, { "template.components": components })
  })

  it("a page's message bears the reference as metadata, a photo account's none", () => {
    assert.deepStrictEqual(pageMessage(text("page_messaging", "24601")), {
      recipient: { id: "24601" },
      messaging_type: "RESPONSE",
      message: { text: "Your table is ready 🍽", metadata: reference }
    })
    assert.deepStrictEqual(photoMessage(text("photo_social", "24601")), {
      recipient: { id: "24601" },
      message: { text: "Your table is ready 🍽" }
    })
  })
})

describe("the response to a send", () => {
  it("the IDs in the response are aliases of the recipient, except the one that was used", () => {
    const taken = (wa_id: string, user_id?: string) =>
      acceptedOf(
        { messages: [{ id: "wamid.1" }], contacts: [{ wa_id, ...(user_id === undefined ? {} : { user_id }) }] },
        "+5511988887777"
      )
    assert.deepStrictEqual(taken("551188887777", "BR.13491208655302741918"), {
      provider_message_id: "wamid.1",
      recipient_aliases: ["+551188887777", "BR.13491208655302741918"]
    })
    assert.deepStrictEqual(taken("5511988887777").recipient_aliases, [])
  })

  it("numbers of Brazil and Mexico have a second spelling", () => {
    assert.deepStrictEqual(otherSpellings("+5511988887777"), ["+551188887777"])
    assert.deepStrictEqual(otherSpellings("+551188887777"), ["+5511988887777"])
    assert.deepStrictEqual(otherSpellings("+5215512345678"), ["+525512345678"])
    assert.deepStrictEqual(otherSpellings("+525512345678"), ["+5215512345678"])
    for (const other of ["+551133334444", "+4915112345678", "BR.13491208655302741918"]) {
      assert.deepStrictEqual(otherSpellings(other), [])
    }
  })
})

describe("the meaning of error codes", () => {
  it("no code is listed twice, so that no row is hidden by another", () => {
    const codes = errorCodes.map(({ code }) => JSON.stringify(code))
    assert.strictEqual(new Set(codes).size, codes.length)
    const single = errorCodes.flatMap(({ code }) => typeof code === "number" ? code : [])
    assert.isEmpty(single.filter((code) => code >= 200 && code <= 299))
  })

  it("each kind of rejection", () => {
    assert.strictEqual(word({ code: 190 }), "reject provider_auth")
    assert.strictEqual(word({ code: 230 }), "reject provider_auth")
    assert.strictEqual(word({ code: 130429 }), "busy rate_limited")
    assert.strictEqual(word({ code: 131056 }), "busy rate_limited")
    assert.strictEqual(word({ code: 131047 }), "reject reply_window_closed")
    assert.strictEqual(word({ code: 10 }), "reject provider_auth")
    assert.strictEqual(word({ code: 10, error_subcode: 2018278 }), "reject reply_window_closed")
    assert.strictEqual(word({ code: 131026 }), "reject recipient_unreachable")
    assert.strictEqual(word({ code: 131050 }), "reject recipient_opted_out")
    assert.strictEqual(word({ code: 132001 }), "reject template_not_found")
    assert.strictEqual(word({ code: 132015 }), "reject template_not_approved")
    assert.strictEqual(word({ code: 132012 }), "reject template_invalid")
    assert.strictEqual(word({ code: 131031 }), "reject channel_blocked")
    assert.strictEqual(word({ code: 131016, status: 500 }), "busy provider_unavailable")
    assert.strictEqual(word({ code: 100 }), "reject provider_rejected")
  })

  it("the outcome of an unlisted code depends on the status and on `is_transient`", () => {
    assert.strictEqual(word({ code: 987654 }), "reject provider_rejected")
    assert.strictEqual(word({ code: 987654, status: 503 }), "busy provider_unavailable")
    assert.strictEqual(word({ code: 987654, status: 429 }), "busy rate_limited")
    assert.strictEqual(word({ code: 987654, is_transient: true }), "busy provider_unavailable")
    assert.strictEqual(word({ code: 100, is_transient: true }), "busy provider_unavailable")
  })

  it("a broken token or a blocked account pauses the channel; an error about one person or country does not", () => {
    const isPause = (fields: Partial<GraphError>) => {
      const meaning = outcomeOf(rejection(fields))
      return meaning._tag === "ProviderRejected" && meaning.pauses_channel === true
    }
    for (const code of [0, 3, 10, 33, 190, 200, 230, 299, 368, 131005, 131031, 131037, 131042, 131045, 133010]) {
      assert.isTrue(isPause({ code }), `${code}`)
    }
    for (const code of [100, 551, 130497, 131026, 131047, 131048, 131063]) {
      assert.isFalse(isPause({ code }), `${code}`)
    }
    for (const [code, error_subcode] of [[10, 2018065], [10, 2018108], [10, 1], [200, 1545041], [230, 1]] as const) {
      assert.isFalse(isPause({ code, error_subcode }), `${code} ${error_subcode}`)
    }
    // A subcode of the token's code is about the token.
    assert.isTrue(isPause({ code: 190, error_subcode: 463 }))
  })

  it("calls of the app, the account or the number slow the channel, the pair rate its recipient alone", () => {
    const slowed = (fields: Partial<GraphError>) => {
      const meaning = outcomeOf(rejection(fields))
      return meaning._tag === "ProviderBusy" ? meaning.throttles : "rejected"
    }
    for (const code of [4, 613, 80007, 80008, 130429, 131048, 131064]) assert.strictEqual(slowed({ code }), "channel")
    assert.strictEqual(slowed({ code: 987654, status: 429 }), "channel")
    assert.strictEqual(slowed({ code: 131056 }), "recipient")
    for (const code of [1, 2, 1200, 131000, 131016, 131053, 131057, 133004]) assert.isUndefined(slowed({ code }))
  })

  it("the network's Retry-After is passed on", () => {
    const meaning = outcomeOf(rejection({ code: 130429, retry_after_seconds: 7 }))
    assert.deepInclude(meaning, { retry_after_seconds: 7 })
  })
})
