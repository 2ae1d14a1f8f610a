import { assert, describe, it } from "@effect/vitest"
import { WritableContact } from "@messaging-crm/core/Contacts"
import { readColumns } from "@messaging-crm/core/ContactTable"
import { ContactFieldId } from "@messaging-crm/core/Ids"
import { DateTime, Result } from "effect"

const id = "01990000-0000-7000-8000-00000000000a"

const catalogs = {
  fields: [{
    id: ContactFieldId.make(id),
    key: "plan",
    name: "Plan",
    type: "text" as const,
    options: null,
    created_at: DateTime.makeUnsafe(0)
  }],
  tags: []
}

const read = (names: ReadonlyArray<string>, key: string | null = null) =>
  Result.match(readColumns(names, key, catalogs), {
    onSuccess: ({ columns, key }) => ({ params: columns.map(({ param }) => param), key: key?.param ?? null }),
    onFailure: ({ _tag, column }) => `${_tag} ${column}`
  })

describe("the columns of a table", () => {
  it("are the writable fields, tags by name, and contact fields by key or id", () => {
    const fields = Object.keys(WritableContact.fields).filter((name) => name !== "custom_values")
    const names = [...fields, "tags", "custom_values.plan"]
    assert.deepStrictEqual(read(names), { params: [...fields, "tags", `custom_values.${id}`], key: null })
    assert.deepStrictEqual(read([` custom_values.${id.toUpperCase()} `]), {
      params: [`custom_values.${id}`],
      key: null
    })
  })

  it("are rejected by name when a contact has no such field", () => {
    const unknown = ["", "name", "First_Name", "custom_values", "custom_values.", "custom_values.colour", "toString"]
    for (const name of unknown) assert.strictEqual(read(["first_name", name, "nor this"]), `ColumnUnknown ${name}`)
  })

  it("are rejected by name when two columns have the same meaning", () => {
    assert.strictEqual(read(["source", "city", "source"]), "ColumnRepeated source")
    assert.strictEqual(
      read(["custom_values.plan", `custom_values.${id}`]),
      `ColumnRepeated custom_values.${id}`
    )
  })

  it("contain the import key, each column once", () => {
    assert.deepStrictEqual(read(["custom_values.plan"], "custom_values.plan"), {
      params: [`custom_values.${id}`],
      key: `custom_values.${id}`
    })
    assert.strictEqual(read(["first_name"], "primary_email"), "KeyUnsuitable primary_email")
    assert.strictEqual(read(["first_name", "tags"], "tags"), "KeyUnsuitable tags")
    const failed = readColumns(["first_name", "tags", "primary_phone"], "phone", catalogs)
    assert.deepInclude(Result.isFailure(failed) && failed.failure, { suitable: ["first_name", "primary_phone"] })
  })
})
