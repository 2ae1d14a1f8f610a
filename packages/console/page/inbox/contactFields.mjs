// The fields of a contact that the inbox shows.
import { withSpaces } from "../elements/formats.mjs"

/** @import { Contact } from "@messaging-crm/client" */

const labeledFields = /** @type {const} */ ([
  ["primary_phone", "Phone"],
  ["primary_email", "Email"],
  ["company", "Company"],
  ["lifecycle_stage", "Stage"],
  ["source", "Source"]
])

/**
 * Returns the label and the text of each field that has a value. Only a stage is a term of the API, which is shown with spaces.
 *
 * @param {Pick<Contact, typeof labeledFields[number][0]>} contact
 * @returns {ReadonlyArray<readonly [label: string, text: string]>}
 */
export const contactFields = (contact) =>
  labeledFields.flatMap(([field, label]) => {
    const text = contact[field]
    if (text === null) return []
    return [/** @type {const} */ ([label, field === "lifecycle_stage" ? withSpaces(text) : text])]
  })
