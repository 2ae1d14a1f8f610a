// Draws the list of conversations, of which only the visible rows are in the document.
import { html, nothing } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { avatar } from "../elements/avatar.mjs"
import { nameOf, timeOrDate } from "../elements/formats.mjs"
import { networkName } from "../elements/networks.mjs"
import { state, updateState } from "../store.mjs"
import { loadMoreConversations, mergeConversations } from "./conversations.mjs"
import { filters, foundContacts } from "./filters.mjs"
import { isOpen, openContact, openThread } from "./openConversation.mjs"
import { scrollToEnd } from "./scroll.mjs"
import { latestStatus } from "./unsent.mjs"
import { waitingIds } from "./waiting.mjs"

/**
 * @import { Contact, Conversation } from "@messaging-crm/client"
 * @import { TemplateResult } from "lit-html"
 */

const row_height = 62
/** The number of rows that are drawn above and below the visible ones. */
const margin_rows = 8

const listElement = () => document.querySelector(".conversations")

/** Removes the reply and the note that were written for another conversation: both fields can stay in the document. */
const clearDrafts = () => {
  /** @type {NodeListOf<HTMLTextAreaElement>} */
  const fields = document.querySelectorAll("main textarea")
  for (const field of fields) field.value = ""
}

/**
 * Scrolls the list so that a conversation is visible, if it is in the list.
 *
 * @param {string} id
 */
const scrollToRow = (id) => {
  const list = listElement()
  const index = state.conversations.findIndex((conversation) => conversation.id === id)
  if (list === null || index < 0) return
  const top = index * row_height
  list.scrollTop = Math.min(top, Math.max(list.scrollTop, top - list.clientHeight + row_height))
}

/** Opens a conversation, and puts it into the address. */
export const selectConversation = showingErrors(async (/** @type {Conversation} */ conversation) => {
  const address = `#/inbox/${conversation.id}`
  if (!location.hash.startsWith(address)) location.hash = address
  if (conversation.id !== state.conversation?.id) clearDrafts()
  const isListed = state.conversations.some(({ id }) => id === conversation.id)
  // A conversation that has just begun is not listed yet.
  if (state.cursor !== undefined && !isListed) mergeConversations([conversation])
  scrollToRow(conversation.id)
  await openThread(conversation)
  if (isOpen(conversation.id)) scrollToEnd()
})

/**
 * Shows a contact that the address names.
 *
 * @param {Contact} contact
 */
export const selectContact = (contact) => {
  clearDrafts()
  openContact(contact)
}

/**
 * Returns the index after a step that ends at the first or last conversation. Without a selection, the index is -1.
 *
 * @param {number} index
 * @param {number} step
 * @param {number} count
 */
export const nextIndex = (index, step, count) => Math.min(Math.max(0, index + step), count - 1)

/**
 * Moves the selection, and opens the selected conversation.
 *
 * @param {number} step
 */
export const moveSelection = (step) => {
  const index = state.conversations.findIndex(({ id }) => id === state.conversation?.id)
  const next = state.conversations[nextIndex(index, step, state.conversations.length)]
  if (next === undefined) return
  void selectConversation(next)
}

const onListScroll = () => {
  const list = listElement()
  if (list !== null && list.scrollHeight - list.scrollTop - list.clientHeight < 20 * row_height) {
    void loadMoreConversations()
  }
  updateState()
}

/**
 * Returns the beginning of the latest message, or else why there is none.
 *
 * @param {Conversation} conversation
 */
const previewOf = ({ id, last_activity_preview }) => {
  if (last_activity_preview !== null) return last_activity_preview
  const status = latestStatus(id)
  if (status === null) return "No messages yet"
  return status === "failed" ? "Not sent" : status === "unknown" ? "Outcome unknown" : "Sending…"
}

/**
 * Draws a row. The content security policy forbids the attribute `style`, but not the property.
 *
 * @param {Conversation} conversation
 * @param {number} index
 * @param {ReadonlySet<string>} waiting
 */
const conversationRow = (conversation, index, waiting) => {
  const { channel, contact, id, last_activity_at, status } = conversation
  const isSelected = id === state.conversation?.id
  const isWaiting = waiting.has(id)
  return html`<li role="option" id="c-${id}" aria-selected=${isSelected} aria-posinset=${index + 1}
    aria-setsize=${state.cursor === null ? state.conversations.length : -1}
    class=${isWaiting ? "waiting" : ""} .style=${`transform: translateY(${index * row_height}px)`}
    @click=${() => selectConversation(conversation)}>
    ${avatar(nameOf(contact))}
    <span class="who">${nameOf(contact)}</span><time>${timeOrDate(last_activity_at)}</time>
    <span class="preview">${previewOf(conversation)}</span>
    <span class="chip">${isWaiting ? html`<span class="dot" title="Waiting for an answer"></span>` : ""}
      ${status === "closed" ? "Closed" : networkName(channel)}</span>
  </li>`
}

/**
 * The number of conversations by which a key moves the selection.
 *
 * @type {Readonly<Record<string, number>>}
 */
const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }

/** @param {KeyboardEvent} event */
const onListKey = (event) => {
  const step = steps[event.key]
  if (step === undefined) return
  event.preventDefault()
  moveSelection(step)
}

/**
 * Draws the list, its filter, and the buttons for a new message.
 *
 * @param {TemplateResult} newMessage
 * @param {TemplateResult | string} account
 */
export const conversationList = (newMessage, account) => {
  const element = listElement()
  const first = Math.max(0, Math.floor((element?.scrollTop ?? 0) / row_height) - margin_rows)
  const count = Math.ceil((element?.clientHeight ?? 900) / row_height) + 2 * margin_rows
  const rows = state.conversations.slice(first, first + count)
  const waiting = new Set(waitingIds(state.newest))
  const selected = rows.find(({ id }) => id === state.conversation?.id)
  return html`<section class="list" aria-label="Conversations">
    ${account}<header><h1>Inbox</h1>${newMessage}</header>
    ${filters()}${state.found === null ? "" : foundContacts(state.found)}
    <ul class="conversations" role="listbox" tabindex="0" ?hidden=${state.found !== null} aria-label="Conversations"
      aria-activedescendant=${selected === undefined ? nothing : `c-${selected.id}`}
      @scroll=${onListScroll} @keydown=${onListKey}>
      <li class="space" role="presentation" .style=${`height: ${state.conversations.length * row_height}px`}></li>
      ${rows.map((conversation, index) => conversationRow(conversation, first + index, waiting))}
    </ul>
    ${
    state.conversations.length > 0 || state.isLoading || state.found !== null ?
      "" :
      html`<p class="empty" role="status">No conversation matches the filter.</p>`
  }
  </section>`
}
