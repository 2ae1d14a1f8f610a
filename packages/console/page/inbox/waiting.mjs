// Which conversations wait for an answer: the open ones whose newest message is from the contact.

/**
 * The direction of the newest message of a conversation, and whether the conversation is open.
 *
 * @typedef {{ readonly at: string, readonly isInbound: boolean, readonly isOpen: boolean }} Newest
 * @typedef {ReadonlyMap<string, Newest>} NewestById
 * @typedef {{ readonly id: string, readonly last_activity_at: string, readonly reply_window_expires_at: string | null,
 *   readonly status: string }} ReadConversation
 */

/** The number of conversations at the top of the list whose newest messages are read. */
const checked_max = 20

/**
 * Returns the IDs of the conversations that wait for an answer.
 *
 * @param {NewestById} newest
 */
export const waitingIds = (newest) =>
  Array.from(newest).filter(([, { isInbound, isOpen }]) => isInbound && isOpen).map(([id]) => id)

/**
 * Adds a message of an open conversation, unless a newer one is known.
 *
 * @param {NewestById} newest
 * @param {string} id The ID of the conversation.
 * @param {{ readonly at: string, readonly isInbound: boolean }} message
 * @returns {NewestById}
 */
export const withMessage = (newest, id, { at, isInbound }) =>
  (newest.get(id)?.at ?? "") > at ? newest : new Map(newest).set(id, { at, isInbound, isOpen: true })

/**
 * Applies conversations that were read. One with a later activity has a newer message, whose direction is not known.
 *
 * @param {NewestById} newest
 * @param {ReadonlyArray<ReadConversation>} conversations
 * @returns {NewestById}
 */
export const withStatuses = (newest, conversations) => {
  const updated = new Map(newest)
  for (const { id, last_activity_at, status } of conversations) {
    const known = updated.get(id)
    if (known === undefined) continue
    if (known.at < last_activity_at) updated.delete(id)
    else updated.set(id, { ...known, isOpen: status === "open" })
  }
  return updated
}

/**
 * Returns the conversations at the top of the list whose newest message has to be read, because their contact has written, and it is
 * not known who has written last.
 *
 * @template {ReadConversation} Item
 * @param {NewestById} newest
 * @param {ReadonlyArray<Item>} conversations
 */
export const unknownOf = (newest, conversations) =>
  conversations.slice(0, checked_max).filter(({ id, reply_window_expires_at, status }) =>
    status === "open" && reply_window_expires_at !== null && !newest.has(id)
  )
