/** How values may be written and what they may refer to, in whatever operation. */
import { assert, describe, it } from "@effect/vitest"
import { Api } from "@messaging-crm/adapter-http/api/Api"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { CreateContact } from "@messaging-crm/core/Contacts"
import { Cause, Context, Effect, Schema, type SchemaAST } from "effect"
import { HttpApi } from "effect/http-api"
import { afterAll, beforeAll } from "vitest"
import { idempotency, orderReady, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

/** An organization with one of everything that a body can refer to. */
const make = async () => {
  const ours = await service.organization()
  const { key, organization, owner } = ours
  const write = (method: string, path: string, json: unknown) =>
    service.request(method, `/v1${path}`, { key, json, ...idempotency() })
  const tag = (await write("POST", "/tags", { name: "VIP", color: "red" })).body.data
  const contact = (await write("POST", "/contacts", { first_name: "Kim" })).body.data
  const field = await service.runtime.runPromise(
    ContactFields.use((fields) =>
      fields.create(CreateContactField.make({ key: "plan", name: "Plan", type: "text", options: null }))
    ).pipe(
      Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
    )
  )
  const template = orderReady(ours.channel)
  const phone = "+4915112345678"
  const started = await write("POST", "/conversations", { channel_id: ours.channel.id, phone, template })
  const conversation = `/conversations/${started.body.data.conversation_id}`
  return { ...ours, contact, conversation, field, phone, tag, template, write }
}

let ours: Awaited<ReturnType<typeof make>>
let theirs: Awaited<ReturnType<typeof make>>
beforeAll(async () => {
  ours = await make()
  theirs = await make()
})

describe("an id", () => {
  it("of another organization is rejected in every body, by the name of its field", async () => {
    const { contact, conversation, phone, template } = ours
    const cases = [
      ["POST", "/contacts", { first_name: "A", owner_user_id: theirs.owner.id }, "owner_user_id"],
      ["POST", "/contacts", { first_name: "A", tag_ids: [ours.tag.id, theirs.tag.id] }, "tag_ids"],
      [
        "POST",
        "/contacts",
        { first_name: "A", custom_values: { [theirs.field.id]: "x" } },
        `custom_values.${theirs.field.id}`
      ],
      ["PATCH", `/contacts/${contact.id}`, { owner_user_id: theirs.owner.id }, "owner_user_id"],
      ["PATCH", `/contacts/${contact.id}`, { tag_ids: [theirs.tag.id] }, "tag_ids"],
      [
        "PATCH",
        `/contacts/${contact.id}`,
        { custom_values: { [theirs.field.id]: null } },
        `custom_values.${theirs.field.id}`
      ],
      ["PATCH", `${conversation}/assignment`, { assigned_user_id: theirs.owner.id }, "assigned_user_id"],
      ["POST", "/conversations", { channel_id: theirs.channel.id, phone, template }, "channel_id"],
      [
        "POST",
        "/conversations",
        { channel_id: ours.channel.id, phone, template: theirs.template },
        "template.id"
      ],
      ["POST", `${conversation}/messages`, { type: "template", template: theirs.template }, "template.id"]
    ] as const
    for (const [method, path, json, param] of cases) {
      const response = await ours.write(method, path, json)
      assert.strictEqual(response.status, 400, `${method} ${path} ${param}`)
      assert.strictEqual(response.body.error.code, "invalid_input")
      assert.strictEqual(response.body.error.param, param)
    }
    const unchanged = await service.request("GET", `/v1/contacts/${contact.id}`, { key: ours.key })
    assert.deepStrictEqual(unchanged.body.data, contact)
  })

  it("of another organization, or of nobody, matches nothing as a filter", async () => {
    for (
      const query of [
        `/contacts?tag_id=${theirs.tag.id}`,
        `/contacts?owner_user_id=${theirs.owner.id}`,
        `/conversations?assigned_user_id=${theirs.owner.id}`,
        `/conversations?contact_id=${theirs.contact.id}`,
        `/conversations?channel_id=${theirs.channel.id}`,
        "/contacts?owner_user_id=01990000-0000-7000-8000-000000000000",
        "/conversations?assigned_user_id=01990000-0000-7000-8000-000000000000"
      ]
    ) {
      const response = await service.request("GET", `/v1${query}`, { key: ours.key })
      assert.strictEqual(response.status, 200)
      assert.deepStrictEqual<object>(response.body, { data: [], next_cursor: null })
    }
  })

  it("of a contact field is rejected if it is repeated in another letter case", async () => {
    const { contact, field } = ours
    const upper = field.id.toUpperCase()
    const cases = [
      ["POST", "/contacts", { first_name: "Twice", custom_values: { [field.id]: "gold", [upper]: "silver" } }, upper],
      ["PATCH", `/contacts/${contact.id}`, { custom_values: { [upper]: null, [field.id]: "gold" } }, field.id],
      [
        "POST",
        "/contacts/upsert",
        {
          match: "primary_email",
          contacts: [{
            primary_email: "twice@acme.example",
            custom_values: { [field.id]: "gold", [upper]: "gold" }
          }]
        },
        upper
      ]
    ] as const
    for (const [method, path, json, name] of cases) {
      const rejected = await ours.write(method, path, json)
      assert.strictEqual(rejected.status, 400, rejected.text)
      assert.isTrue(rejected.body.error.param?.endsWith(`custom_values.${name}`))
      assert.include(rejected.body.error.message, "another letter case")
    }
    const listed = await service.request("GET", "/v1/contacts?query=twice", { key: ours.key })
    assert.deepStrictEqual(listed.body.data, [])
  })

  it("is read in upper case, wherever it stands, and shown in lower case", async () => {
    const upper = (id: string) => id.toUpperCase()
    const { channel, conversation, field, owner, phone, tag, template } = ours
    const created = await ours.write("POST", "/contacts", {
      first_name: "Upper",
      owner_user_id: upper(owner.id),
      tag_ids: [upper(tag.id), tag.id],
      custom_values: { [upper(field.id)]: "gold" }
    })
    assert.strictEqual(created.status, 201, created.text)
    const { data } = created.body
    assert.strictEqual(data.owner_user_id, owner.id)
    assert.deepStrictEqual(data.tags, [tag])
    assert.deepStrictEqual(data.custom_values, { [field.id]: "gold" })
    const cleared = await ours.write("PATCH", `/contacts/${upper(data.id)}`, {
      custom_values: { [upper(field.id)]: null }
    })
    assert.deepStrictEqual(cleared.body.data.custom_values, {})
    for (const query of [`tag_id=${upper(tag.id)}`, `owner_user_id=${upper(owner.id)}`]) {
      const found = await service.request("GET", `/v1/contacts?${query}`, { key: ours.key })
      assert.deepStrictEqual(found.body.data.map(({ id }: { readonly id: string }) => id), [data.id])
    }
    const assigned = await ours.write("PATCH", `${conversation}/assignment`, { assigned_user_id: upper(owner.id) })
    assert.strictEqual(assigned.body.data.assigned_user_id, owner.id)
    const sent = await ours.write("POST", "/conversations", { channel_id: upper(channel.id), phone, template })
    assert.strictEqual(sent.status, 202)
    assert.strictEqual(
      (await service.request("GET", `/v1/sends/${upper(sent.body.data.id)}`, { key: ours.key })).status,
      200
    )
    await ours.write("PATCH", `${conversation}/assignment`, { assigned_user_id: null })
  })
})

describe("a text", () => {
  const long = (length: number) => "😀".repeat(length)
  const lines = "first_name last_name company job_title city region country street_address postal_code source".split(
    " "
  )

  it("is measured in code points", async () => {
    const { contact, conversation } = ours
    const notes = `/contacts/${contact.id}/notes`
    const cases = [
      ...lines.map((field) =>
        [
          "POST",
          "/contacts",
          201,
          (text: string) => ({ primary_phone: "+4915112345678", [field]: text }),
          field,
          200
        ] as const
      ),
      ["POST", notes, 200, (text: string) => ({ text }), "text", 5000],
      ["POST", `${conversation}/close`, 200, (category: string) => ({ category }), "category", 64],
      ["POST", "/tags", 200, (name: string) => ({ name, color: "red" }), "name", 40],
      [
        "POST",
        "/contacts",
        201,
        (text: string) => ({ first_name: "A", custom_values: { [ours.field.id]: text } }),
        `custom_values.${ours.field.id}`,
        1000
      ]
    ] as const
    for (const [method, path, status, json, param, max] of cases) {
      const fits = await ours.write(method, path, json(long(max)))
      assert.strictEqual(fits.status, status, `${path} ${param}`)
      const rejected = await ours.write(method, path, json(long(max + 1)))
      assert.strictEqual(rejected.status, 400, `${path} ${param}`)
      assert.strictEqual(rejected.body.error.param, param)
    }
    const found = (length: number) =>
      service.request("GET", `/v1/contacts?${new URLSearchParams({ query: long(length) })}`, { key: ours.key })
    assert.strictEqual((await found(200)).status, 200)
    assert.strictEqual((await found(201)).body.error.param, "query")
  })

  it("that is empty or blank counts as null", async () => {
    const fields = [...lines, "primary_email", "primary_phone", "birthday", "website_url", "network_url"]
    for (const blank of ["", "  \t"]) {
      const json = Object.fromEntries(fields.map((field) => [field, blank]))
      const created = await ours.write("POST", "/contacts", { ...json, last_name: "Kim", notes: "" })
      assert.strictEqual(created.status, 201, created.text)
      for (const field of [...fields, "notes"]) {
        if (field !== "last_name") assert.isNull(created.body.data[field], field)
      }
    }
  })

  it("of a contact that is too long for its kind is rejected", async () => {
    for (
      const [field, text] of [
        ["primary_email", `${"x".repeat(310)}@acme.example`],
        ["website_url", `https://acme.example/${"x".repeat(2040)}`],
        ["network_url", `https://acme.example/${"x".repeat(2040)}`],
        ["primary_phone", `+49 151 12345678${" ".repeat(20)}1`]
      ] as const
    ) {
      const response = await ours.write("POST", "/contacts", { first_name: "A", [field]: text })
      assert.strictEqual(response.status, 400, field)
      assert.strictEqual(response.body.error.param, field)
    }
  })
})

it("shows every time in UTC with three decimals", async () => {
  const times = /"\w+_at":"([^"]*)"/g
  for (const path of ["/contacts", "/conversations", `${ours.conversation}/messages`, "/channels", "/members"]) {
    const { text } = await service.request("GET", `/v1${path}`, { key: ours.key })
    for (const [, time = ""] of text.matchAll(times)) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  }
})

