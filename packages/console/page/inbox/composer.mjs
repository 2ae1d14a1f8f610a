// The composer of the open conversation.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { segments } from "../elements/components.mjs"
import { nameOf } from "../elements/formats.mjs"
import { callOperation, context } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { scrollToEnd } from "./messages.mjs"
import { settlePendingSends } from "./pendingSends.mjs"
import { openTemplateDialog } from "./templateDialog.mjs"

/** @import { Conversation, SendMessage } from "@messaging-crm/client" */

const textField = () => /** @type {HTMLTextAreaElement | null} */ (document.querySelector(".composer textarea"))

/** Removes the text from the composer. */
export const clearComposer = () => {
  const field = textField()
  if (field !== null) field.value = ""
}

/**
 * Sends a message, and shows its send until the message exists.
 *
 * @param {SendMessage} message
 * @param {string} text
 */
const sendMessage = async (message, text) => {
  if (state.conversation === null) return
  const { id } = state.conversation
  updateState({ error: null })
  const accepted = await callOperation("send", { id, message })
  if (!state.pending.some((pending) => pending.id === accepted.id)) {
    updateState({ pending: [...state.pending, { ...accepted, text }] })
  }
  scrollToEnd()
  // The send can settle before it is in the list.
  await settlePendingSends(id)
}

const submitMessage = showingErrors(async (/** @type {Event} */ event) => {
  event.preventDefault()
  const field = textField()
  if (field === null || field.value.trim() === "" || state.conversation === null) return
  const text = field.value.trim()
  const { channel, contact } = state.conversation
  field.value = ""
  try {
    if (state.writeAsCustomer) {
      if (contact.external_id === null) throw new Error("The contact was erased, so it cannot write a message.")
      await callOperation("writeAsCustomer", {
        channel_id: channel.id,
        from: contact.external_id,
        name: contact.display_name,
        text
      })
    } else await sendMessage({ type: "text", text }, text)
  } catch (error) {
    if (field.value === "") field.value = text
    throw error
  }
})

/** @param {KeyboardEvent & { target: HTMLTextAreaElement }} event */
const onComposerKey = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) void submitMessage(event)
  if (event.key === "Escape") event.target.blur()
}

/**
 * Puts the cursor into the composer, as the organization or as the customer.
 *
 * @param {boolean} writeAsCustomer
 */
export const focusComposer = (writeAsCustomer) => {
  updateState({ writeAsCustomer: writeAsCustomer && context.canWriteAsCustomer })
  textField()?.focus()
}

/** @type {ReadonlyArray<readonly [label: string, isCustomer: boolean, title: string]>} */
const senders = [["Reply", false, "Key: r"], ["As the customer", true, "Key: c"]]

/**
 * Draws the composer of a conversation.
 *
 * @param {Conversation} conversation
 */
export const composer = (conversation) =>
  html`<form class="composer ${state.writeAsCustomer ? "customer" : ""}" @submit=${submitMessage}>
  ${context.canWriteAsCustomer ? segments("Write as", senders, state.writeAsCustomer, focusComposer) : ""}
  <textarea rows="2" aria-label="Message" placeholder=${
    state.writeAsCustomer
      ? `Write as ${nameOf(conversation.contact)}…` :
      "Write a reply…"
  } @keydown=${onComposerKey}></textarea>
  <div class="actions">
    ${
    state.writeAsCustomer || conversation.channel.type !== "phone_messaging" ?
      "" :
      html`<button type="button" @click=${() =>
        openTemplateDialog({
          channel_id: conversation.channel.id,
          onSend: (template, text) => sendMessage({ type: "template", template }, text)
        })}>Template</button>`
  }
    <span class="hint faint">Enter to send, Shift+Enter for a new line</span>
    <button class="primary">Send</button>
  </div>
</form>`
