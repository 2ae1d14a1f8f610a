// One conversation: its messages, pending sends, and the composer.
import { html } from "lit-html"
import { details } from "./contact.mjs"
import { templateDialog } from "./dialogs.mjs"
import { follows } from "./statuses.mjs"
import { attempt, call, channelName, clock, context, nameOf, segments, spaced, state, update } from "./store.mjs"

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

const messagesElement = () => document.querySelector(".messages")
const composer = () => /** @type {HTMLTextAreaElement | null} */ (document.querySelector(".composer textarea"))

/** Scrolls to the end after the changes are drawn. */
const scrollToEnd = () => requestAnimationFrame(() => requestAnimationFrame(() => messagesElement()?.scrollTo(0, 1e9)))

const isAtEnd = () => {
  const element = messagesElement()
  return element === null || element.scrollHeight - element.scrollTop - element.clientHeight < 80
}

export const openThread = async (conversation) => {
  const isOther = conversation.id !== state.conversation?.id
  update({ conversation, ...isOther ? { messages: [], olderCursor: null, contact: null } : {} })
  const field = composer()
  if (isOther && field !== null) field.value = ""
  const [{ data, next_cursor }, contact] = await Promise.all([
    call("messages", { id: conversation.id }),
    call("contact", { id: conversation.contact.id })
  ])
  if (state.conversation?.id !== conversation.id) return
  update({ messages: data.toReversed(), olderCursor: next_cursor, contact })
  scrollToEnd()
}

/** Reads the sends that have not ended, and drops those that became a message. */
const settlePending = async (id) => {
  const open = state.pending.filter(({ conversation_id, status }) => conversation_id === id && status !== "failed")
  const read = await Promise.all(open.map((send) => call("sendStatus", { id: send.id })))
  const byId = new Map(read.map((send) => [send.id, send]))
  update({
    pending: state.pending
      .map((send) => ({ ...send, ...byId.get(send.id) }))
      .filter(({ status }) => status !== "sent")
  })
}

const isPicture = ({ kind }) => kind === "image" || kind === "sticker"

/** Keeps the link of a shown picture: each read returns a new link, and the browser would load the picture again. */
const withLink = (message, before) =>
  before?.media?.url && isPicture(before.media) ? { ...message, media: before.media } : message

/** Reads the newest messages of the open conversation. */
export const refreshThread = async () => {
  const id = state.conversation?.id
  if (id === undefined) return
  const wasAtEnd = isAtEnd()
  const [{ data, next_cursor }] = await Promise.all([call("messages", { id }), settlePending(id)])
  if (state.conversation?.id !== id) return
  const known = new Map(state.messages.map((message) => [message.id, message]))
  const newest = data.map((message) => withLink(message, known.get(message.id))).toReversed()
  const isConnected = newest.some((message) => known.has(message.id))
  for (const message of newest) known.delete(message.id)
  update(isConnected ? { messages: [...known.values(), ...newest] } : { messages: newest, olderCursor: next_cursor })
  if (wasAtEnd) scrollToEnd()
}

const loadOlder = attempt(async () => {
  const { conversation, olderCursor } = state
  const element = messagesElement()
  if (conversation === null || olderCursor === null || element === null || element.scrollTop > 200) return
  update({ olderCursor: null })
  const before = element.scrollHeight - element.scrollTop
  const { data, next_cursor } = await call("messages", { id: conversation.id, cursor: olderCursor })
  if (state.conversation?.id !== conversation.id) return
  update({ messages: [...data.toReversed(), ...state.messages], olderCursor: next_cursor })
  requestAnimationFrame(() => requestAnimationFrame(() => element.scrollTo(0, element.scrollHeight - before)))
})

/** Updates the check marks of a message, without reading it again. */
export const applyStatus = ({ message_id, status }) =>
  update({
    messages: state.messages.map((message) =>
      message.id === message_id && follows(status, message.status) ? { ...message, status } : message
    )
  })

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
    if (state.isCustomer) {
      await call("write", { channel_id: channel.id, from: contact.external_id, name: contact.display_name, text })
    } else await send({ type: "text", text }, text)
  } catch (error) {
    if (field.value === "") field.value = text
    throw error
  }
})

