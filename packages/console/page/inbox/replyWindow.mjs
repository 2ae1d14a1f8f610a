// The reply window of a conversation: whether a text can be sent, and for how long.
import { durationOf, timeWithDay } from "../elements/formats.mjs"
import { hasTemplates } from "../elements/networks.mjs"

/** @import { Conversation } from "@messaging-crm/client" */

/** The time before the end of the window from which the composer warns. */
const warned_millis = 3_600_000

/**
 * Returns whether a text can be sent now, and a text for the agent.
 *
 * @param {Pick<Conversation, "channel" | "contact" | "reply_window_expires_at">} conversation
 * @param {number} now
 * @returns {{ readonly state: "closed" | "closing" | "erased" | "open", readonly text: string }}
 */
export const replyWindowOf = ({ channel, contact, reply_window_expires_at }, now = Date.now()) => {
  if (contact.external_id === null) {
    return { state: "erased", text: "The contact’s data was erased, so no message can be sent." }
  }
  const left = reply_window_expires_at === null ? 0 : Date.parse(reply_window_expires_at) - now
  if (reply_window_expires_at !== null && left > 0) {
    const text = `Reply window: open for ${durationOf(left)}, until ${timeWithDay(reply_window_expires_at)}`
    return { state: left < warned_millis ? "closing" : "open", text }
  }
  const reason = reply_window_expires_at === null
    ? "The customer has not written yet."
    : `The reply window closed at ${timeWithDay(reply_window_expires_at)}, 24 hours after the customer’s last message.`
  const action = hasTemplates(channel)
    ? "Send a template, or wait until the customer writes."
    : "No message can be sent until the customer writes."
  return { state: "closed", text: `${reason} ${action}` }
}
