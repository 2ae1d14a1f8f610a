// The reasons for which a send fails, each with the action that the agent can take.

/** @import { Send } from "@messaging-crm/client" */

/**
 * @typedef {"edit" | "resend" | "template"} Action
 * @typedef {{ readonly reason: string, readonly advice: string, readonly action?: Action }} Failure
 */

/** @type {Readonly<Record<NonNullable<Send["failure_reason"]>, Failure>>} */
const failures = {
  recipient_unreachable: {
    reason: "The number is not on the network, or cannot be reached.",
    advice: "Check the contact’s number. Do not send the message to this number again."
  },
  recipient_opted_out: {
    reason: "The customer does not accept messages, or their data was erased.",
    advice: "Do not send the message again. Wait until the customer writes."
  },
  reply_window_closed: {
    reason: "The reply window closed before the message was sent.",
    advice: "Send a template, or wait until the customer writes.",
    action: "template"
  },
  template_not_found: {
    reason: "The network no longer has the template.",
    advice: "Choose another template.",
    action: "template"
  },
  template_not_approved: {
    reason: "The network has paused or withdrawn the template.",
    advice: "Choose another template.",
    action: "template"
  },
  template_invalid: {
    reason: "The network does not accept the values of the template.",
    advice: "Choose the template again, and correct its values.",
    action: "template"
  },
  rate_limited: {
    reason: "The network has limited the number of messages.",
    advice: "Wait a few minutes, and send it again.",
    action: "resend"
  },
  channel_blocked: {
    reason: "The network has restricted the channel’s account.",
    advice: "Check the channel with your administrator, and then send the message again.",
    action: "resend"
  },
  provider_auth: {
    reason: "The network rejected the channel’s credentials.",
    advice: "Check the channel with your administrator, and then send the message again.",
    action: "resend"
  },
  provider_rejected: {
    reason: "The network rejected the message.",
    advice: "Change the message before you send it again.",
    action: "edit"
  },
  provider_unavailable: {
    reason: "The network was unavailable.",
    advice: "Send the message again.",
    action: "resend"
  },
  outcome_unknown: {
    reason: "The network’s response was lost. The customer may have received the message.",
    advice: "Send it again only if the customer can receive it twice.",
    action: "resend"
  }
}

/** @type {Failure} */
const unknown = {
  reason: "The network’s response was lost. The customer may have received the message.",
  advice: "Wait for the network’s report, for up to 15 minutes. Do not send it again before."
}

/**
 * Returns why a send is not a message, or null if it is in progress.
 *
 * @param {Pick<Send, "failure_reason" | "status">} send
 * @returns {Failure | null}
 */
export const failureOf = ({ failure_reason, status }) => {
  if (status === "unknown") return unknown
  if (status !== "failed") return null
  const failure = failure_reason === null ? undefined : failures[failure_reason]
  return failure ?? { reason: "The send failed.", advice: "Send the message again.", action: "resend" }
}
