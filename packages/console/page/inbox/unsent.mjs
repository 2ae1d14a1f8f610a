// The sends of the open conversation that are not messages: those in progress, and those that failed.
import { callOperation } from "../server.mjs"
import { state, updateState } from "../store.mjs"

/**
 * @import { Send } from "@messaging-crm/client"
 * @typedef {{ readonly id: string, readonly conversation_id?: string | null, readonly created_at?: string,
 *   readonly failure_reason?: string | null, readonly status?: string }} Report
 */

/** @type {ReadonlySet<Send["status"]>} */
const unsettled = new Set(["queued", "sending", "unknown"])

/** Returns whether a send of the open conversation can still change. */
export const hasUnsettled = () => state.unsent.some(({ status }) => unsettled.has(status))

/**
 * Returns the unsent sends of a conversation: those of its newest sends that are not messages, and the shown ones that are
 * not among the newest.
 *
 * @param {string} conversation_id
 * @returns {Promise<ReadonlyArray<Send>>}
 */
export const readUnsent = async (conversation_id) => {
  /** @type {{ readonly data: ReadonlyArray<Send> }} */
  const { data } = await callOperation("sends", { conversation_id })
  const ids = new Set(data.map(({ id }) => id))
  const shown = state.unsent.filter((send) => send.conversation_id === conversation_id && !ids.has(send.id))
  return [...shown, ...data.filter(({ status }) => status !== "sent")]
}

/**
 * Shows a send that was accepted or has changed, if its conversation is open. A sent one stays until its message is read.
 *
 * @param {Report} report
 */
export const applySend = ({ conversation_id, created_at, failure_reason, id, status }) => {
  if (conversation_id !== state.conversation?.id || status === undefined || status === "sent") return
  const before = state.unsent.find((send) => send.id === id)
  // The statuses and reasons are those of a send.
  const send = /** @type {Send} */ ({
    id,
    conversation_id,
    status,
    message_id: null,
    failure_reason: failure_reason ?? null,
    created_at: before?.created_at ?? created_at ?? new Date().toISOString()
  })
  updateState({ unsent: [...state.unsent.filter((other) => other !== before), send] })
}

/**
 * Returns the text of a send, which the API does not return: that of a send by this page, or else that of the monitor.
 *
 * @param {string} id
 */
export const textOfSend = (id) => state.sentContents.get(id)?.text ?? state.sends.get(id)?.text ?? null

/**
 * Returns the status of the latest unsent send of a conversation that the page knows: of the open conversation, or from the
 * monitor.
 *
 * @param {string} id
 */
export const latestStatus = (id) => {
  const reports = [...state.sends.values(), ...state.unsent]
  const status = reports.findLast(({ conversation_id }) => conversation_id === id)?.status ?? "sent"
  return status === "sent" ? null : status
}
