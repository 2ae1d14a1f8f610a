/** Tools for agents: derived from the contract, and complete. */
import { assert, describe, it } from "@effect/vitest"
import { ConnectionError, MessagingCrmError } from "@messaging-crm/client"
import { operations } from "@messaging-crm/core/Operations"
import addFormats from "ajv-formats"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect } from "effect"
import { document, documented } from "../../../adapter-http/testing/Document.ts"
import { requestOf } from "../../src/mcp/Requests.ts"
import { sentenceOf } from "../../src/mcp/Sentences.ts"
import { makeTools, page_size_default, type Tool } from "../../src/mcp/Tools.ts"

const tools = makeTools()

const toolNamed = (name: string): Tool => {
  const found = tools.find((tool) => tool.name === name)
  return found ?? assert.fail(`There is no tool ${name}.`)
}

describe("tools", () => {
  it("are the operations that need another scope than webhooks:manage", () => {
    const expected = documented.filter(({ operation }) => operation["x-required-scope"] !== "webhooks:manage")
    assert.sameMembers(
      tools.map(({ route }) => route),
      expected.map(({ method, path }) => `${method} ${path}`)
    )
    const scopes = new Set(Object.values(operations).flatMap(({ scope }) => scope === null ? [] : [scope]))
    scopes.delete("webhooks:manage")
    assert.deepStrictEqual(new Set(tools.map(({ scope }) => scope)), scopes)
    for (const tool of tools) {
      assert.match(tool.name, /^[a-z][a-z_]{1,40}$/)
      assert.include(tool.description, `needs the scope ${tool.scope}.`)
      assert.strictEqual(tool.is_write, !tool.route.startsWith("GET "))
    }
    assert.strictEqual(new Set(tools.map(({ name }) => name)).size, tools.length)
  })

  it("have a JSON Schema that stands alone, and accepts the examples of the contract", () => {
    const ajv = new Ajv2020({ strict: true })
    addFormats.default(ajv)
    for (const { body, input_schema, name, ...tool } of tools) {
      assert.notInclude(JSON.stringify(input_schema), "#/components/")
      const validate = ajv.compile(input_schema)
      const args = Object.fromEntries(
        tool.arguments.filter(({ required }) => required).map((argument) => [
          argument.name,
          "019aa0c2-5b00-7000-8000-000000000001"
        ])
      )
      const examples = body === null ? [] : body.schema["examples"] as ReadonlyArray<unknown>
      assert.strictEqual(body === null, examples.length === 0)
      for (const example of body === null ? [undefined] : examples) {
        const given = { ...args, ...(example === undefined ? {} : { body: example }) }
        assert.isTrue(validate(given), `${name}: ${ajv.errorsText(validate.errors)}`)
      }
      assert.isFalse(validate({ ...args, unknown: 1 }), name)
    }
  })

  it("make the request of their route", () => {
    const contact_id = "019AA0C2-5b00-7000-8000-000000000001"
    const made = (name: string, given: Readonly<Record<string, unknown>>) =>
      Effect.runSync(Effect.result(requestOf(toolNamed(name), given)))
    assert.deepInclude(made("update_contact", { contact_id, if_match: "\"x\"", body: { city: null } }), {
      success: { path: { contact_id }, query: {}, body: { city: null }, if_match: "\"x\"" }
    })
    assert.deepInclude(made("list_conversations", { unassigned: true, cursor: null }), {
      success: {
        path: {},
        query: { unassigned: "true", page_size: `${page_size_default}` },
        body: undefined,
        if_match: null
      }
    })
    assert.deepInclude(made("close_conversation", { conversation_id: contact_id }), {
      success: { path: { conversation_id: contact_id }, query: {}, body: undefined, if_match: null }
    })
  })
})

describe("the sentence of an error", () => {
  const sentence = (error: unknown, name = "update_contact") => sentenceOf(error, toolNamed(name), tools) ?? ""
  const rejected = (code: MessagingCrmError["code"], message: string, param: string | null = null) =>
    new MessagingCrmError(message, { code, param, status: 400, requestId: "r", retryAfter: 7 })

  it("exists for every code, and names tools instead of routes", () => {
    const codes = documented.flatMap(({ operation }) => Object.keys(operation.responses))
    assert.isNotEmpty(codes)
    const examples = Object.values(document.components["examples"] ?? {}) as ReadonlyArray<
      { readonly value: { readonly error: { readonly code: MessagingCrmError["code"]; readonly message: string } } }
    >
    for (const { value: { error } } of examples) {
      assert.include(sentence(rejected(error.code, error.message)), error.message)
    }
    const unknown = sentence(rejected("invalid_input", "List channels with GET /channels, or read GET /nothing."))
    assert.strictEqual(unknown, "List channels with list_channels, or read GET /nothing.")
  })

  it("names existing tools only", () => {
    const codes = [
      "unauthorized",
      "insufficient_scope",
      "not_found",
      "conflict",
      "rate_limited",
      "internal_error"
    ] as const
    for (const tool of tools) {
      for (const code of codes) {
        const named = sentence(rejected(code, "No.", "type"), tool.name).match(/\b(?:get|list|send)_\w+/g) ?? []
        for (const name of named) toolNamed(name)
      }
    }
    assert.strictEqual(
      sentence(rejected("not_found", "No."), "send_message"),
      "No. Find the ID with list_conversations."
    )
    assert.strictEqual(sentence(rejected("rate_limited", "No.")), "No. Wait 7 s before the next call.")
  })

  it("says whether a write without a response can have taken effect", () => {
    const lost = new ConnectionError("No response.", { requestId: "r" })
    assert.match(sentence(lost), /^No response\. The write can have taken effect/)
    assert.strictEqual(sentence(lost, "get_contact"), "No response.")
    assert.strictEqual(sentenceOf(new TypeError("x"), toolNamed("get_contact"), tools), undefined)
  })
})
