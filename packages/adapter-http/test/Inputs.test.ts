/** How operations describe invalid input, and how they show times. */
import { assert, describe, it } from "@effect/vitest"
import { Api } from "@messaging-crm/adapter-http/api/Api"
import { CreateContact } from "@messaging-crm/core/Contacts"
import { Cause, Context, Schema, type SchemaAST } from "effect"
import { HttpApi } from "effect/http-api"
import { afterAll } from "vitest"
import { start } from "../testing/Service.ts"
import { makeOrganization } from "./InputScene.ts"

const service = start()
afterAll(() => service.stop())

// No test of this file changes the organization.
const ours = await makeOrganization(service)

it("shows every time in UTC with three decimals", async () => {
  const times = /"\w+_at":"([^"]*)"/g
  for (const path of ["/contacts", "/conversations", `${ours.conversation}/messages`, "/channels", "/members"]) {
    const { text } = await service.request("GET", `/v1${path}`, { key: ours.key })
    for (const [, time = ""] of text.matchAll(times)) {
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, path)
    }
  }
})

describe("an error names the problem, its place, and the remedy", () => {
  const nobody = "01990000-0000-7000-8000-00000000c0de"
  const { template } = ours
  const [header, body, button] = template.components
  const startWith = (template: unknown, channel_id: string = ours.channel.id) =>
    ["/conversations", { channel_id, phone: ours.phone, template }] as const
  const cases = [
    [startWith("order_ready"), "template", "template must be an object."],
    [startWith({ id: 7 }), "template.id", "template.id must be a string."],
    [startWith({ id: "x", components: {} }), "template.components", "template.components must be an array."],
    [["/contacts", { first_name: 7 }], "first_name", "first_name must be a string or null."],
    [
      startWith({ ...template, components: [{ ...body, parameters: ["7"] }] }),
      "template.components.0.parameters.0.type",
      "template.components.0.parameters.0.type must be one of: text, currency, date_time, image, video, document, payload."
    ],
    [
      startWith({ ...template, components: [{ ...header, parameters: [] }, body, button] }),
      "template.components",
      "The header requires 1 parameter for {{1}}, but the request has 0."
    ],
    [
      startWith({ ...template, components: [header, { ...body, parameters: [] }, button] }),
      "template.components",
      "The body requires 2 parameters for {{1}}, {{2}}, but the request has 0."
    ],
    [
      startWith(template, nobody),
      "channel_id",
      `channel_id: "${nobody}" does not exist in this organization. List valid values with GET /channels.`
    ],
    [
      ["/contacts", { first_name: "A", tag_ids: [ours.tag.id, nobody] }],
      "tag_ids",
      `tag_ids: "${nobody}" does not exist in this organization. List valid values with GET /tags.`
    ],
    [
      ["/contacts", { first_name: "A", owner_user_id: nobody }],
      "owner_user_id",
      `owner_user_id: "${nobody}" does not exist in this organization. List valid values with GET /members.`
    ],
    [
      ["/contacts", { first_name: "A", custom_values: { plan: "x" } }],
      "custom_values.plan",
      "custom_values.plan: \"plan\" does not exist in this organization. List valid values with GET /contact-fields."
    ],
    [
      ["/contacts", { first_name: "A", "": 1 }],
      "",
      "Unknown field or parameter: \"\". Check its spelling or remove it."
    ]
  ] as const
  for (const [[path, json], param, message] of cases) {
    it(message.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "…"), async () => {
      const response = await ours.write("POST", path, json)
      assert.strictEqual(response.status, 400)
      assert.deepInclude(response.body.error, { code: "invalid_input", param, message })
    })
  }

  it("in the query, too", async () => {
    const query = await service.request("GET", "/v1/tags?=1", { key: ours.key })
    assert.deepInclude(query.body.error, {
      param: "",
      message: "This operation accepts no query parameters. Remove \"\"."
    })
  })
})

it("measures a text as it is sent, and the phone of a start like that of a contact", async () => {
  const { channel, phone, template, write } = ours
  const statuses = async (length: number) => {
    const sent = phone.padStart(phone.length + 2).padEnd(length)
    return [
      (await write("POST", "/conversations", { channel_id: channel.id, phone: sent, template })).status,
      (await write("POST", "/contacts", { primary_phone: sent })).status,
      (await write("POST", "/contacts", { first_name: "Ada".padEnd(length + 168) })).status
    ]
  }
  assert.deepStrictEqual(await statuses(32), [202, 201, 201])
  assert.deepStrictEqual(await statuses(33), [400, 400, 400])
})

it("reports only the first of several problems", async () => {
  const tag_ids = Array.from({ length: 20_000 }, () => 1)
  const issues = (options: SchemaAST.ParseOptions) => {
    const exit = Schema.decodeUnknownExit(CreateContact)({ tag_ids }, options)
    return String(exit._tag === "Failure" ? Cause.squash(exit.cause) : "").split("\n").filter((line) =>
      /tag_ids/.test(line)
    )
  }
  assert.lengthOf(issues(Context.getUnsafe(Api.annotations, HttpApi.PayloadParseOptions)), 1)
  const response = await ours.write("POST", "/contacts", { first_name: "A", tag_ids })
  assert.strictEqual(response.status, 400)
  assert.strictEqual(response.body.error.param, "tag_ids.0")
})