it("a button's sub_type is one of five words, in either case", async () => {
  const start = (sub_type: unknown) => {
    const [header, body, button] = ours.template.components
    const template = { ...ours.template, components: [header, body, { ...button, sub_type }] }
    return ours.write("POST", "/conversations", { channel_id: ours.channel.id, phone: ours.phone, template })
  }
  for (const sub_type of ["url", "URL"]) assert.strictEqual((await start(sub_type)).status, 202, sub_type)
  // The template's button is a link.
  const { body, status } = await start("quick_reply")
  assert.deepStrictEqual([status, body.error.param], [400, "template.components"])
  for (const sub_type of ["", "url ", "\u0000", "\uD800", "link", "x".repeat(30_000), null, 1]) {
    const response = await start(sub_type)
    assert.strictEqual(response.status, 400)
    assert.strictEqual(response.body.error.param, "template.components.2.sub_type")
  }
})

it("parameters of templates are checked on both sides of each bound", async () => {
  const { channel, phone } = ours
  const id = `${channel.phone_messaging_business_account_id}.receipt`
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
  const start = (...components: ReadonlyArray<unknown>) =>
    ours.write("POST", "/conversations", { channel_id: channel.id, phone, template: { id, components } })
  const link = (length: number) => `https://shop.example/${"a".repeat(length - 21)}`
  for (
    const components of [
      [header, body(), button("DISPUTE")],
      [header, body()],
      [image(link(2048)), body()],
      [header, body({ ...currency, fallback_value: "x".repeat(1024) })],
      [header, body({ ...currency, amount_1000: -1 })],
      [header, body(), button("x".repeat(1024))]
    ]
  ) {
    const response = await start(...components)
    assert.strictEqual(response.status, 202, response.text)
  }
  const first = "template.components.0.parameters.0"
  const second = "template.components.1.parameters.0"
  for (
    const [components, param] of [
      [[image("http://shop.example/a.png"), body()], `${first}.image.link`],
      [[image("https:///a.png"), body()], `${first}.image.link`],
      [[image("https://shop.example/a b.png"), body()], `${first}.image.link`],
      [[image(link(2049)), body()], `${first}.image.link`],
      [[image(null), body()], `${first}.image.link`],
      [[header, body({ ...currency, code: "eur" })], `${second}.currency.code`],
      [[header, body({ ...currency, code: "EURO" })], `${second}.currency.code`],
      [[header, body({ ...currency, amount_1000: 0.5 })], `${second}.currency.amount_1000`],
      [[header, body({ ...currency, fallback_value: "" })], `${second}.currency.fallback_value`],
      [[header, body({ ...currency, fallback_value: "x".repeat(1025) })], `${second}.currency.fallback_value`],
      [[header, body(), button("")], "template.components.2.parameters.0.payload"],
      [[header, body(), button("x".repeat(1025))], "template.components.2.parameters.0.payload"],
      [[body()], "template.components"],
      [[header, { type: "body", parameters: [date_time] }], "template.components"]
    ] as const
  ) {
    const response = await start(...components)
    assert.strictEqual(response.status, 400, response.text)
    assert.strictEqual(response.body.error.param, param, response.text)
  }
})

