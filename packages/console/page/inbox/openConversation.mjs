// Reads the open conversation: its messages and its contact.
import { refreshing, showingErrors } from "../actions.mjs"
import { callOperation } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { withNewest } from "./lists.mjs"
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
  const [{ data, next_cursor }, contact] = await Promise.all([
    callOperation("messages", { id: conversation.id }),
    callOperation("contact", { id: conversation.contact.id })
  ])
  if (state.conversation?.id !== conversation.id) return
  updateState({ messages: data.toReversed(), olderCursor: next_cursor, contact })
}

/** Reads the newest messages of the open conversation. */
export const refreshThread = async () => {
  const id = state.conversation?.id
  if (id === undefined) return
  const [{ data, next_cursor }] = await Promise.all([callOperation("messages", { id }), settlePendingSends(id)])
  if (state.conversation?.id !== id) return
  const { hasGap, messages } = withNewest(state.messages, data.toReversed())
  updateState({ messages, ...hasGap ? { olderCursor: next_cursor } : {} })
}

/** Reads the contact of the open conversation. */
export const refreshContact = refreshing(async () => {
  const id = state.contact?.id
  if (id === undefined) return
  const contact = await callOperation("contact", { id })
  if (state.contact?.id === id) updateState({ contact })
})

/** Reads the page before the shown messages. While it is read, there is no cursor. */
export const loadOlderMessages = showingErrors(async () => {
  const { conversation, olderCursor } = state
  if (conversation === null || olderCursor === null) return
  updateState({ olderCursor: null })
  const isCurrent = () => state.conversation?.id === conversation.id && state.olderCursor === null
  try {
    const { data, next_cursor } = await callOperation("messages", { id: conversation.id, cursor: olderCursor })
    if (!isCurrent()) return
    updateState({ messages: [...data.toReversed(), ...state.messages], olderCursor: next_cursor })
  } catch (error) {
    if (isCurrent()) updateState({ olderCursor })
    throw error
  }
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
