// The composer of the open conversation, and its sends that have not ended.
import { html } from "lit-html"
import { segments } from "./components.mjs"
import { nameOf } from "./formats.mjs"
import { scrollToEnd } from "./messages.mjs"
import { attempt, call, context, state, update } from "./store.mjs"
import { templateDialog } from "./templateDialog.mjs"

const composer = () => /** @type {HTMLTextAreaElement | null} */ (document.querySelector(".composer textarea"))

export const clearComposer = () => {
  const field = composer()
  if (field !== null) field.value = ""
}

/** Reads the sends that have not ended, and drops those that became a message. */
export const settlePending = async (id) => {
  const open = state.pending.filter(({ conversation_id, status }) => conversation_id === id && status !== "failed")
  const read = await Promise.all(open.map((send) => call("sendStatus", { id: send.id })))
  const byId = new Map(read.map((send) => [send.id, send]))
  update({
    pending: state.pending
      .map((send) => ({ ...send, ...byId.get(send.id) }))
      .filter(({ status }) => status !== "sent")
  })
}

/** Sends a message, and shows its send until the message exists. */
const send = async (message, text) => {
  if (state.conversation === null) return
  const { id } = state.conversation
  update({ error: null })
  const sent = await call("send", { id, message })
  if (!state.pending.some((one) => one.id === sent.id)) update({ pending: [...state.pending, { ...sent, text }] })
  scrollToEnd()
  // It may have ended before it was in the list.
  await settlePending(id)
}

const submit = attempt(async (event) => {
  event.preventDefault()
  const field = composer()
  if (field === null || field.value.trim() === "" || state.conversation === null) return
  const text = field.value.trim()
  const { channel, contact } = state.conversation
  field.value = ""
  try {
    if (state.writeAsCustomer) {
      await call("writeAsCustomer", {
        channel_id: channel.id,
        from: contact.external_id,
        name: contact.display_name,
        text
      })
    } else await send({ type: "text", text }, text)
  } catch (error) {
    if (field.value === "") field.value = text
    throw error
  }
})

const onComposerKey = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) void submit(event)
  if (event.key === "Escape") event.target.blur()
}

/** Puts the cursor into the composer, as the organization or as the customer. */
export const focusComposer = (writeAsCustomer) => {
  update({ writeAsCustomer: writeAsCustomer && context.canWriteAsCustomer })
  composer()?.focus()
}

/** The senders of a message: the label, and whether it is the customer. */
const senders = [["Reply", false, "Key: r"], ["As the customer", true, "Key: c"]]

export const compose = (conversation) =>
  html`<form class="composer ${state.writeAsCustomer ? "customer" : ""}" @submit=${submit}>
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
        templateDialog({
          channel_id: conversation.channel.id,
          onSend: (template, text) => send({ type: "template", template }, text)
        })}>Template</button>`
  }
    <span class="hint faint">Enter to send, Shift+Enter for a new line</span>
    <button class="primary">Send</button>
  </div>
</form>`
