// Reads and changes the open conversation and its contact.
import { refreshing, showingErrors } from "../actions.mjs"
import { callOperation } from "../server.mjs"
import { isVisible, state, updateState } from "../store.mjs"
import { withNewest } from "./lists.mjs"
import { follows } from "./statuses.mjs"
import { hasUnsettled, readUnsent } from "./unsent.mjs"

/** @import { Contact, Conversation, Message, UpdateContact } from "@messaging-crm/client" */

/**
 * Returns whether a contact is shown without a conversation.
 *
 * @param {string} id
 */
export const isContactShown = (id) => state.conversation === null && id === state.contact?.id

/**
 * Returns whether an ID is that of the open conversation or of the shown contact.
 *
 * @param {string} id
 */
export const isOpen = (id) =>
  id === state.conversation?.id || id === state.conversation?.contact.id || isContactShown(id)

/**
 * Returns whether a contact was read before the shown one was changed.
 *
 * @param {Contact | null | undefined} contact
 */
const isOutdated = (contact) =>
  contact?.id === state.contact?.id && (contact?.updated_at ?? "") < (state.contact?.updated_at ?? "")

/**
 * Changes the state if a conversation or a contact is still open. Every response about it must change the state with
 * this function, because another one can be opened before the response arrives, and an earlier response can arrive later.
 *
 * @param {string} id The ID of the conversation or of the contact.
 * @param {Parameters<typeof updateState>[0]} change
 */
export const updateIfOpen = (id, change) => {
  if (isOpen(id)) updateState(isOutdated(change?.contact) ? { ...change, contact: state.contact } : change)
}

const noThread = { messages: [], olderCursor: null, unsent: [], composerError: null, contact: null }

/**
 * Shows a conversation, and reads its newest messages, its contact, and its unsent sends.
 *
 * @param {Conversation} conversation
 */
export const openThread = async (conversation) => {
  const { contact: { id: contact_id }, id } = conversation
  updateState({ conversation, ...id === state.conversation?.id ? {} : noThread })
  const [{ data, next_cursor }, contact, unsent] = await Promise.all([
    callOperation("messages", { id }),
    callOperation("contact", { id: contact_id }),
    readUnsent(id)
  ])
  updateIfOpen(id, { messages: data.toReversed(), olderCursor: next_cursor, contact, unsent })
}

/**
 * Shows a contact without a conversation.
 *
 * @param {Contact} contact
 */
export const openContact = (contact) => updateState({ conversation: null, ...noThread, contact })

/** Reads the newest messages of the open conversation, and its unsent sends if one of them can change. */
export const refreshThread = async () => {
  const id = state.conversation?.id
  if (id === undefined) return
  const [{ data, next_cursor }, unsent] = await Promise.all([
    callOperation("messages", { id }),
    hasUnsettled() ? readUnsent(id) : undefined
  ])
  const { hasGap, messages } = withNewest(state.messages, data.toReversed())
  // A message replaces its send in one change.
  updateIfOpen(id, {
    messages,
    ...hasGap ? { olderCursor: next_cursor } : {},
    ...unsent === undefined ? {} : { unsent }
  })
}

/** Reads the unsent sends again, because no event reports that one has become `unknown`. */
export const refreshUnsent = refreshing(async () => {
  if (isVisible("inbox") && hasUnsettled()) await refreshThread()
})

/** Reads the shown contact. */
export const refreshContact = refreshing(async () => {
  const id = state.contact?.id
  if (id === undefined) return
  updateIfOpen(id, { contact: await callOperation("contact", { id }) })
})

/** Changes a conversation by an operation. */
export const changeConversation = showingErrors(async (
  /** @type {"assign" | "close" | "reopen"} */ operation,
  /** @type {{ readonly id: string, readonly assigned_user_id?: string | null }} */ input
) => updateIfOpen(input.id, { conversation: await callOperation(operation, input) }))

/** Changes the tags of a contact. */
export const changeTags = showingErrors(async (
  /** @type {string} */ id,
  /** @type {Pick<UpdateContact, "add_tag_ids" | "remove_tag_ids">} */ changes
) => updateIfOpen(id, { contact: await callOperation("updateContact", { id, changes }) }))

/**
 * Adds a note to a contact.
 *
 * @param {string} id
 * @param {string} text
 */
export const addNote = async (id, text) => updateIfOpen(id, { contact: await callOperation("note", { id, text }) })

/** Reads the page before the shown messages. While it is read, there is no cursor. */
export const loadOlderMessages = showingErrors(async () => {
  const { conversation, olderCursor } = state
  if (conversation === null || olderCursor === null) return
  updateState({ olderCursor: null })
  try {
    const { data, next_cursor } = await callOperation("messages", { id: conversation.id, cursor: olderCursor })
    if (state.olderCursor !== null) return
    updateIfOpen(conversation.id, { messages: [...data.toReversed(), ...state.messages], olderCursor: next_cursor })
  } catch (error) {
    if (state.olderCursor === null) updateIfOpen(conversation.id, { olderCursor })
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
