/** The fields of a contact in the inbox. */
import { assert, it } from "@effect/vitest"
import { contactFields } from "../../page/inbox/contactFields.mjs"

it("a contact's fields are shown as they are, and its stage with spaces", () => {
  const contact = {
    primary_phone: null,
    primary_email: "anna_b@x.example",
    company: "snake_case GmbH",
    lifecycle_stage: "sales_qualified",
    source: "spring_fair"
  } as const
  assert.deepStrictEqual(contactFields(contact), [
    ["Email", "anna_b@x.example"],
    ["Company", "snake_case GmbH"],
    ["Stage", "sales qualified"],
    ["Source", "spring_fair"]
  ])
})
