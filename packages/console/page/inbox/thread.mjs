// Draws the open conversation with its contact.
import { html } from "lit-html"
import { avatar } from "../elements/avatar.mjs"
import { backLink } from "../elements/components.mjs"
import { nameOf, nameOfContact } from "../elements/formats.mjs"
import { hasTemplates, networkName } from "../elements/networks.mjs"
import { context } from "../server.mjs"
import { state } from "../store.mjs"
import { composer } from "./composer.mjs"
import { contactDetails } from "./contact.mjs"
import { threadItems } from "./messages.mjs"
import { changeConversation, loadOlderMessages } from "./openConversation.mjs"
import { noteScroll } from "./scroll.mjs"
import { openConversationDialog } from "./sending.mjs"

/**
 * @import { Contact, Conversation } from "@messaging-crm/client"
 * @import { TemplateResult } from "lit-html"
 */

/** @param {Conversation} conversation */
const conversationHeader = ({ assigned_user_id, channel, contact, id, status }) => {
  /** @param {Event & { target: HTMLSelectElement }} event */
  const assign = ({ target }) => changeConversation("assign", { id, assigned_user_id: target.value || null })
  return html`<header>
  ${backLink("#/inbox", "Back to the conversations")}
  ${avatar(nameOf(contact))}
  <div class="title"><h2>${nameOf(contact)}</h2>
    <p class="faint">${networkName(channel)} · ${contact.external_id ?? ""}</p></div>
  <a class="button to-contact" href="#/inbox/${id}/contact">Contact</a>
  <label class="assign"><span class="hidden">Assigned to</span>
    <select @change=${assign}>
      <option value="" .selected=${assigned_user_id === null}>Unassigned</option>
      ${
    state.setup.members.map((member) =>
      html`<option value=${member.id} .selected=${member.id === assigned_user_id}>${member.name}</option>`
    )
  }
    </select></label>
  <button @click=${() => changeConversation(status === "open" ? "close" : "reopen", { id })}>${
    status === "open" ? "Close" : "Reopen"
  }</button>
</header>`
}

/** @param {Event & { target: Element }} event */
const onMessagesScroll = ({ target }) => {
  noteScroll()
  if (target.scrollTop <= 200) void loadOlderMessages()
}

/**
 * Draws the panel of the contact.
 *
 * @param {Contact | null} contact
 * @param {TemplateResult} back
 * @param {TemplateResult | string} action
 */
const contactPanel = (contact, back, action = "") =>
  html`<aside class="details" aria-label="Contact">${back}${
    contact === null ? "" : html`${action}${contactDetails(contact)}`
  }</aside>`

/**
 * Draws a contact without a conversation, and the button that starts one.
 *
 * @param {Contact} contact
 */
const contactView = (contact) => {
  const { primary_phone } = contact
  const isPossible = primary_phone !== null && state.setup.channels.some(hasTemplates)
  const start = () => openConversationDialog(primary_phone ?? "")
  return html`<section class="thread none"><p class="empty">No conversation is open.</p></section>
    ${
    contactPanel(
      contact,
      backLink("#/inbox", "Back to the conversations"),
      html`<h2>${nameOfContact(contact)}</h2>
      ${
        isPossible
          ? html`<button @click=${start} class="start">New conversation</button>`
          : html`<p class="faint">A new conversation needs a phone number and a WhatsApp channel.</p>`
      }`
    )
  }`
}

/** Draws the open conversation with its contact, or a contact without a conversation. */
export const threadView = () => {
  const { contact, conversation } = state
  if (conversation === null && contact !== null) return contactView(contact)
  if (conversation === null) {
    return html`<section class="thread none">${
      backLink("#/inbox", "Back to the conversations")
    }<p class="empty">Select a conversation.<br>
      <kbd>j</kbd>/<kbd>k</kbd>: move, <kbd>r</kbd>: reply${
      context.canWriteAsCustomer ? html`, <kbd>c</kbd>: write as the customer` : ""
    }</p></section>`
  }
  return html`<section class="thread" aria-label="Conversation">${conversationHeader(conversation)}
    <ol class="messages" tabindex="0" @scroll=${onMessagesScroll}>${threadItems(conversation)}</ol>
    ${composer(conversation)}
  </section>
  ${contactPanel(contact, backLink(`#/inbox/${conversation.id}`, "Back to the conversation"))}`
}
