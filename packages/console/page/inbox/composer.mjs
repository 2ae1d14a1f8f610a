// The composer of the open conversation.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { segments } from "../elements/components.mjs"
import { nameOf } from "../elements/formats.mjs"
import { callOperation, context } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { scrollToEnd } from "./messages.mjs"
import { isOpen } from "./openConversation.mjs"
import { settlePendingSends } from "./pendingSends.mjs"
import { openTemplateDialog } from "./templateDialog.mjs"

/** @import { Conversation, SendMessage } from "@messaging-crm/client" */

const textField = () => /** @type {HTMLTextAreaElement | null} */ (document.querySelector(".composer textarea"))

const settleShowingErrors = showingErrors(settlePendingSends)

/**
 * Sends a message in a conversation, and shows its send until the message exists.
 *
 * @param {Conversation} conversation
 * @param {SendMessage} message
 * @param {string} text
 */
const sendMessage = async ({ id }, message, text) => {
  updateState({ error: null })
  const accepted = await callOperation("send", { id, message })
  if (!state.pending.some((pending) => pending.id === accepted.id)) {
    updateState({ pending: [...state.pending, { ...accepted, text }] })
  }
  if (isOpen(id)) scrollToEnd()
  // The send can settle before it is in the list. A failed read must not look like a failed send, which is repeated.
  await settleShowingErrors(id)
}

/** Sends the text of the composer in a conversation. If that fails while it is open, the text returns to the composer. */
const submitMessage = showingErrors(async (/** @type {Conversation} */ conversation) => {
  const field = textField()
  if (field === null || field.value.trim() === "") return
  const text = field.value.trim()
  const { channel, contact, id } = conversation
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
    } else await sendMessage(conversation, { type: "text", text }, text)
  } catch (error) {
    if (isOpen(id) && field.value === "") field.value = text
    throw error
  }
})

/** @param {KeyboardEvent & { target: HTMLTextAreaElement }} event */
const onComposerKey = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault()
    event.target.form?.requestSubmit()
  }
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
export const composer = (conversation) => {
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault()
    void submitMessage(conversation)
  }
  return html`<form class="composer ${state.writeAsCustomer ? "customer" : ""}" @submit=${onSubmit}>
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
          conversation,
          onSend: (template, text) => sendMessage(conversation, { type: "template", template }, text)
        })}>Template</button>`
  }
    <span class="hint faint">Enter to send, Shift+Enter for a new line</span>
    <button class="primary">Send</button>
  </div>
</form>`
}
