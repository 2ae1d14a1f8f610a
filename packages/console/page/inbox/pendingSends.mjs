// The sends that the open conversation shows until they are messages.
import { callOperation } from "../server.mjs"
import { state, updateState } from "../store.mjs"

/**
 * Reads the pending sends of a conversation, and removes those that have become messages.
 *
 * @param {string} id
 */
export const settlePendingSends = async (id) => {
  const unsettled = state.pending.filter(({ conversation_id, status }) => conversation_id === id && status !== "failed")
  const current = await Promise.all(unsettled.map((send) => callOperation("sendStatus", { id: send.id })))
  const currentById = new Map(current.map((send) => [send.id, send]))
  updateState({
    pending: state.pending
      .map((send) => ({ ...send, ...currentById.get(send.id) }))
      .filter(({ status }) => status !== "sent")
  })
}