it("an error names the problem, its place, and the remedy", async () => {
  const nobody = "01990000-0000-7000-8000-00000000c0de"
  const { template } = ours
  const [header, body, button] = template.components
  const start = (template: unknown, channel_id: string = ours.channel.id) =>
    ["/conversations", { channel_id, phone: ours.phone, template }] as const
  for (
    const [[path, json], param, message] of [
      [start("order_ready"), "template", "template must be an object."],
      [start({ id: 7 }), "template.id", "template.id must be a string."],
      [start({ id: "x", components: {} }), "template.components", "template.components must be an array."],
      [["/contacts", { first_name: 7 }], "first_name", "first_name must be a string or null."],
      [
        start({ ...template, components: [{ ...body, parameters: ["7"] }] }),
        "template.components.0.parameters.0.type",
        "template.components.0.parameters.0.type must be one of: text, currency, date_time, image, video, document, payload."
      ],
      [
        start({ ...template, components: [{ ...header, parameters: [] }, body, button] }),
        "template.components",
        "The header requires 1 parameter for {{1}}, but the request has 0."
      ],
      [
        start({ ...template, components: [header, { ...body, parameters: [] }, button] }),
        "template.components",
        "The body requires 2 parameters for {{1}}, {{2}}, but the request has 0."
      ],
      [
        start(template, nobody),
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
  ) {
    const response = await ours.write("POST", path, json)
    assert.strictEqual(response.status, 400, message)
    assert.deepInclude(response.body.error, { code: "invalid_input", param, message })
  }
  const query = await service.request("GET", "/v1/tags?=1", { key: ours.key })
  assert.deepInclude(query.body.error, {
    param: "",
    message: "This operation accepts no query parameters. Remove \"\"."
  })
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
