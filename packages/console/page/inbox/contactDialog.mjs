// The dialog that changes the fields of a contact.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { openDialog } from "../elements/dialog.mjs"
import { callOperation, OperationError } from "../server.mjs"
import { state } from "../store.mjs"
import { changedFields, changesOf, choicesOf, editableFields, textOfValue } from "./contactFields.mjs"
import { updateIfOpen } from "./openConversation.mjs"

/**
 * @import { Contact } from "@messaging-crm/client"
 * @import { EditableField } from "./contactFields.mjs"
 * @typedef {Contact & { readonly etag: string | null }} ReadContact
 */

/** @type {Readonly<Partial<Record<EditableField, string>>>} */
const types = { primary_phone: "tel", primary_email: "email" }

/**
 * Draws the field of a contact. A stage or an owner is chosen.
 *
 * @param {EditableField} field
 * @param {string} value
 */
const contactField = (field, value) => {
  const choices = choicesOf(field, state.setup.members)
  if (choices === undefined) {
    return html`<label>${editableFields[field]}<input name=${field} type=${types[field] ?? "text"} value=${value}
      autocomplete="off"></label>`
  }
  // A value that is no longer a choice, such as a removed member, stays.
  const isKnown = value === "" || choices.some(([choice]) => choice === value)
  return html`<label>${editableFields[field]}<select name=${field}><option value="">–</option>${
    [...isKnown ? [] : [[value, value]], ...choices].map(([choice, text]) =>
      html`<option value=${choice} ?selected=${choice === value}>${text}</option>`
    )
  }</select></label>`
}

/** @param {EditableField} field */
const inputOf = (
  field
) => /** @type {HTMLInputElement | HTMLSelectElement | null} */ (document.querySelector(`dialog [name="${field}"]`))

/**
 * Puts a value into a field of the form.
 *
 * @param {EditableField} field
 * @param {string | null} value
 */
const setValue = (field, value) => {
  const input = inputOf(field)
  if (input !== null) input.value = value ?? ""
}

/**
 * Draws the values that another client has saved in fields which the user has changed too, each with a button that takes it.
 *
 * @param {ReadonlyArray<EditableField>} conflicts
 * @param {ReadContact} contact
 * @param {(field: EditableField) => void} take
 */
const savedValues = (conflicts, contact, take) =>
  conflicts.length === 0
    ? ""
    : html`<ul class="saved" aria-label="Saved values">${
      conflicts.map((field) => {
        const value = contact[field]
        const text = value === null ? "empty" : `“${textOfValue(field, value, state.setup.members)}”`
        return html`<li><span>${editableFields[field]} is now ${text}.</span>
          <button type="button" aria-label="Use the saved value of ${editableFields[field]}"
            @click=${() => take(field)}>Use</button></li>`
      })
    }</ul>`

/** Opens a dialog that changes a contact, with its current values. Only what the user changes is sent. */
export const openContactDialog = showingErrors(async (/** @type {string} */ id) => {
  const opened = /** @type {ReadContact} */ (await callOperation("contact", { id }))
  let contact = opened
  /** @type {ReadonlyArray<EditableField>} */
  let conflicts = []

  /** Reads the contact again: fields that the user has not changed get the saved values, and the others stay. */
  const takeSavedValues = async (/** @type {(field: EditableField) => string} */ valueOf) => {
    const before = contact
    contact = /** @type {ReadContact} */ (await callOperation("contact", { id }))
    const changed = changedFields(before, contact)
    const own = Object.keys(changesOf(before, valueOf))
    for (const field of changed) if (!own.includes(field)) setValue(field, contact[field])
    conflicts = [...new Set([...conflicts, ...changed])].filter((field) =>
      own.includes(field) && valueOf(field) !== (contact[field] ?? "")
    )
    return changed.length > 0
  }

  /** @returns {Promise<unknown>} */
  const save = async (/** @type {(field: EditableField) => string} */ valueOf) => {
    const changes = changesOf(contact, valueOf)
    if (Object.keys(changes).length === 0) return
    try {
      const { etag } = contact
      // The choices of a stage are those of the API.
      const input = { id, changes: /** @type {import("@messaging-crm/client").UpdateContact} */ (changes), etag }
      updateIfOpen(id, { contact: await callOperation("updateContact", input) })
    } catch (error) {
      if (!(error instanceof OperationError) || error.code !== "precondition_failed") throw error
      // A change of other fields, such as a tag, does not concern the user.
      if (!await takeSavedValues(valueOf)) return save(valueOf)
      throw new Error("The contact has changed since you opened it. Check the values, and save again.", {
        cause: error
      })
    }
  }

  const fields = (/** @type {() => void} */ draw) => {
    const take = (/** @type {EditableField} */ field) => {
      setValue(field, contact[field])
      conflicts = conflicts.filter((other) => other !== field)
      draw()
      inputOf(field)?.focus()
    }
    // The user can have changed the fields since, so they are drawn with the first values.
    return html`${
      Object.keys(editableFields).map((name) => {
        const field = /** @type {EditableField} */ (name)
        return contactField(field, opened[field] ?? "")
      })
    }${savedValues(conflicts, contact, take)}`
  }
  openDialog("Edit contact", { submit: "Save" }, fields, (valueOf) => save((field) => valueOf(field).trim()))
})
