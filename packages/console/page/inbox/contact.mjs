// Draws the contact of the open conversation: its fields, tags, and notes.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { callOperation } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { contactFields } from "./contactFields.mjs"

/** @import { Contact, UpdateContact } from "@messaging-crm/client" */

/** @param {Pick<UpdateContact, "add_tag_ids" | "remove_tag_ids">} changes */
const changeTags = (changes) =>
  showingErrors(async () => {
    if (state.contact !== null) updateState({ contact: await callOperation("tag", { id: state.contact.id, changes }) })
  })()

const addNote = showingErrors(async (/** @type {Event & { target: HTMLFormElement }} */ event) => {
  event.preventDefault()
  const field = event.target["note"]
  const text = field.value.trim()
  if (state.contact === null || text === "") return
  updateState({ contact: await callOperation("note", { id: state.contact.id, text }) })
  field.value = ""
})

/**
 * Draws the contact of the open conversation.
 *
 * @param {Contact} contact
 */
export const contactPanel = (contact) => {
  const unused_tags = state.setup.tags.filter(({ id }) => !contact.tags.some((tag) => tag.id === id))
  /** @param {Event & { target: HTMLSelectElement }} event */
  const addTag = (event) => {
    void changeTags({ add_tag_ids: [event.target.value] })
    event.target.value = ""
  }
  return html`<aside class="details" aria-label="Contact">
    <h3>Contact</h3><dl>${contactFields(contact).map(([label, text]) => html`<dt>${label}</dt><dd>${text}</dd>`)}</dl>
    <h3>Tags</h3><div class="tags">
      ${
    contact.tags.map(({ color, id, name }) =>
      html`<span class="tag ${color}">${name}<button aria-label="Remove ${name}"
        @click=${() => changeTags({ remove_tag_ids: [id] })}>×</button></span>`
    )
  }
      ${
    unused_tags.length === 0 ?
      "" :
      html`<select aria-label="Add a tag" @change=${addTag}><option value="">Add tag…</option>
        ${unused_tags.map(({ id, name }) => html`<option value=${id}>${name}</option>`)}</select>`
  }</div>
    <h3>Notes</h3>${contact.notes === null ? "" : html`<p class="notes">${contact.notes}</p>`}
    <form @submit=${addNote}><textarea name="note" rows="2" aria-label="Note" placeholder="Add a note…"></textarea>
      <button>Add note</button></form>
  </aside>`
}
