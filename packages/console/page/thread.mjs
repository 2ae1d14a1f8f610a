// The open conversation: reads its messages, and draws it with its contact.
import { html } from "lit-html"
import { clearComposer, compose, settlePending } from "./composer.mjs"
import { contactPanel } from "./contact.mjs"
import { channelName, nameOf } from "./formats.mjs"
import { withNewest } from "./lists.mjs"
import { bubbles, isAtEnd, messagesElement, pendingBubble, scrollToEnd } from "./messages.mjs"
import { follows } from "./statuses.mjs"
import { attempt, call, context, state, update } from "./store.mjs"

/** The initials of a name, or the last digits of a number. */
const initialsOf = (name) =>
  /\p{L}/u.test(name)
    ? name.replace(/[^\p{L}\p{N} ]/gu, " ").trim().split(/\s+/).slice(0, 2).map(([first]) => first).join("")
      .toUpperCase()
    : name.slice(-2)

/** A color of one of eight people, from the name. */
const hueOf = (name) => Array.from(name).reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 8, 7)

export const avatar = (name) =>
  html`<span class="avatar hue-${hueOf(name)}" aria-hidden="true">${initialsOf(name)}</span>`

/** Shows a conversation, and reads its newest messages and its contact. */
export const openThread = async (conversation) => {
  const isOther = conversation.id !== state.conversation?.id
  update({ conversation, ...isOther ? { messages: [], olderCursor: null, contact: null } : {} })
  if (isOther) clearComposer()
  const [{ data, next_cursor }, contact] = await Promise.all([
    call("messages", { id: conversation.id }),
    call("contact", { id: conversation.contact.id })
  ])
  if (state.conversation?.id !== conversation.id) return
  update({ messages: data.toReversed(), olderCursor: next_cursor, contact })
  scrollToEnd()
}

/** Reads the newest messages of the open conversation. */
export const refreshThread = async () => {
  const id = state.conversation?.id
  if (id === undefined) return
  const wasAtEnd = isAtEnd()
  const [{ data, next_cursor }] = await Promise.all([call("messages", { id }), settlePending(id)])
  if (state.conversation?.id !== id) return
  const { hasGap, messages } = withNewest(state.messages, data.toReversed())
  update({ messages, ...hasGap ? { olderCursor: next_cursor } : {} })
  if (wasAtEnd) scrollToEnd()
}

/** Reads the page before the shown messages, if the view is near their start. While it is read, there is no cursor. */
export const loadOlder = attempt(async () => {
  const { conversation, olderCursor } = state
  const element = messagesElement()
  if (conversation === null || olderCursor === null || element === null || element.scrollTop > 200) return
  update({ olderCursor: null })
  const before = element.scrollHeight - element.scrollTop
  const isCurrent = () => state.conversation?.id === conversation.id && state.olderCursor === null
  try {
    const { data, next_cursor } = await call("messages", { id: conversation.id, cursor: olderCursor })
    if (!isCurrent()) return
    update({ messages: [...data.toReversed(), ...state.messages], olderCursor: next_cursor })
  } catch (error) {
    if (isCurrent()) update({ olderCursor })
    throw error
  }
  requestAnimationFrame(() => requestAnimationFrame(() => element.scrollTo(0, element.scrollHeight - before)))
})

/** Updates the check marks of a message, without reading it again. */
export const applyStatus = ({ message_id, status }) =>
  update({
    messages: state.messages.map((message) =>
      message.id === message_id && follows(status, message.status) ? { ...message, status } : message
    )
  })

const change = (name, more = {}) =>
  attempt(async () => {
    if (state.conversation !== null) update({ conversation: await call(name, { id: state.conversation.id, ...more }) })
  })

const assignTo = (event) =>
  change("assign", { assigned_user_id: event.target.value === "" ? null : event.target.value })()

const header = ({ assigned_user_id, channel, contact, status }) =>
  html`<header>
  ${avatar(nameOf(contact))}
  <div><h2>${nameOf(contact)}</h2><p class="faint">${channelName[channel.type]} · ${contact.external_id ?? ""}</p></div>
  <label class="assign"><span class="hidden">Assigned to</span>
    <select @change=${assignTo}>
      <option value="" .selected=${assigned_user_id === null}>Unassigned</option>
      ${
    state.setup.members.map(({ id, name }) =>
      html`<option value=${id} .selected=${id === assigned_user_id}>${name}</option>`
    )
  }
    </select></label>
  <button @click=${change(status === "open" ? "close" : "reopen")}>${status === "open" ? "Close" : "Reopen"}</button>
</header>`

/** The open conversation with its contact. */
export const thread = () => {
  const { contact, conversation } = state
  if (conversation === null) {
    return html`<section class="thread none"><p class="empty">Select a conversation.<br>
      <kbd>j</kbd>/<kbd>k</kbd>: move, <kbd>r</kbd>: reply${
      context.canWriteAsCustomer ? html`, <kbd>c</kbd>: write as the customer` : ""
    }</p></section>`
  }
  const pending = state.pending.filter(({ conversation_id }) => conversation_id === conversation.id)
  return html`<section class="thread" aria-label="Conversation">${header(conversation)}
    <ol class="messages" aria-live="polite" tabindex="0" @scroll=${loadOlder}>${bubbles()}${
    pending.map(pendingBubble)
  }</ol>
    ${compose(conversation)}
  </section>${contact === null ? html`<aside class="details"></aside>` : contactPanel(contact)}`
}
