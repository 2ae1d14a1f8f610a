// The composer of the open conversation.
import { html } from "lit-html"
import { errorMessageOf, showError } from "../actions.mjs"
import { segments } from "../elements/components.mjs"
import { nameOf } from "../elements/formats.mjs"
import { hasTemplates } from "../elements/networks.mjs"
import { callOperation, context } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { isOpen } from "./openConversation.mjs"
import { replyWindowOf } from "./replyWindow.mjs"
import { openTemplates, sendMessage } from "./sending.mjs"

/** @import { Conversation } from "@messaging-crm/client" */

const textField = () => /** @type {HTMLTextAreaElement | null} */ (document.querySelector(".composer textarea"))

/**
 * Submits a text as the organization, or as the customer.
 *
 * @param {Conversation} conversation
 * @param {string} text
 */
const submitText = async (conversation, text) => {
  const { channel, contact } = conversation
  if (!state.writeAsCustomer) return sendMessage(conversation, { type: "text", text }, text)
  if (contact.external_id === null) throw new Error("The contact’s data was erased, so it cannot write a message.")
  await callOperation("writeAsCustomer", {
    channel_id: channel.id,
    from: contact.external_id,
    name: contact.display_name,
    text
  })
}

/**
 * Submits the text of the composer. If that fails while its conversation is open, the text returns to the composer, which
 * shows the error.
 *
 * @param {Conversation} conversation
 */
const submitMessage = async (conversation) => {
  const field = textField()
  if (field === null || field.value.trim() === "") return
  const text = field.value.trim()
  field.value = ""
  updateState({ composerError: null })
  try {
    await submitText(conversation, text)
  } catch (error) {
    const message = errorMessageOf(error)
    if (!isOpen(conversation.id)) {
      return showError(`The message to ${nameOf(conversation.contact)} was not sent. ${message}`)
    }
    if (field.value === "") field.value = text
    updateState({ composerError: message })
  }
}

/** @param {KeyboardEvent & { target: HTMLTextAreaElement }} event */
const onComposerKey = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault()
    event.target.form?.requestSubmit()
  }
  if (event.key === "Escape") event.target.blur()
}

/** Puts the cursor onto the button for templates if no text can be sent: a hidden field cannot have the focus. */
const focusButtonIfHidden = () => {
  const field = textField()
  field?.focus()
  if (document.activeElement === field) return
  const button = /** @type {HTMLElement | null} */ (document.querySelector(".composer .actions button"))
  button?.focus()
}

/**
 * Puts the cursor into the composer, as the organization or as the customer.
 *
 * @param {boolean} writeAsCustomer
 */
export const focusComposer = (writeAsCustomer) => {
  updateState({ writeAsCustomer: writeAsCustomer && context.canWriteAsCustomer, composerError: null })
  textField()?.focus()
  requestAnimationFrame(focusButtonIfHidden)
}

/**
 * Puts a text into the composer, to be changed and sent.
 *
 * @param {string} text
 */
export const editText = (text) => {
  const field = textField()
  if (field !== null) field.value = text
  focusComposer(false)
}

/** @type {ReadonlyArray<readonly [label: string, isCustomer: boolean, title: string]>} */
const senders = [["Reply", false, "Key: r"], ["As the customer", true, "Key: c"]]

const clearComposerError = () => {
  if (state.composerError !== null) updateState({ composerError: null })
}

/**
 * Draws the composer of a conversation.
 *
 * @param {Conversation} conversation
 */
export const composer = (conversation) => {
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault()
    void submitMessage(conversation)
  }
  const { writeAsCustomer } = state
  const replyWindow = replyWindowOf(conversation)
  const canWrite = writeAsCustomer || replyWindow.state === "open" || replyWindow.state === "closing"
  const canSendTemplate = !writeAsCustomer && replyWindow.state !== "erased" && hasTemplates(conversation.channel)
  return html`<form class="composer ${
    writeAsCustomer ? "customer" : ""
  }" @submit=${onSubmit} @input=${clearComposerError}>
  ${context.canWriteAsCustomer ? segments("Write as", senders, writeAsCustomer, focusComposer) : ""}
  ${writeAsCustomer ? "" : html`<p class="window ${replyWindow.state}" id="reply-window">${replyWindow.text}</p>`}
  <textarea rows="2" aria-label="Message" aria-describedby="reply-window" ?hidden=${!canWrite} placeholder=${
    writeAsCustomer ? `Write as ${nameOf(conversation.contact)}…` : "Write a reply…"
  } @keydown=${onComposerKey}></textarea>
  ${state.composerError === null ? "" : html`<p class="error" role="alert">${state.composerError}</p>`}
  <div class="actions">
    ${
    canSendTemplate
      ? html`<button type="button" class=${canWrite ? "" : "primary"} @click=${() => openTemplates(conversation)}>${
        canWrite ? "Template" : "Choose a template"
      }</button>`
      : ""
  }
    ${
    canWrite
      ? html`<span class="hint faint">Enter: send, Shift+Enter: new line</span>
        <button class="primary">Send</button>`
      : ""
  }
  </div>
</form>`
}
