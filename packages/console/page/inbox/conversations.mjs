// Reads the list of conversations: page by page, and those that have changed.
import { throttled } from "../elements/throttle.mjs"
import { callOperation, showingErrors, state, updateState } from "../store.mjs"
import { collectIds } from "./collectIds.mjs"
import { withConversations } from "./lists.mjs"
import { refreshThread } from "./openConversation.mjs"

/** @import { Conversation } from "@messaging-crm/client" */

/**
 * Inserts or replaces conversations, in the order of their activity.
 *
 * @param {ReadonlyArray<Conversation>} updates
 */
const mergeConversations = (updates) => {
  const { conversations, cursor, filter } = state
  updateState({ conversations: withConversations(conversations, updates, { filter, isComplete: cursor === null }) })
}

/** Identifies the list whose pages are loaded. A page of an earlier list that arrives late is dropped. */
let currentList = {}

/** Reads the next page of the list. */
export const loadMoreConversations = showingErrors(async () => {
  if (state.isLoading || state.cursor === null) return
  const { cursor, filter } = state
  const list = currentList
  updateState({ isLoading: true })
  try {
    const page = await callOperation("conversations", { status: filter, ...cursor === undefined ? {} : { cursor } })
    if (list !== currentList) return
    const known = new Set(state.conversations.map(({ id }) => id))
    const conversations = [
      ...state.conversations,
      ...page.data.filter((/** @type {Conversation} */ { id }) => !known.has(id))
    ]
    updateState({ conversations, cursor: page.next_cursor })
  } finally {
    if (list === currentList) updateState({ isLoading: false })
  }
})

/** Starts the list again from its first page. */
export const loadConversations = async (filter = state.filter) => {
  currentList = {}
  updateState({ filter, conversations: [], cursor: undefined, isLoading: false })
  await loadMoreConversations()
}

const changedIds = collectIds(async (ids) => {
  const isOpen = ids.includes(state.conversation?.id ?? "")
  // If many conversations changed, they are all at the top of the list, so one page contains them.
  if (ids.length > 5) mergeConversations((await callOperation("conversations", { status: state.filter })).data)
  const single = ids.length > 5 ? (isOpen ? [state.conversation?.id] : []) : ids
  const updates = await Promise.all(single.map((id) => callOperation("conversation", { id })))
  mergeConversations(updates)
  const conversation = updates.find(({ id }) => id === state.conversation?.id)
  if (conversation !== undefined) updateState({ conversation })
  if (isOpen) await refreshThread()
})

const refreshSoon = throttled(showingErrors(async () => {
  try {
    await changedIds.readAll()
  } catch (error) {
    // Retries in a second, so that no other event has to arrive.
    refreshSoon()
    throw error
  }
}))

/**
 * Reads a conversation that has changed.
 *
 * @param {string} id
 */
export const refreshConversation = (id) => {
  changedIds.add(id)
  refreshSoon()
}
