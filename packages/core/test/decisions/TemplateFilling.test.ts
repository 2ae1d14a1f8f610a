import { assert, describe, it } from "@effect/vitest"
import { fillTemplate, type Template, type TemplateParameter, type TemplateValues } from "@messaging-crm/core/Templates"
import { Result } from "effect"

describe("a template", () => {
  const template = (fields: Partial<Template>): Template => ({
    id: "t",
    name: "t",
    language: "en",
    category: "UTILITY",
    status: "APPROVED",
    phone_messaging_business_account_id: "a",
    parameter_format: "POSITIONAL",
    components: [{ type: "BODY", text: "{{2}} before {{1}}, {{1}} again", format: null, buttons: null }],
    ...fields
  })
  const body = (...texts: ReadonlyArray<string>): ReadonlyArray<TemplateValues> => [
    { type: "body", parameters: texts.map((text) => ({ type: "text", text })) }
  ]

  const rendered = (one: Template, values: ReadonlyArray<TemplateValues>) =>
    Result.getOrThrow(fillTemplate(one, values)).text
  const rejection = (one: Template, values: ReadonlyArray<TemplateValues>) =>
    Result.match(fillTemplate(one, values), { onFailure: ({ _tag }) => _tag, onSuccess: ({ text }) => text })
  const sent = (one: Template, values: ReadonlyArray<TemplateValues>) =>
    Result.getOrThrow(fillTemplate(one, values)).components

  it("fills placeholders by number, in one pass", () => {
    assert.strictEqual(rendered(template({}), body("{{2}}", "b$&")), "b$& before {{2}}, {{2}} again")
    const tenth = Array.from({ length: 10 }, (_, index) => `{{${index + 1}}}`).join(" ")
    const many = template({ components: [{ type: "BODY", text: tenth, format: null, buttons: null }] })
    assert.strictEqual(rendered(many, body(..."abcdefghij")), "a b c d e f g h i j")
  })

  const rich = (buttons = "QUICK_REPLY", format = "IMAGE") =>
    template({
      components: [
        { type: "HEADER", text: null, format, buttons: null },
        { type: "BODY", text: "{{1}} on {{2}}", format: null, buttons: null },
        { type: "BUTTONS", text: null, format: null, buttons: [{ type: buttons, text: "Not me", url: null }] }
      ]
    })
  const link = { link: "https://shop.example/file" }
  const files = {
    IMAGE: { type: "image", image: link },
    VIDEO: { type: "video", video: link },
    DOCUMENT: { type: "document", document: { ...link, filename: "invoice.pdf" } }
  } as const
  const currency = {
    type: "currency",
    currency: { fallback_value: "12.50 €", code: "EUR", amount_1000: 12_500 }
  } as const
  const date_time = { type: "date_time", date_time: { fallback_value: "20 November" } } as const
  const payload = { type: "payload", payload: "DISPUTE" } as const
  const header = (...parameters: ReadonlyArray<TemplateParameter>) => ({ type: "header", parameters }) as const
  const amounts = { type: "body", parameters: [currency, date_time] } as const
  const button = (...parameters: ReadonlyArray<TemplateParameter>) =>
    ({ type: "button", sub_type: "quick_reply", index: 0, parameters }) as const

  it("accepts a file for the header of its format, amounts and times for a body, and a payload for a quick reply", () => {
    for (const [format, file] of Object.entries(files)) {
      for (const more of [[], [button()], [button(payload)], [button({ type: "text", text: "DISPUTE" })]]) {
        const values = [header(file), amounts, ...more]
        assert.strictEqual(rendered(rich("QUICK_REPLY", format), values), "12.50 € on 20 November")
      }
    }
    const named = template({
      parameter_format: "NAMED",
      components: [{ type: "BODY", text: "{{sum}} on {{day}}", format: null, buttons: null }]
    })
    const values = {
      type: "body",
      parameters: [{ ...date_time, parameter_name: "day" }, { ...currency, parameter_name: "sum" }]
    }
    assert.strictEqual(rendered(named, [values as TemplateValues]), "12.50 € on 20 November")
    assert.strictEqual(rejection(named, [amounts]), "TemplateValuesMismatch")
  })

  it("rejects a parameter of the wrong type, and one too few or too many", () => {
    const { DOCUMENT, IMAGE, VIDEO } = files
    for (
      const values of [
        [amounts],
        [header(), amounts],
        [header(IMAGE, IMAGE), amounts],
        [header(VIDEO), amounts],
        [header(DOCUMENT), amounts],
        [header({ type: "text", text: "a" }), amounts],
        [header(IMAGE), { type: "body" as const, parameters: [currency, IMAGE] }],
        [header(IMAGE), { type: "body" as const, parameters: [currency, payload] }],
        [header(IMAGE), amounts, button(payload, payload)],
        [header(IMAGE), amounts, button(currency)]
      ]
    ) {
      assert.strictEqual(rejection(rich(), values), "TemplateValuesMismatch", JSON.stringify(values))
    }
    const link = { ...button(payload), sub_type: "url" } as const
    assert.strictEqual(rejection(rich("URL"), [header(IMAGE), amounts, link]), "TemplateValuesMismatch")
  })

  it("accepts the sub_type of a button's own kind only, in either case", () => {
    const sub_types = ["quick_reply", "QUICK_REPLY", "url", "copy_code", "flow", "catalog", "CATALOG"] as const
    for (const type of ["QUICK_REPLY", "FLOW", "CATALOG", "URL"]) {
      for (const sub_type of sub_types) {
        const values = [header(files.IMAGE), amounts, { ...button(), sub_type }]
        if (sub_type.toUpperCase() === type) assert.strictEqual(rendered(rich(type), values), "12.50 € on 20 November")
        else assert.strictEqual(rejection(rich(type), values), "TemplateValuesMismatch", `${type} ${sub_type}`)
      }
    }
    const values = [header(files.IMAGE), amounts, { ...button(), sub_type: "url" as const }]
    // A network can add kinds of any name.
    for (const type of ["VOICE_CALL", "constructor"]) {
      assert.strictEqual(rendered(rich(type), values), "12.50 € on 20 November")
      assert.strictEqual(rejection(rich(type, type), values), "TemplateValuesMismatch")
    }
  })

  const login = (
    buttons: ReadonlyArray<string>,
    text: string | null = "*{{1}}* is your code.",
    url: string | null = null
  ) =>
    template({
      category: "AUTHENTICATION",
      components: [
        { type: "BODY", text, format: null, buttons: null },
        { type: "BUTTONS", text: null, format: null, buttons: buttons.map((type) => ({ type, text: "Copy", url })) }
      ]
    })
  const codeButton = (text: string, sub_type: "copy_code" | "url" | "URL" = "url") =>
    ({ type: "button", sub_type, index: 0, parameters: [{ type: "text", text }] }) as const
  const link_with_code = "https://www.whatsapp.com/otp/code/?otp_type=COPY_CODE&code=otp{{1}}"

  it("accepts the code of an authentication template in the body and, as a url, in the button", () => {
    // The network lists the button by either type.
    for (const one of [login(["OTP"]), login(["URL"], undefined, link_with_code)]) {
      for (const sub_type of ["url", "URL"] as const) {
        const values = [...body("123456"), codeButton("123456", sub_type)]
        assert.strictEqual(rendered(one, values), "*123456* is your code.")
        assert.deepStrictEqual(sent(one, values), values)
      }
    }
    assert.strictEqual(rendered(login(["OTP"], null), [...body("123456"), codeButton("123456")]), "123456")
  })

  it("rejects an authentication template without its code, or with two different ones", () => {
    for (const one of [login(["OTP"]), login(["OTP"], null), login(["URL"], undefined, link_with_code)]) {
      for (
        const values of [
          [],
          body("123456"),
          [codeButton("123456")],
          [...body("123456"), { ...codeButton(""), parameters: [] }],
          [...body("123456"), { ...codeButton(""), parameters: [payload] }],
          [...body("123456"), codeButton("654321")],
          [...body("123456"), codeButton("123456", "copy_code")],
          [...body("123456"), { ...codeButton("123456"), index: 1 }]
        ]
      ) {
        assert.strictEqual(rejection(one, values), "TemplateValuesMismatch", JSON.stringify(values))
      }
    }
  })

  it("lists each button that opens a flow, which has no parameters", () => {
    const flow = { type: "button", sub_type: "flow", index: 0, parameters: [] } as const
    const values = [header(files.IMAGE), amounts]
    assert.deepStrictEqual(sent(rich("FLOW"), values), [...values, flow])
    assert.deepStrictEqual(sent(rich("FLOW"), [...values, { ...flow, index: "0" }]), [...values, {
      ...flow,
      index: "0"
    }])
    assert.deepStrictEqual(sent(rich("QUICK_REPLY"), values), values)
  })

  it("numbers the placeholders of buttons, even if those of the other parts have names", () => {
    const named = template({
      parameter_format: "NAMED",
      components: [
        { type: "BODY", text: "{{day}}", format: null, buttons: null },
        {
          type: "BUTTONS",
          text: null,
          format: null,
          buttons: [{ type: "URL", text: "Track", url: "https://shop.example/{{1}}" }]
        }
      ]
    })
    const day = { type: "body", parameters: [{ type: "text", text: "Friday", parameter_name: "day" }] } as const
    const url = (parameter: TemplateParameter) =>
      ({ type: "button", sub_type: "url", index: 0, parameters: [parameter] }) as const
    const plain = url({ type: "text", text: "42" })
    assert.deepStrictEqual(sent(named, [day, plain]), [day, plain])
    assert.deepStrictEqual(sent(named, [day, url({ type: "text", text: "42", parameter_name: "1" })]), [day, plain])
    const { parameter_name: _, ...unnamed } = day.parameters[0]
    const positional = template({ components: [{ type: "BODY", text: "{{1}}", format: null, buttons: null }] })
    assert.deepStrictEqual(sent(positional, [day]), [{ ...day, parameters: [unnamed] }])
  })

  it("rejects parts that need other values than the API has", () => {
    const carousel = template({
      components: [...template({}).components, { type: "CAROUSEL", text: null, format: null, buttons: null }]
    })
    assert.strictEqual(rejection(carousel, body("a", "b")), "TemplateValuesMismatch")
    for (const format of ["LOCATION", "GIF", "PRODUCT"]) {
      assert.strictEqual(rejection(rich("URL", format), [amounts]), "TemplateValuesMismatch", format)
    }
    for (const type of ["MPM", "SPM", "ORDER_DETAILS"]) {
      assert.strictEqual(rejection(rich(type), [header(files.IMAGE), amounts]), "TemplateValuesMismatch", type)
    }
  })

  it("requires the code of a button that copies one", () => {
    const code = (...parameters: ReadonlyArray<TemplateParameter>) =>
      [header(files.IMAGE), amounts, { ...button(...parameters), sub_type: "copy_code" as const }] as const
    const text = { type: "text", text: "SAVE20" } as const
    assert.strictEqual(rendered(rich("COPY_CODE"), code(text)), "12.50 € on 20 November")
    for (const values of [[header(files.IMAGE), amounts], code(), code(text, text), code(payload)]) {
      assert.strictEqual(rejection(rich("COPY_CODE"), values), "TemplateValuesMismatch", JSON.stringify(values))
    }
  })

  it("rejects a status that cannot be sent, and invalid values", () => {
    for (const status of ["PENDING", "REJECTED", "PAUSED", "DISABLED", "SOMETHING_NEW"]) {
      assert.strictEqual(rejection(template({ status }), body("a", "b")), "TemplateNotApproved")
    }
    for (
      const values of [[], body("a"), body("a", "b", "c"), [...body("a", "b"), ...body("a", "b")], [
        ...body("a", "b"),
        { type: "header" as const, parameters: [] }
      ]]
    ) {
      assert.strictEqual(rejection(template({}), values), "TemplateValuesMismatch")
    }
  })
})
