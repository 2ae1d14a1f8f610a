/** What the page decides without a browser: the values of templates, and the statuses of messages. */
import { assert, describe, it } from "@effect/vitest"

interface Templates {
  readonly partsOf: (
    template: unknown
  ) => ReadonlyArray<{ readonly type: string; readonly names: ReadonlyArray<string> }>
  readonly choiceOf: (template: unknown, valueOf: (part: number, name: string) => string) => unknown
}

interface Statuses {
  readonly follows: (status: string, before: string) => boolean
}

// The page's scripts have a type check of their own, so an import by name has no types here.
const pageOf = (name: string) => import(new URL(`../page/${name}.mjs`, import.meta.url).href)
const { choiceOf, partsOf }: Templates = await pageOf("templates")
const { follows }: Statuses = await pageOf("statuses")

const template = {
  id: "t1",
  parameter_format: "POSITIONAL",
  components: [
    { type: "HEADER", format: "TEXT", text: "Order {{1}}" },
    { type: "BODY", text: "Dear {{1}}, {{ 2 }} of {{1}} is here." },
    { type: "FOOTER", text: "Bye" },
    { type: "BUTTONS", buttons: [{ text: "Help", url: null }, { text: "Track", url: "https://shop.example/{{1}}" }] }
  ]
}

describe("a template", () => {
  it("needs a value for each placeholder of a part, once", () => {
    const found = partsOf(template).map(({ names, type }) => [type, names])
    assert.deepStrictEqual(found, [["header", ["1"]], ["body", ["1", "2"]], ["button", ["1"]]])
    assert.deepStrictEqual(partsOf({ ...template, components: [{ type: "HEADER", format: "IMAGE", text: null }] }), [])
  })

  it("is sent with the values of its parts, by name if its parameters have names", () => {
    const text = (part: number, name: string) => `${part} ${name}`
    assert.deepStrictEqual(choiceOf(template, text), {
      id: "t1",
      components: [
        { type: "header", parameters: [{ type: "text", text: "0 1" }] },
        { type: "body", parameters: [{ type: "text", text: "1 1" }, { type: "text", text: "1 2" }] },
        { type: "button", sub_type: "url", index: 1, parameters: [{ type: "text", text: "2 1" }] }
      ]
    })
    const named = { id: "t2", parameter_format: "NAMED", components: [{ type: "BODY", text: "Dear {{name}}" }] }
    assert.deepStrictEqual(choiceOf(named, text), {
      id: "t2",
      components: [{ type: "body", parameters: [{ type: "text", text: "0 name", parameter_name: "name" }] }]
    })
  })
})

it("the status of a message never goes back, and only a sent one fails", () => {
  const all = ["sent", "delivered", "read", "failed"]
  const allowed = all.flatMap((before) =>
    all.filter((status) => follows(status, before)).map((status) => `${before} ${status}`)
  )
  assert.deepStrictEqual(allowed, [
    "sent delivered",
    "sent read",
    "sent failed",
    "delivered read",
    "failed sent",
    "failed delivered",
    "failed read"
  ])
})
