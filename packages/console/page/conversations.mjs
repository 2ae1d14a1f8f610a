// Reads the list of conversations: page by page, and those that have changed.
import { collectIds } from "./collectIds.mjs"
import { withConversations } from "./lists.mjs"
import { refreshThread } from "./openConversation.mjs"
import { attempt, call, state, update } from "./store.mjs"
import { throttled } from "./throttle.mjs"

/** Inserts or replaces conversations, in the order of their activity. */
const merge = (updates) => {
  const { conversations, cursor, filter } = state
  update({ conversations: withConversations(conversations, updates, { filter, isComplete: cursor === null }) })
}

/** Identifies the list whose pages are loaded. A page of an earlier list that arrives late is dropped. */
let currentList = {}

/** Reads the next page of the list. */
export const loadMore = attempt(async () => {
  if (state.isLoading || state.cursor === null) return
  const { cursor, filter } = state
  const list = currentList
  update({ isLoading: true })
  try {
    const page = await call("conversations", { status: filter, ...cursor === undefined ? {} : { cursor } })
    if (list !== currentList) return
    const known = new Set(state.conversations.map(({ id }) => id))
    const conversations = [...state.conversations, ...page.data.filter(({ id }) => !known.has(id))]
    update({ conversations, cursor: page.next_cursor })
  } finally {
    if (list === currentList) update({ isLoading: false })
  }
})

/** Starts the list again from its first page. */
export const loadConversations = async (filter = state.filter) => {
  currentList = {}
  update({ filter, conversations: [], cursor: undefined, isLoading: false })
  await loadMore()
}

const changedIds = collectIds(async (ids) => {
  const isOpen = ids.includes(state.conversation?.id ?? "")
  // If many conversations changed, they are all at the top of the list, so one page contains them.
  if (ids.length > 5) merge((await call("conversations", { status: state.filter })).data)
  const single = ids.length > 5 ? (isOpen ? [state.conversation?.id] : []) : ids
  const updates = await Promise.all(single.map((id) => call("conversation", { id })))
  merge(updates)
  const conversation = updates.find(({ id }) => id === state.conversation?.id)
  if (conversation !== undefined) update({ conversation })
  if (isOpen) await refreshThread()
})

const refreshSoon = throttled(attempt(async () => {
  try {
    await changedIds.readAll()
  } catch (error) {
    // Retries in a second, so that no other event has to arrive.
    refreshSoon()
    throw error
  }
}))

/** Reads a conversation that has changed. */
export const touch = (id) => {
  changedIds.add(id)
  refreshSoon()
}
