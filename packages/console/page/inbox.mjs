// The list of conversations: pages by cursor, of which only the visible rows are in the document.
import { html } from "lit-html"
import { collectIds } from "./changed.mjs"
import { segments } from "./components.mjs"
import { channelName, nameOf, timeOrDate } from "./formats.mjs"
import { withConversations } from "./lists.mjs"
import { attempt, call, state, update } from "./store.mjs"
import { avatar, openThread, refreshThread } from "./thread.mjs"
import { throttled } from "./throttle.mjs"

const row_height = 62
/** Rows that are drawn above and below the visible ones. */
const margin = 8

const listElement = () => document.querySelector(".conversations")

/** Inserts or replaces conversations, in the order of their activity. */
const merge = (read) => {
  const { conversations, cursor, filter } = state
  update({ conversations: withConversations(conversations, read, { filter, isComplete: cursor === null }) })
}

/** Identifies the list whose pages are loaded. A page of an earlier list that arrives late is dropped. */
let listing = {}

const loadMore = attempt(async () => {
  if (state.isLoading || state.cursor === null) return
  const { cursor, filter } = state
  const current = listing
  update({ isLoading: true })
  try {
    const page = await call("conversations", { status: filter, ...cursor === undefined ? {} : { cursor } })
    if (listing !== current) return
    const known = new Set(state.conversations.map(({ id }) => id))
    const conversations = [...state.conversations, ...page.data.filter(({ id }) => !known.has(id))]
    update({ conversations, cursor: page.next_cursor })
  } finally {
    if (listing === current) update({ isLoading: false })
  }
})

/** Starts the list again from its first page. */
export const loadConversations = async (filter = state.filter) => {
  listing = {}
  update({ filter, conversations: [], cursor: undefined, isLoading: false })
  await loadMore()
}

const changedIds = collectIds(async (ids) => {
  const isOpen = ids.includes(state.conversation?.id ?? "")
  // If many conversations changed, they are all at the top of the list, so one page contains them.
  if (ids.length > 5) merge((await call("conversations", { status: state.filter })).data)
  const single = ids.length > 5 ? (isOpen ? [state.conversation?.id] : []) : ids
  const read = await Promise.all(single.map((id) => call("conversation", { id })))
  merge(read)
  const conversation = read.find(({ id }) => id === state.conversation?.id)
  if (conversation !== undefined) update({ conversation })
  if (isOpen) await refreshThread()
})

const refreshSoon = throttled(attempt(async () => {
  try {
    await changedIds.readAll()
  } catch (error) {
    // Again in a second: no other event has to arrive.
    refreshSoon()
    throw error
  }
}))

/** Reads a conversation that has changed. */
export const touch = (id) => {
  changedIds.add(id)
  refreshSoon()
}

/** Opens a conversation, and puts it into the address. */
export const open = attempt(async (conversation) => {
  state.unread.delete(conversation.id)
  location.hash = `#/inbox/${conversation.id}`
  await openThread(conversation)
})

/** Moves the selection, and opens the selected conversation. */
export const move = (step) => {
  const at = state.conversations.findIndex(({ id }) => id === state.conversation?.id)
  const next = state.conversations[Math.max(0, at + step)]
  if (next === undefined) return
  const list = listElement()
  const top = state.conversations.indexOf(next) * row_height
  if (list !== null) {
    list.scrollTop = Math.min(top, Math.max(list.scrollTop, top - list.clientHeight + row_height))
  }
  void open(next)
}

const onScroll = () => {
  const list = listElement()
  if (list !== null && list.scrollHeight - list.scrollTop - list.clientHeight < 20 * row_height) void loadMore()
  update()
}

const row = (conversation, index) => {
  const { channel, contact, id, last_activity_at, last_activity_preview, status } = conversation
  const isSelected = id === state.conversation?.id
  const isUnread = state.unread.has(id)
  return html`<li role="option" id="c-${id}" aria-selected=${isSelected} aria-posinset=${index + 1}
    aria-setsize=${state.cursor === null ? state.conversations.length : -1}
    class=${isUnread ? "unread" : ""} .style=${`transform: translateY(${index * row_height}px)`}
    @click=${() => open(conversation)}>
    ${avatar(nameOf(contact))}
    <span class="who">${nameOf(contact)}</span><time>${timeOrDate(last_activity_at)}</time>
    <span class="preview">${last_activity_preview ?? "No messages yet"}</span>
    ${
    isUnread ?
      html`<span class="dot" title="New message"></span>` :
      html`<span class="chip">${status === "closed" ? "Closed" : channelName[channel.type]}</span>`
  }
  </li>`
}

const onKey = (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  move(Math.min(step, state.conversations.length - 1))
}

const filters = ["open", "closed", "all"].map((filter) => [filter, filter])

/** The list, with its filter. */
export const list = (newMessage) => {
  const element = listElement()
  const first = Math.max(0, Math.floor((element?.scrollTop ?? 0) / row_height) - margin)
  const count = Math.ceil((element?.clientHeight ?? 900) / row_height) + 2 * margin
  const rows = state.conversations.slice(first, first + count)
  return html`<section class="list" aria-label="Conversations">
    <header><h1>Inbox</h1>${newMessage}</header>
    ${segments("Filter", filters, state.filter, loadConversations)}
    <ul class="conversations" role="listbox" tabindex="0" aria-label="Conversations"
      aria-activedescendant=${state.conversation === null ? "" : `c-${state.conversation.id}`}
      @scroll=${onScroll} @keydown=${onKey}>
      <li class="space" role="presentation" .style=${`height: ${state.conversations.length * row_height}px`}></li>
      ${rows.map((conversation, index) => row(conversation, first + index))}
    </ul>
    ${
    state.conversations.length > 0 || state.isLoading ?
      "" :
      html`<p class="empty">No ${state.filter === "all" ? "" : state.filter} conversations.</p>`
  }
  </section>`
}
