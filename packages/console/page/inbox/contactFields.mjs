// The fields of a contact that the inbox shows and changes.
import { withSpaces } from "../elements/formats.mjs"

/**
 * @import { Contact, Member, UpdateContact } from "@messaging-crm/client"
 * @typedef {"company" | "first_name" | "job_title" | "last_name" | "lifecycle_stage" | "owner_user_id" | "primary_email"
 *   | "primary_phone"} EditableField
 * @typedef {Readonly<Record<EditableField, string | null>>} EditableContact
 */

/** @type {ReadonlyArray<NonNullable<UpdateContact["lifecycle_stage"]>>} */
const stages = [
  "subscriber",
  "lead",
  "marketing_qualified",
  "sales_qualified",
  "opportunity",
  "customer",
  "evangelist",
  "other"
]

/**
 * The fields that the page can change, with their labels, in the order of the form.
 *
 * @type {Readonly<Record<EditableField, string>>}
 */
export const editableFields = {
  first_name: "First name",
  last_name: "Last name",
  primary_phone: "Phone",
  primary_email: "Email",
  company: "Company",
  job_title: "Job title",
  lifecycle_stage: "Stage",
  owner_user_id: "Owner"
}

/** @type {ReadonlyArray<EditableField>} */
// The keys of an object literal are its fields.
const names = /** @type {ReadonlyArray<EditableField>} */ (Object.keys(editableFields))

/**
 * Returns the values between which a field can choose, with their labels; undefined if its value is a text.
 *
 * @param {EditableField} field
 * @param {ReadonlyArray<Pick<Member, "id" | "name">>} members
 * @returns {ReadonlyArray<readonly [value: string, label: string]> | undefined}
 */
export const choicesOf = (field, members) => {
  if (field === "lifecycle_stage") return stages.map((stage) => [stage, withSpaces(stage)])
  return field === "owner_user_id" ? members.map(({ id, name }) => [id, name]) : undefined
}

/**
 * Returns the text of a value: the name of a member, and a stage with spaces.
 *
 * @param {EditableField} field
 * @param {string} value
 * @param {ReadonlyArray<Pick<Member, "id" | "name">>} members
 */
export const textOfValue = (field, value, members) =>
  choicesOf(field, members)?.find(([choice]) => choice === value)?.[1] ?? value

/**
 * Returns the label and the text of each field that has a value.
 *
 * @param {EditableContact & Pick<Contact, "source">} contact
 * @param {ReadonlyArray<Pick<Member, "id" | "name">>} members
 * @returns {ReadonlyArray<readonly [label: string, text: string]>}
 */
export const contactFields = (contact, members) => [
  ...names.flatMap((field) => {
    const value = contact[field]
    return value === null ? [] : [/** @type {const} */ ([editableFields[field], textOfValue(field, value, members)])]
  }),
  ...contact.source === null ? [] : [/** @type {const} */ (["Source", contact.source])]
]

/**
 * Returns the fields whose values differ between a form and the contact with which it was opened. An empty value clears a field.
 *
 * @param {EditableContact} contact
 * @param {(field: EditableField) => string} valueOf
 * @returns {Partial<EditableContact>}
 */
export const changesOf = (contact, valueOf) =>
  Object.fromEntries(
    names.filter((field) => valueOf(field) !== (contact[field] ?? "")).map((field) => [field, valueOf(field) || null])
  )

/**
 * Returns the fields that have changed between two reads of a contact.
 *
 * @param {EditableContact} before
 * @param {EditableContact} after
 */
export const changedFields = (before, after) => names.filter((field) => before[field] !== after[field])
