// Reads the list of conversations: page by page, and those that have changed.
import { refreshing, showingErrors } from "../actions.mjs"
import { callOperation } from "../server.mjs"
import { isVisible, state, updateState } from "../store.mjs"
import { announceAfter } from "./announcements.mjs"
import { collectIds } from "./collectIds.mjs"
import { matchesQuery, withConversations } from "./lists.mjs"
import { refreshThread, updateIfOpen } from "./openConversation.mjs"
import { unknownOf, withMessage, withStatuses } from "./waiting.mjs"

/** @import { Conversation } from "@messaging-crm/client" */

/** Returns the conversations whose newest messages have to be read. */
const unreadNewest = () => isVisible("inbox") ? unknownOf(state.newest, state.conversations) : []

/** Reads the newest messages at the top of the list whose direction is not known. */
const readNewestSoon = refreshing(async () => {
  const unknown = unreadNewest()
  if (unknown.length === 0) return
  const messages = await callOperation("newestMessages", { ids: unknown.map(({ id }) => id) })
  const newest = messages.reduce((known, { created_at, direction, id }) => {
    const { last_activity_at = "" } = unknown.find((conversation) => conversation.id === id) ?? {}
    // The newest message can have been removed.
    const at = created_at === null || created_at < last_activity_at ? last_activity_at : created_at
    return withMessage(known, id, { at, isInbound: direction === "inbound" && at === created_at })
  }, state.newest)
  updateState({ newest })
})

/** @param {ReadonlyArray<Conversation>} conversations */
const noteStatuses = (conversations) => {
  updateState({ newest: withStatuses(state.newest, conversations) })
  // A read without conversations would delay the next one by two seconds.
  if (unreadNewest().length > 0) readNewestSoon()
}

/**
 * Inserts or replaces conversations, in the order of their activity.
 *
 * @param {ReadonlyArray<Conversation>} updates
 */
export const mergeConversations = (updates) => {
  const { conversations, cursor, filter, query } = state
  const matches = (/** @type {Conversation} */ conversation) => matchesQuery(conversation, query)
  const list = { filter, isComplete: cursor === null, matches }
  updateState({ conversations: withConversations(conversations, updates, list) })
  noteStatuses(updates)
}

/** Identifies the list whose pages are loaded. A page of an earlier list that arrives late is dropped. */
let currentList = {}

const readPage = async () => {
  if (state.isLoading || state.cursor === null) return
  const { cursor, filter, query } = state
  const list = currentList
  updateState({ isLoading: true })
  try {
    const page = await callOperation("conversations", {
      ...query,
      status: filter,
      ...cursor === undefined ? {} : { cursor }
    })
    if (list !== currentList) return
    const known = new Set(state.conversations.map(({ id }) => id))
    const conversations = [
      ...state.conversations,
      ...page.data.filter((/** @type {Conversation} */ { id }) => !known.has(id))
    ]
    updateState({ conversations, cursor: page.next_cursor })
    noteStatuses(page.data)
  } finally {
    if (list === currentList) updateState({ isLoading: false })
  }
}

const readFirstPageSoon = refreshing(async () => {
  if (state.cursor === undefined) await readPage()
})

/** Reads the next page of the list. The first page is read until that succeeds. */
export const loadMoreConversations = showingErrors(async () => {
  try {
    await readPage()
  } catch (error) {
    if (state.cursor === undefined) readFirstPageSoon()
    throw error
  }
})

/** Starts the list again from its first page. */
export const loadConversations = async (filter = state.filter, query = state.query) => {
  currentList = {}
  updateState({ filter, query, conversations: [], cursor: undefined, isLoading: false })
  await loadMoreConversations()
}

/** The maximum number of changed conversations that are read one by one. */
const single_reads_max = 5

/**
 * Reads changed conversations into the list, and returns those that were read.
 *
 * @param {ReadonlyArray<string>} ids
 * @returns {Promise<ReadonlyArray<Conversation>>}
 */
const readChanged = async (ids) => {
  const list = currentList
  // Most changed conversations are at the top of the list. Others have left it, or more have changed than fit on a page.
  const page = ids.length > 1
    ? await callOperation("conversations", { ...state.query, status: state.filter })
    : { data: [], next_cursor: null }
  const found = new Set(page.data.map((/** @type {Conversation} */ { id }) => id))
  const missing = ids.filter((id) => !found.has(id))
  const isRestart = missing.length > single_reads_max
  const single = isRestart ? missing.filter((id) => id === state.conversation?.id) : missing
  const updates = await Promise.all(single.map((id) => callOperation("conversation", { id })))
  if (isRestart && list === currentList) {
    currentList = {}
    updateState({ conversations: page.data, cursor: page.next_cursor, isLoading: false })
  }
  return [...page.data, ...updates]
}

const changedIds = collectIds(async (ids) => {
  const hasOpen = ids.includes(state.conversation?.id ?? "")
  await announceAfter(ids, async () => {
    const conversations = await readChanged(ids)
    mergeConversations(conversations)
    for (const conversation of conversations) updateIfOpen(conversation.id, { conversation })
    return conversations
  })
  if (hasOpen) await refreshThread()
})

const refreshSoon = refreshing(changedIds.readAll)

/** Reads the conversations that have changed, if the inbox is visible. */
export const refreshInbox = () => {
  if (isVisible("inbox")) refreshSoon()
}

/**
 * Reads a conversation that has changed.
 *
 * @param {string} id
 */
export const refreshConversation = (id) => {
  changedIds.add(id)
  refreshInbox()
}
