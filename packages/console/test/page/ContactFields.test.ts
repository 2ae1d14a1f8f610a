/** The fields of a contact in the inbox. */
import { assert, it } from "@effect/vitest"
import { changedFields, changesOf, contactFields } from "../../page/inbox/contactFields.mjs"

const contact = {
  first_name: "Anna",
  last_name: null,
  primary_phone: null,
  primary_email: "anna_b@x.example",
  company: "snake_case GmbH",
  job_title: null,
  lifecycle_stage: "sales_qualified",
  owner_user_id: "u1",
  source: "spring_fair"
} as const

it("a contact's fields are shown as they are, its stage with spaces, and its owner by name", () => {
  assert.deepStrictEqual(contactFields(contact, [{ id: "u1", name: "Grace" }]), [
    ["First name", "Anna"],
    ["Email", "anna_b@x.example"],
    ["Company", "snake_case GmbH"],
    ["Stage", "sales qualified"],
    ["Owner", "Grace"],
    ["Source", "spring_fair"]
  ])
})

it("a form sends the changed fields only, and null for an emptied one", () => {
  const values: Readonly<Record<string, string | null>> = { ...contact, last_name: "Berg", company: "" }
  assert.deepStrictEqual(changesOf(contact, (field) => values[field] ?? ""), { last_name: "Berg", company: null })
  assert.deepStrictEqual(changesOf(contact, (field) => contact[field] ?? ""), {})
})

it("the fields that another client has changed are found", () => {
  assert.deepStrictEqual(changedFields(contact, contact), [])
  assert.deepStrictEqual(changedFields(contact, { ...contact, company: null, job_title: "Buyer" }), [
    "company",
    "job_title"
  ])
})