const icons = { queued: "◷", sending: "◷", unknown: "?", sent: "✓", delivered: "✓✓", read: "✓✓", failed: "!" }

const checks = (status) =>
  html`<span class="checks ${status}" role="img" aria-label=${status} title=${status}>${icons[status]}</span>`

const media = ({ filename, kind, url }) => {
  const name = filename ?? kind
  if (url === null) return html`<p class="file">${name}: not stored</p>`
  if (isPicture({ kind })) return html`<img src=${url} alt=${name} loading="lazy">`
  return html`<a class="file" href=${url} target="_blank" rel="noreferrer">${name}</a>`
}

const bubble = (message) => {
  const { created_at, deleted_at, direction, edited_at, sender, status, text, type } = message
  return html`<li class="bubble ${direction}">
    ${message.media === null ? "" : media(message.media)}
    ${
    deleted_at !== null
      ? html`<p class="faint">Deleted</p>`
      : text === null
      ? (message.media === null ? html`<p class="faint">${spaced(type)}</p>` : "")
      : html`<p>${text}</p>`
  }
    <footer>${direction === "outbound" && sender.name ? html`<span>${sender.name}</span>` : ""}
      ${edited_at === null ? "" : html`<span>edited</span>`}
      <time>${clock(created_at)}</time>${direction === "outbound" ? checks(status) : ""}</footer>
  </li>`
}

const pendingBubble = ({ failure_reason, status, text }) =>
  html`<li class="bubble outbound pending ${status}">
  <p>${text}</p><footer><span>${failure_reason === null ? status : `Failed: ${spaced(failure_reason)}`}</span>${
    checks(status)
  }</footer>
</li>`

const dayOf = (at) => new Date(at).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" })

const bubbles = () =>
  state.messages.map((message, index) => {
    const day = dayOf(message.created_at)
    const isNewDay = index === 0 || day !== dayOf(state.messages[index - 1]?.created_at ?? 0)
    return html`${isNewDay ? html`<li class="day">${day}</li>` : ""}${bubble(message)}`
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

const onComposerKey = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) void submit(event)
  if (event.key === "Escape") event.target.blur()
}

/** Puts the cursor into the composer, as the organization or as the customer. */
export const focusComposer = (isCustomer) => {
  update({ isCustomer: isCustomer && context.canWrite })
  composer()?.focus()
}

/** The senders of a message: the label, and whether it is the customer. */
const writers = [["Reply", false, "Key: r"], ["As the customer", true, "Key: c"]]

const compose = (conversation) =>
  html`<form class="composer ${state.isCustomer ? "customer" : ""}" @submit=${submit}>
  ${context.canWrite ? segments("Write as", writers, state.isCustomer, focusComposer) : ""}
  <textarea rows="2" aria-label="Message" placeholder=${
    state.isCustomer
      ? `Write as ${nameOf(conversation.contact)}…` :
      "Write a reply…"
  } @keydown=${onComposerKey}></textarea>
  <div class="actions">
    ${
    state.isCustomer || conversation.channel.type !== "phone_messaging" ?
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

/** The open conversation with its contact. */
export const thread = () => {
  const { contact, conversation } = state
  if (conversation === null) {
    return html`<section class="thread none"><p class="empty">Select a conversation.<br>
      <kbd>j</kbd>/<kbd>k</kbd>: move, <kbd>r</kbd>: reply${
      context.canWrite ? html`, <kbd>c</kbd>: write as the customer` : ""
    }</p></section>`
  }
  const pending = state.pending.filter(({ conversation_id }) => conversation_id === conversation.id)
  return html`<section class="thread" aria-label="Conversation">${header(conversation)}
    <ol class="messages" aria-live="polite" tabindex="0" @scroll=${loadOlder}>${bubbles()}${
    pending.map(pendingBubble)
  }</ol>
    ${compose(conversation)}
  </section>${contact === null ? html`<aside class="details"></aside>` : details(contact)}`
}
