import { assert, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { Arbitrary } from "effect"
import { redacted } from "../src/messaging/Redaction.ts"

const bytes = (value: unknown) => new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value))
const textOf = (body: Uint8Array | null) => body === null ? null : new TextDecoder().decode(body)
const after = (value: unknown, ...ids: ReadonlyArray<string>) => textOf(redacted(bytes(value), ids))

it("removes the items of lists that name the person, and leaves those of others", () => {
  const message = (from: string) => ({ from, id: `wamid.${from}`, text: { body: `from ${from}` } })
  const value = (...from: ReadonlyArray<string>) => ({
    metadata: { phone_number_id: "7" },
    contacts: from.map((wa_id) => ({ wa_id, profile: { name: "Kim" } })),
    messages: from.map(message),
    statuses: [{ id: "s", recipient_id: from[0] }]
  })
  const body = (...values: ReadonlyArray<object>) => ({
    entry: [{ id: "1", changes: values.map((each) => ({ value: each })) }]
  })
  const [us, them] = ["4915112345678", "4915112345679"]
  assert.strictEqual(
    after(body(value(us, them)), us),
    JSON.stringify(body({ ...value(them), statuses: [] }))
  )
  assert.isNull(after(body(value(them)), us))
})

it("removes an item that names the person in an object of its own, and a number with its plus sign", () => {
  const messaging = [
    { sender: { id: "17" }, message: { text: "hi" } },
    { sender: { id: "18" }, recipient: { id: "17" } },
    { sender: { id: "18" }, message: { text: "17 times" } },
    { sender: { id: 17 } },
    { from: "+17" }
  ]
  assert.strictEqual(
    after({ entry: [{ messaging }] }, "17"),
    JSON.stringify({ entry: [{ messaging: [messaging[2]] }] })
  )
})

it("empties a body that is about the person alone, or is not JSON", () => {
  assert.strictEqual(after({ from: "17" }, "17"), "{}")
  assert.strictEqual(after("from=17", "17"), "")
  assert.isNull(after("from=18", "17"))
})

it.prop(
  "changes nothing where nobody is named",
  { texts: Arbitrary.array(hardText({ min: 1, max: 9 })) },
  ({ texts }) => {
    assert.isNull(after({ entry: texts.map((text) => ({ text, [text]: [text] })) }, "nobody-has-this-id"))
  }
)
