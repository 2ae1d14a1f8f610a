// What a screen reader says while the user works elsewhere: new messages, and sends that failed.
import { nameOf } from "../elements/formats.mjs"
import { state, updateState } from "../store.mjs"
import { failureOf } from "./failures.mjs"

/** @import { Conversation, Send } from "@messaging-crm/client" */

/** The IDs of the conversations with a message that was received and not announced. */
const received = new Set()

/**
 * Notes that a message was received. It is announced when its conversation has been read.
 *
 * @param {string} conversation_id
 */
export const noteReceived = (conversation_id) => void received.add(conversation_id)

/**
 * Reads conversations, and announces their new messages that were noted before: a conversation that is read already can lack the
 * message. If the reading fails, the next one announces them.
 *
 * @param {ReadonlyArray<string>} ids
 * @param {() => Promise<ReadonlyArray<Conversation>>} read
 */
export const announceAfter = async (ids, read) => {
  const noted = new Set(ids.filter((id) => received.delete(id)))
  try {
    announceReceived((await read()).filter(({ id }) => noted.has(id)))
  } catch (error) {
    for (const id of noted) received.add(id)
    throw error
  }
}

/** @param {ReadonlyArray<Conversation>} found */
const announceReceived = (found) => {
  const [first, second] = found
  if (first === undefined) return
  const text = second === undefined
    ? `New message from ${nameOf(first.contact)}: ${first.last_activity_preview ?? ""}`
    : `New messages in ${found.length} conversations`
  updateState({ announcement: text })
}

/**
 * Announces a failed send of the open conversation, or of this page.
 *
 * @param {{ readonly conversation_id: string | null, readonly failure_reason: Send["failure_reason"], readonly send_id: string }} failed
 */
export const announceFailure = ({ conversation_id, failure_reason, send_id }) => {
  if (conversation_id !== state.conversation?.id && !state.sentContents.has(send_id)) return
  updateState({ announcement: `Not sent. ${failureOf({ failure_reason, status: "failed" })?.reason}` })
}

/**
 * Announces that a send of this page has failed if the event arrived before the response to the request.
 *
 * @param {string} id
 */
export const announceEarlierFailure = (id) => {
  for (const { data, type } of state.events) if (type === "send.failed" && data.send_id === id) announceFailure(data)
}
