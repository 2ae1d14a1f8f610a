// Combines the shown conversations and messages with newly read ones.

/** @typedef {{ readonly id: string, readonly status: string, readonly last_activity_at: string }} ListedConversation */
/**
 * @typedef {{ readonly assigned_user_id?: string, readonly channel_id?: string, readonly contact_id?: string,
 *   readonly unassigned?: "true" }} ConversationQuery
 * @typedef {{ readonly assigned_user_id: string | null, readonly channel: { readonly id: string },
 *   readonly contact: { readonly id: string } }} Filtered
 */
/** @typedef {{ readonly kind: string, readonly url: string | null }} ListedMedia */
/** @typedef {{ readonly id: string, readonly media: ListedMedia | null }} ListedMessage */

/**
 * @param {ListedConversation} a
 * @param {ListedConversation} b
 */
const latestFirst = (a, b) => b.last_activity_at.localeCompare(a.last_activity_at)

/**
 * Returns whether the API lists a conversation for a query.
 *
 * @param {Filtered} conversation
 * @param {ConversationQuery} query
 */
export const matchesQuery = (
  { assigned_user_id, channel, contact },
  { assigned_user_id: assignee, channel_id, contact_id, unassigned }
) =>
  (assignee === undefined || assignee === assigned_user_id) && (unassigned === undefined || assigned_user_id === null)
  && (channel_id === undefined || channel_id === channel.id) && (contact_id === undefined || contact_id === contact.id)

/**
 * Returns the shown conversations with others inserted or replaced, the latest activity first. The list of a filter has
 * only conversations with its status that match. Unless the list is complete, it omits conversations older than its last one, which
 * arrive with a later page.
 *
 * @template {ListedConversation} Item
 * @param {ReadonlyArray<Item>} shown
 * @param {ReadonlyArray<Item>} updates
 * @param {{ readonly filter: string, readonly isComplete: boolean, readonly matches?: (item: Item) => boolean }} list
 */
export const withConversations = (shown, updates, { filter, isComplete, matches = () => true }) => {
  const ids = new Set(updates.map(({ id }) => id))
  const last = isComplete ? undefined : shown.at(-1)
  const matching = updates.filter((conversation) =>
    (filter === "all" || conversation.status === filter) && matches(conversation) &&
    (last === undefined || latestFirst(conversation, last) <= 0)
  )
  return [...shown.filter(({ id }) => !ids.has(id)), ...matching].toSorted(latestFirst)
}

/**
 * Returns whether the page shows a file as a picture, and not as a link.
 *
 * @param {{ readonly kind: string }} media
 */
export const isPicture = ({ kind }) => kind === "image" || kind === "sticker"

/**
 * Keeps the link of a shown file: each read returns a new link, and the browser would load a picture again, and stop a
 * recording.
 *
 * @template {ListedMessage} Item
 * @param {Item} message
 * @param {Item | undefined} before
 */
const withLink = (message, before) =>
  before?.media?.url && before.media.kind !== "document" ? { ...message, media: before.media } : message

/**
 * Returns the shown messages with the newest ones, oldest first. If none of the newest is shown, messages between them
 * can be missing, so the list starts with the newest.
 *
 * @template {ListedMessage} Item
 * @param {ReadonlyArray<Item>} shown
 * @param {ReadonlyArray<Item>} newest
 */
export const withNewest = (shown, newest) => {
  const older = new Map(shown.map((message) => [message.id, message]))
  const messages = newest.map((message) => withLink(message, older.get(message.id)))
  const hasGap = newest.every(({ id }) => !older.has(id))
  for (const { id } of newest) older.delete(id)
  return { hasGap, messages: hasGap ? messages : [...older.values(), ...messages] }
}
