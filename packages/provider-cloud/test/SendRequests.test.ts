/** The requests that send messages, and the meaning of responses. */
import { assert, describe, it } from "@effect/vitest"
import type { Channel, ChannelType } from "@messaging-crm/core/Channels"
import { ChannelId, SendId } from "@messaging-crm/core/Ids"
import type { OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { DateTime } from "effect"
import { acceptedOf, instagramMessage, messengerMessage, whatsAppMessage } from "../src/SendRequests.ts"

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

describe("the request of a send", () => {
  it("has a text and a number, and the send ID as its reference", () => {
    assert.deepStrictEqual<object>(whatsAppMessage(text("phone_messaging", "+5511988887777")), {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      to: "5511988887777",
      type: "text",
      text: { body: "Your table is ready 🍽", preview_url: false },
      biz_opaque_callback_data: reference
    })
  })

  it("has a provider's user ID in `recipient`, never in `to`", () => {
    for (const id of ["BR.13491208655302741918", "US.ENT.13491208655302741918"]) {
      const body = whatsAppMessage(text("phone_messaging", id))
      assert.deepInclude(body, { recipient: id })
      assert.notProperty(body, "to")
    }
  })

  it("has a template by name and language, with named values, and without parts that have no values", () => {
    const body: object = whatsAppMessage(template)
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

  it("has files, amounts, times, and payloads in the form of core", () => {
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
    const body = whatsAppMessage({
      ...template,
      content: { ...content, template: { ...content.template, components } }
    })
    assert.deepNestedInclude(body, { "template.components": components })
  })

  it("has the reference as metadata on Messenger, and no reference on Instagram", () => {
    assert.deepStrictEqual(messengerMessage(text("page_messaging", "24601")), {
      recipient: { id: "24601" },
      messaging_type: "RESPONSE",
      message: { text: "Your table is ready 🍽", metadata: reference }
    })
    assert.deepStrictEqual(instagramMessage(text("photo_social", "24601")), {
      recipient: { id: "24601" },
      message: { text: "Your table is ready 🍽" }
    })
  })
})

it("the IDs in the response to a send are aliases of the recipient, except the one that was used", () => {
  const acceptedAs = (wa_id: string, user_id?: string) =>
    acceptedOf(
      { messages: [{ id: "wamid.1" }], contacts: [{ wa_id, ...(user_id === undefined ? {} : { user_id }) }] },
      "+5511988887777"
    )
  assert.deepStrictEqual(acceptedAs("551188887777", "BR.13491208655302741918"), {
    provider_message_id: "wamid.1",
    recipient_aliases: ["+551188887777", "BR.13491208655302741918"]
  })
  assert.deepStrictEqual(acceptedAs("5511988887777").recipient_aliases, [])
})
