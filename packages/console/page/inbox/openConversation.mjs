// Reads the open conversation: its messages and its contact.
import { refreshing, showingErrors } from "../actions.mjs"
import { callOperation } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { clearComposer } from "./composer.mjs"
import { withNewest } from "./lists.mjs"
import { isAtEnd, messagesElement, scrollToEnd } from "./messages.mjs"
import { settlePendingSends } from "./pendingSends.mjs"
import { follows } from "./statuses.mjs"

/** @import { Conversation, Message } from "@messaging-crm/client" */

/**
 * Shows a conversation, and reads its newest messages and its contact.
 *
 * @param {Conversation} conversation
 */
export const openThread = async (conversation) => {
  const isOther = conversation.id !== state.conversation?.id
  updateState({ conversation, ...isOther ? { messages: [], olderCursor: null, contact: null } : {} })
  if (isOther) clearComposer()
  const [{ data, next_cursor }, contact] = await Promise.all([
    callOperation("messages", { id: conversation.id }),
    callOperation("contact", { id: conversation.contact.id })
  ])
  if (state.conversation?.id !== conversation.id) return
  updateState({ messages: data.toReversed(), olderCursor: next_cursor, contact })
  scrollToEnd()
}

/** Reads the newest messages of the open conversation. */
export const refreshThread = async () => {
  const id = state.conversation?.id
  if (id === undefined) return
  const wasAtEnd = isAtEnd()
  const [{ data, next_cursor }] = await Promise.all([callOperation("messages", { id }), settlePendingSends(id)])
  if (state.conversation?.id !== id) return
  const { hasGap, messages } = withNewest(state.messages, data.toReversed())
  updateState({ messages, ...hasGap ? { olderCursor: next_cursor } : {} })
  if (wasAtEnd) scrollToEnd()
}

/** Reads the contact of the open conversation. */
export const refreshContact = refreshing(async () => {
  const id = state.contact?.id
  if (id === undefined) return
  const contact = await callOperation("contact", { id })
  if (state.contact?.id === id) updateState({ contact })
})

/** Reads the page before the shown messages, if the view is near their start. While it is read, there is no cursor. */
export const loadOlderMessages = showingErrors(async () => {
  const { conversation, olderCursor } = state
  const element = messagesElement()
  if (conversation === null || olderCursor === null || element === null || element.scrollTop > 200) return
  updateState({ olderCursor: null })
  const before = element.scrollHeight - element.scrollTop
  const isCurrent = () => state.conversation?.id === conversation.id && state.olderCursor === null
  try {
    const { data, next_cursor } = await callOperation("messages", { id: conversation.id, cursor: olderCursor })
    if (!isCurrent()) return
    updateState({ messages: [...data.toReversed(), ...state.messages], olderCursor: next_cursor })
  } catch (error) {
    if (isCurrent()) updateState({ olderCursor })
    throw error
  }
  requestAnimationFrame(() => requestAnimationFrame(() => element.scrollTo(0, element.scrollHeight - before)))
})

/**
 * Updates the check marks of a message, without reading it again.
 *
 * @param {{ readonly message_id: string, readonly status: Message["status"] }} change
 */
export const applyMessageStatus = ({ message_id, status }) =>
  updateState({
    messages: state.messages.map((message) =>
      message.id === message_id && follows(status, message.status) ? { ...message, status } : message
    )
  })
