// Draws the shown contact: its fields, tags, and notes.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { state } from "../store.mjs"
import { openContactDialog } from "./contactDialog.mjs"
import { contactFields } from "./contactFields.mjs"
import { addNote, changeTags, isOpen } from "./openConversation.mjs"

/** @import { Contact } from "@messaging-crm/client" */

/** @param {Contact} contact */
const submitNote = ({ id }) =>
  showingErrors(async (/** @type {Event & { target: HTMLFormElement }} */ event) => {
    event.preventDefault()
    const field = event.target["note"]
    const text = field.value.trim()
    if (text === "") return
    await addNote(id, text)
    if (isOpen(id)) field.value = ""
  })

/**
 * Draws the shown contact.
 *
 * @param {Contact} contact
 */
export const contactDetails = (contact) => {
  const unused_tags = state.setup.tags.filter(({ id }) => !contact.tags.some((tag) => tag.id === id))
  /** @param {Event & { target: HTMLSelectElement }} event */
  const addTag = (event) => {
    void changeTags(contact.id, { add_tag_ids: [event.target.value] })
    event.target.value = ""
  }
  return html`<div class="heading"><h3>Contact</h3>
    <button @click=${() => openContactDialog(contact.id)} aria-label="Edit contact">Edit</button></div><dl>${
    contactFields(contact, state.setup.members).map(([label, text]) => html`<dt>${label}</dt><dd>${text}</dd>`)
  }</dl>
    <h3>Tags</h3><div class="tags">
      ${
    contact.tags.map(({ color, id, name }) =>
      html`<span class="tag ${color}">${name}<button aria-label="Remove ${name}"
        @click=${() => changeTags(contact.id, { remove_tag_ids: [id] })}>×</button></span>`
    )
  }
      ${
    unused_tags.length === 0 ?
      "" :
      html`<select aria-label="Add a tag" @change=${addTag}><option value="">Add tag…</option>
        ${unused_tags.map(({ id, name }) => html`<option value=${id}>${name}</option>`)}</select>`
  }</div>
    <h3>Notes</h3>${contact.notes === null ? "" : html`<p class="notes">${contact.notes}</p>`}
    <form @submit=${submitNote(contact)}>
      <textarea name="note" rows="2" aria-label="Note" placeholder="Add a note…"></textarea>
      <button>Add note</button></form>`
}
