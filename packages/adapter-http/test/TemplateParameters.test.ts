/** Parameters of templates, in requests that start a conversation. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { start } from "../testing/Service.ts"
import { makeOrganization } from "./InputScene.ts"

const service = start()
afterAll(() => service.stop())

const image = (link: unknown) => ({ type: "header", parameters: [{ type: "image", image: { link } }] })
const header = image("https://shop.example/receipt.png")
const currency = { fallback_value: "12.50 €", code: "EUR", amount_1000: 12_500 }
const date_time = { type: "date_time", date_time: { fallback_value: "20 November" } }
const body = (sum: object = currency) => ({
  type: "body",
  parameters: [{ type: "currency", currency: sum }, date_time]
})
const button = (payload: string) => ({
  type: "button",
  sub_type: "quick_reply",
  index: 0,
  parameters: [{ type: "payload", payload }]
})
const link = (length: number) => `https://shop.example/${"a".repeat(length - 21)}`

/** Starts a conversation of a new organization with the template `receipt`. */
const startReceipt = async (components: ReadonlyArray<unknown>) => {
  const { channel, phone, write } = await makeOrganization(service)
  const id = `${channel.phone_messaging_business_account_id}.receipt`
  return write("POST", "/conversations", { channel_id: channel.id, phone, template: { id, components } })
}

describe("parameters of a template on both sides of each bound", () => {
  const accepted = {
    "every parameter": [header, body(), button("DISPUTE")],
    "no button": [header, body()],
    "a link of 2048 characters": [image(link(2048)), body()],
    "a fallback value of 1024 characters": [header, body({ ...currency, fallback_value: "x".repeat(1024) })],
    "a negative amount": [header, body({ ...currency, amount_1000: -1 })],
    "a payload of 1024 characters": [header, body(), button("x".repeat(1024))]
  }
  for (const [name, components] of Object.entries(accepted)) {
    it(`are accepted: ${name}`, async () => {
      const response = await startReceipt(components)
      assert.strictEqual(response.status, 202, response.text)
    })
  }

  const first = "template.components.0.parameters.0"
  const second = "template.components.1.parameters.0"
  const rejected = [
    ["a link without TLS", [image("http://shop.example/a.png"), body()], `${first}.image.link`],
    ["a link without a host", [image("https:///a.png"), body()], `${first}.image.link`],
    ["a link with a space", [image("https://shop.example/a b.png"), body()], `${first}.image.link`],
    ["a link of 2049 characters", [image(link(2049)), body()], `${first}.image.link`],
    ["a null link", [image(null), body()], `${first}.image.link`],
    ["a currency in lower case", [header, body({ ...currency, code: "eur" })], `${second}.currency.code`],
    ["a currency of four letters", [header, body({ ...currency, code: "EURO" })], `${second}.currency.code`],
    ["a fraction as amount", [header, body({ ...currency, amount_1000: 0.5 })], `${second}.currency.amount_1000`],
    [
      "an empty fallback value",
      [header, body({ ...currency, fallback_value: "" })],
      `${second}.currency.fallback_value`
    ],
    [
      "a fallback value of 1025 characters",
      [header, body({ ...currency, fallback_value: "x".repeat(1025) })],
      `${second}.currency.fallback_value`
    ],
    ["an empty payload", [header, body(), button("")], "template.components.2.parameters.0.payload"],
    [
      "a payload of 1025 characters",
      [header, body(), button("x".repeat(1025))],
      "template.components.2.parameters.0.payload"
    ],
    ["no header", [body()], "template.components"],
    ["a body with one parameter of two", [header, { type: "body", parameters: [date_time] }], "template.components"]
  ] as const
  for (const [name, components, param] of rejected) {
    it(`are rejected: ${name}`, async () => {
      const response = await startReceipt(components)
      assert.strictEqual(response.status, 400, response.text)
      assert.strictEqual(response.body.error.param, param, response.text)
    })
  }
})

it("a button's sub_type is one of five words, in either case", async () => {
  const ours = await makeOrganization(service)
  const startWith = (sub_type: unknown) => {
    const [header, body, button] = ours.template.components
    const template = { ...ours.template, components: [header, body, { ...button, sub_type }] }
    return ours.write("POST", "/conversations", { channel_id: ours.channel.id, phone: ours.phone, template })
  }
  for (const sub_type of ["url", "URL"]) assert.strictEqual((await startWith(sub_type)).status, 202, sub_type)
  // The template's button is a link.
  const { body, status } = await startWith("quick_reply")
  assert.deepStrictEqual([status, body.error.param], [400, "template.components"])
  for (const sub_type of ["", "url ", "\u0000", "\uD800", "link", "x".repeat(30_000), null, 1]) {
    const response = await startWith(sub_type)
    assert.strictEqual(response.status, 400, String(sub_type).slice(0, 40))
    assert.strictEqual(response.body.error.param, "template.components.2.sub_type", String(sub_type).slice(0, 40))
  }
})
