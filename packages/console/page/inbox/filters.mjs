// Draws the filters of the list of conversations, and the search for a contact.
import { html } from "lit-html"
import { clearError, showingErrors } from "../actions.mjs"
import { avatar } from "../elements/avatar.mjs"
import { segments } from "../elements/components.mjs"
import { nameOfContact } from "../elements/formats.mjs"
import { callOperation, context } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { loadConversations } from "./conversations.mjs"

/** @import { Contact } from "@messaging-crm/client" */

/** @type {ReadonlyArray<readonly [label: string, value: typeof state.filter]>} */
const statuses = [["open", "open"], ["closed", "closed"], ["all", "all"]]

/** Reads the contacts that a text describes. They are shown in place of the list until one of them is chosen. */
const searchContacts = showingErrors(async (/** @type {string} */ query) => {
  const { data } = await callOperation("contacts", { query })
  updateState({ found: data })
})

/** @param {SubmitEvent & { target: HTMLFormElement }} event */
const onSearch = (event) => {
  event.preventDefault()
  clearError()
  const query = event.target["query"].value.trim()
  if (query === "") updateState({ found: null })
  else void searchContacts(query)
}

/** @param {KeyboardEvent & { target: HTMLInputElement }} event */
const onSearchKey = (event) => {
  if (event.key !== "Escape") return
  event.target.value = ""
  event.target.blur()
  updateState({ found: null })
}

/** @param {Event & { target: HTMLInputElement }} event */
const onSearchInput = ({ target }) => {
  // The button of the field that clears it raises no other event.
  if (target.value === "") updateState({ found: null })
}

/**
 * Puts the focus into an element after the changes are drawn, because the chosen one is removed.
 *
 * @param {string} selector
 */
const focusSoon = (selector) =>
  requestAnimationFrame(() => /** @type {HTMLElement | null} */ (document.querySelector(selector))?.focus())

/**
 * Lists the conversations of a contact, or opens the contact if it has none.
 *
 * @param {Contact} contact
 */
const chooseContact = async (contact) => {
  const { id } = contact
  updateState({ found: null, chosenContact: { id, name: nameOfContact(contact) } })
  focusSoon(".conversations")
  await loadConversations("all", { contact_id: id })
  const { chosenContact, conversations, cursor } = state
  if (chosenContact?.id === id && cursor === null && conversations.length === 0) location.hash = `#/inbox/contact/${id}`
}

const showAllContacts = () => {
  updateState({ chosenContact: null })
  void loadConversations("open", {})
  focusSoon(".filters input")
}

/** @param {Event & { target: HTMLSelectElement }} event */
const chooseAssignee = ({ target: { value } }) => {
  const { assigned_user_id: _, unassigned: __, ...others } = state.query
  const chosen = value === ""
    ? {}
    : value === "none"
    ? { unassigned: /** @type {const} */ ("true") }
    : { assigned_user_id: value }
  void loadConversations(state.filter, { ...others, ...chosen })
}

/** @param {Event & { target: HTMLSelectElement }} event */
const chooseChannel = ({ target: { value } }) => {
  const { channel_id: _, ...others } = state.query
  void loadConversations(state.filter, value === "" ? others : { ...others, channel_id: value })
}

/**
 * Draws an option of a filter.
 *
 * @param {string} value
 * @param {string} label
 * @param {boolean} isSelected
 */
const option = (value, label, isSelected) => html`<option value=${value} .selected=${isSelected}>${label}</option>`

const selects = () => {
  const { assigned_user_id, channel_id, unassigned } = state.query
  const { channels, members } = state.setup
  const { member_id } = context
  return html`<select aria-label="Filter by assignee" @change=${chooseAssignee}>
      ${member_id === null ? "" : option(member_id, "Mine", member_id === assigned_user_id)}
      ${option("", "Everyone", assigned_user_id === undefined && unassigned === undefined)}
      ${option("none", "Unassigned", unassigned !== undefined)}
      ${
    members.filter(({ id }) => id !== member_id).map(({ id, name }) => option(id, name, id === assigned_user_id))
  }</select>
    <select aria-label="Filter by channel" @change=${chooseChannel}>
      ${option("", "All channels", channel_id === undefined)}
      ${channels.map(({ id, name }) => option(id, name, id === channel_id))}</select>`
}

/** Draws the filters above the list. */
export const filters = () =>
  html`<div class="filters">
    <form role="search" @submit=${onSearch}><input type="search" name="query" aria-label="Search contacts"
      placeholder="Search contacts, then Enter" autocomplete="off" @keydown=${onSearchKey} @input=${onSearchInput}></form>
    ${
    state.chosenContact === null
      ? html`${
        segments("Filter", statuses, state.filter, (status) => loadConversations(status))
      }<div class="selects">${selects()}</div>`
      : html`<p class="tag">${state.chosenContact.name}<button aria-label="Show all contacts" @click=${showAllContacts}>×</button></p>`
  }</div>`

/**
 * Returns what a search can have matched besides the name that is shown.
 *
 * @param {Contact} contact
 */
const matchable = (contact) =>
  [contact.primary_phone, contact.primary_email, contact.company].filter((value) =>
    value !== null && value !== nameOfContact(contact)
  ).join(" · ")

/**
 * Draws the contacts that a search has found.
 *
 * @param {ReadonlyArray<Contact>} contacts
 */
export const foundContacts = (contacts) =>
  contacts.length === 0
    ? html`<p class="empty" role="status">No contact matches.</p>`
    : html`<ul class="found" aria-label="Found contacts">${
      contacts.map((contact) =>
        html`<li><button @click=${() => chooseContact(contact)}>${avatar(nameOfContact(contact))}
        <span class="who">${nameOfContact(contact)}</span><span class="preview">${
          matchable(contact)
        }</span></button></li>`
      )
    }</ul>`
