/** Texts in requests, in whatever operation: how they are measured, and which of them are absent. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { start, type TestResponse } from "../testing/Service.ts"
import { makeOrganization } from "./InputScene.ts"

const service = start()
afterAll(() => service.stop())

const long = (length: number) => "😀".repeat(length)
const lines = "first_name last_name company job_title city region country street_address postal_code source".split(" ")

describe("the maximum length in code points applies to", () => {
  type Case = readonly [
    param: string,
    max: number,
    status: number,
    write: (ours: Awaited<ReturnType<typeof makeOrganization>>, text: string) => Promise<TestResponse>
  ]
  const cases: ReadonlyArray<Case> = [
    ...lines.map((field): Case => [
      field,
      200,
      201,
      ({ write }, text) => write("POST", "/contacts", { primary_phone: "+4915112345678", [field]: text })
    ]),
    ["text", 5000, 200, ({ contact, write }, text) => write("POST", `/contacts/${contact.id}/notes`, { text })],
    ["category", 64, 200, ({ conversation, write }, category) => write("POST", `${conversation}/close`, { category })],
    ["name", 40, 200, ({ write }, name) => write("POST", "/tags", { name, color: "red" })],
    [
      "custom_values",
      1000,
      201,
      ({ field, write }, text) => write("POST", "/contacts", { first_name: "A", custom_values: { [field.id]: text } })
    ]
  ]
  for (const [param, max, status, write] of cases) {
    it(`${param}: ${max}`, async () => {
      const ours = await makeOrganization(service)
      assert.strictEqual((await write(ours, long(max))).status, status)
      const rejected = await write(ours, long(max + 1))
      assert.strictEqual(rejected.status, 400)
      const { id } = ours.field
      assert.strictEqual(rejected.body.error.param, param === "custom_values" ? `custom_values.${id}` : param)
    })
  }

  it("query: 200", async () => {
    const { key } = await service.organization()
    for (const text of [long, (length: number) => " ".repeat(length)]) {
      const found = (length: number) =>
        service.request("GET", `/v1/contacts?${new URLSearchParams({ query: text(length) })}`, { key })
      assert.strictEqual((await found(200)).status, 200)
      const rejected = await found(201)
      assert.strictEqual(rejected.status, 400)
      assert.strictEqual(rejected.body.error.param, "query")
    }
  })
})

describe("a text", () => {
  it("that is empty or blank counts as null", async () => {
    const ours = await makeOrganization(service)
    const fields = [...lines, "primary_email", "primary_phone", "birthday", "website_url", "network_url"]
    for (const blank of ["", "  \t"]) {
      const json = Object.fromEntries(fields.map((field) => [field, blank]))
      const created = await ours.write("POST", "/contacts", { ...json, last_name: "Kim", notes: "" })
      assert.strictEqual(created.status, 201, created.text)
      for (const field of [...fields, "notes"]) {
        if (field !== "last_name") assert.isNull(created.body.data[field], `${field}: ${JSON.stringify(blank)}`)
      }
    }
  })

  it("of a contact that is too long for its kind is rejected", async () => {
    const ours = await makeOrganization(service)
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
