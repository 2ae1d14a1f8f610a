// Draws the open conversation with its contact.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { avatar } from "../elements/avatar.mjs"
import { channelName, nameOf } from "../elements/formats.mjs"
import { callOperation, context } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { composer } from "./composer.mjs"
import { contactPanel } from "./contact.mjs"
import { messageBubbles, pendingBubble } from "./messages.mjs"
import { loadOlderMessages } from "./openConversation.mjs"

/** @import { Conversation } from "@messaging-crm/client" */

/**
 * Returns an action that changes the open conversation by an operation.
 *
 * @param {"assign" | "close" | "reopen"} operation
 * @param {object} input
 */
const changeConversation = (operation, input = {}) =>
  showingErrors(async () => {
    if (state.conversation === null) return
    updateState({ conversation: await callOperation(operation, { id: state.conversation.id, ...input }) })
  })

/** @param {Event & { target: HTMLSelectElement }} event */
const assignConversation = (event) =>
  changeConversation("assign", { assigned_user_id: event.target.value === "" ? null : event.target.value })()

/** @param {Conversation} conversation */
const conversationHeader = ({ assigned_user_id, channel, contact, status }) =>
  html`<header>
  ${avatar(nameOf(contact))}
  <div><h2>${nameOf(contact)}</h2><p class="faint">${channelName[channel.type]} · ${contact.external_id ?? ""}</p></div>
  <label class="assign"><span class="hidden">Assigned to</span>
    <select @change=${assignConversation}>
      <option value="" .selected=${assigned_user_id === null}>Unassigned</option>
      ${
    state.setup.members.map(({ id, name }) =>
      html`<option value=${id} .selected=${id === assigned_user_id}>${name}</option>`
    )
  }
    </select></label>
  <button @click=${changeConversation(status === "open" ? "close" : "reopen")}>${
    status === "open" ? "Close" : "Reopen"
  }</button>
</header>`

/** @param {Event & { target: Element }} event */
const onMessagesScroll = ({ target }) => {
  if (target.scrollTop <= 200) void loadOlderMessages()
}

/** Draws the open conversation with its contact. */
export const threadView = () => {
  const { contact, conversation } = state
  if (conversation === null) {
    return html`<section class="thread none"><p class="empty">Select a conversation.<br>
      <kbd>j</kbd>/<kbd>k</kbd>: move, <kbd>r</kbd>: reply${
      context.canWriteAsCustomer ? html`, <kbd>c</kbd>: write as the customer` : ""
    }</p></section>`
  }
  const pending = state.pending.filter(({ conversation_id }) => conversation_id === conversation.id)
  return html`<section class="thread" aria-label="Conversation">${conversationHeader(conversation)}
    <ol class="messages" aria-live="polite" tabindex="0" @scroll=${onMessagesScroll}>${messageBubbles()}${
    pending.map(pendingBubble)
  }</ol>
    ${composer(conversation)}
  </section>${contact === null ? html`<aside class="details"></aside>` : contactPanel(contact)}`
}
