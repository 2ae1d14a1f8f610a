/** Maps the networks' error codes to outcomes of a send. */
import {
  type FailureReason,
  ProviderBusy,
  ProviderOutcomeUnknown,
  ProviderRejected
} from "@messaging-crm/core/MessagingProvider"
import { Option } from "effect"

/** The fields of a Graph API error that decide the outcome. */
export interface GraphError {
  readonly code: number
  readonly error_subcode: number | null
  readonly is_transient: boolean
  /** The HTTP status. It is used only for codes that are not listed. */
  readonly status: number
  readonly retry_after_seconds: number | null
}

/**
 * The consequence of an error code for the send, and for other sends:
 *
 * - `reject`: the send fails.
 * - `pause`: the send fails, and the channel is paused until it gets another token or passes a check.
 * - `retry`: nothing was sent, and the send is retried for two minutes.
 * - `slow_channel`: as `retry`, and every send of the channel waits as long as the network requests.
 * - `slow_recipient`: as `retry`, and only the sends to this recipient wait: 1, 4, 16, and 64 seconds.
 * - `unknown`: the message may have been sent, so the send is not retried.
 */
type Action = "reject" | "pause" | "retry" | "slow_channel" | "slow_recipient" | "unknown"

type Codes = number | readonly [first: number, last: number]

interface Row {
  /** A code, the first and last of a range, or either with one subcode or with any. */
  readonly code: Codes | { readonly code: Codes; readonly subcode: number | "any" }
  readonly action: Action
  readonly reason: FailureReason
}

const row = (code: Row["code"], action: Action, reason: FailureReason): Row => ({ code, action, reason })

/** The table. The first matching row decides. */
export const errorCodes: ReadonlyArray<Row> = [
  // The reply window, which shares its code with missing permissions.
  row({ code: 10, subcode: 2018065 }, "reject", "reply_window_closed"), // Messenger: outside the reply window
  row({ code: 10, subcode: 2018278 }, "reject", "reply_window_closed"), // Messenger: outside the reply window
  row({ code: 10, subcode: 2534022 }, "reject", "reply_window_closed"), // Instagram: outside the reply window
  row(131047, "reject", "reply_window_closed"), // more than 24 hours since the contact last wrote

  // One person. These, too, share their codes with missing permissions.
  row({ code: 10, subcode: 2018108 }, "reject", "recipient_unreachable"), // Messenger: the person receives no messages now
  row({ code: 200, subcode: 1545041 }, "reject", "recipient_unreachable"), // Messenger: the person is not available now
  row({ code: 100, subcode: 2018001 }, "reject", "recipient_unreachable"), // Messenger: no such person
  row({ code: 100, subcode: 2534014 }, "reject", "recipient_unreachable"), // Instagram: no such person
  row({ code: 10, subcode: 2018300 }, "reject", "provider_rejected"), // Messenger: another app controls the conversation
  row(2018300, "reject", "provider_rejected"), // the same, as a code
  row({ code: 10, subcode: 2018321 }, "retry", "provider_unavailable"), // Messenger: an automated flow of the page is writing
  row(2018321, "retry", "provider_unavailable"), // the same, as a code

  // The whole account, with a subcode.
  row({ code: 10, subcode: 1893063 }, "pause", "channel_blocked"), // Messenger: it may not send messages
  row({ code: 100, subcode: 2534029 }, "pause", "channel_blocked"), // Instagram: it may not use the API
  row({ code: 10, subcode: 2534077 }, "pause", "provider_auth"), // Instagram: not linked to the page
  row({ code: 100, subcode: 2534013 }, "pause", "provider_auth"), // Instagram: not linked to the page
  row({ code: 200, subcode: 2534041 }, "pause", "provider_auth"), // Instagram: apps have no access to its messages

  // Other subcodes of these codes are often about one person, so they do not pause the channel.
  row({ code: 10, subcode: "any" }, "reject", "provider_auth"), // permission missing for this message
  row({ code: [200, 299], subcode: "any" }, "reject", "provider_auth"), // permission missing for this message

  // The token, or what it may do.
  row(0, "pause", "provider_auth"), // the token cannot be checked
  row(102, "pause", "provider_auth"), // the session of the token has ended
  row(104, "pause", "provider_auth"), // the call lacks a valid signature
  row(190, "pause", "provider_auth"), // the token is invalid or has expired
  row(3, "pause", "provider_auth"), // the app may not call this
  row(10, "pause", "provider_auth"), // permission missing or withdrawn
  row([200, 299], "pause", "provider_auth"), // permission missing
  row(131005, "pause", "provider_auth"), // permission missing

  // Too many calls: of the app, the account, the number, or to one recipient.
  row(4, "slow_channel", "rate_limited"), // calls of the app
  row(17, "slow_channel", "rate_limited"), // calls of the user of the token
  row(32, "slow_channel", "rate_limited"), // calls of the page
  row(341, "slow_channel", "rate_limited"), // calls of the app
  row(613, "slow_channel", "rate_limited"), // calls of the page
  row([80000, 80014], "slow_channel", "rate_limited"), // calls of the page or the business account
  row(130429, "slow_channel", "rate_limited"), // throughput of the number
  row(131056, "slow_recipient", "rate_limited"), // messages from one number to one recipient
  row(131048, "slow_channel", "rate_limited"), // too many messages of the number were blocked or reported as spam
  row(131064, "slow_channel", "rate_limited"), // messages of the number or the account
  row(131049, "reject", "rate_limited"), // the recipient gets no more marketing for now; lasts a day
  row(132069, "reject", "rate_limited"), // the flow of the template is throttled; lasts an hour
  row(133016, "reject", "rate_limited"), // registrations of the number; lasts for days

  // The network's own troubles.
  row({ code: 1, subcode: 1357046 }, "unknown", "provider_unavailable"), // Messenger: the message can have been sent all the same
  row(1, "retry", "provider_unavailable"), // unknown error, possibly down
  row(2, "retry", "provider_unavailable"), // service temporarily down
  row(1200, "retry", "provider_unavailable"), // Messenger: temporary
  row(131000, "retry", "provider_unavailable"), // something went wrong
  row(131016, "retry", "provider_unavailable"), // service overloaded
  row(131053, "retry", "provider_unavailable"), // a file of the message could not be fetched
  row(131057, "retry", "provider_unavailable"), // the account is being upgraded
  row(133015, "retry", "provider_unavailable"), // the number was deregistered a moment ago
  row(134101, "retry", "provider_unavailable"), // the template is not yet available for marketing messages
  row(2494100, "retry", "provider_unavailable"), // the number is in maintenance
  row(133004, "retry", "provider_unavailable"), // server temporarily unavailable

  // The recipient.
  row(131026, "reject", "recipient_unreachable"), // not on the network, an old app, or blocked
  row(131030, "reject", "recipient_unreachable"), // not among the recipients that a test number may write to
  row(131062, "reject", "recipient_unreachable"), // the recipient or the template needs a phone number, not a user ID
  row(551, "reject", "recipient_unreachable"), // the person cannot be written to now
  row(130472, "reject", "recipient_unreachable"), // the recipient is in an experiment that gets no marketing
  row(131050, "reject", "recipient_opted_out"), // the recipient wants no more marketing from this business

  // The template.
  row(132001, "reject", "template_not_found"), // no such template in this language
  row(132015, "reject", "template_not_approved"), // paused for low quality
  row(132016, "reject", "template_not_approved"), // disabled for low quality
  row(131063, "reject", "template_not_approved"), // marketing templates cannot be sent this way
  row(132068, "reject", "template_not_approved"), // its flow is blocked
  row(134100, "reject", "template_not_approved"), // only marketing templates can be sent this way
  row(134102, "reject", "template_not_approved"), // not available for marketing messages
  row(132000, "reject", "template_invalid"), // the number of parameters does not match
  row(132005, "reject", "template_invalid"), // too long once it is filled in
  row(132007, "reject", "template_invalid"), // breaks a policy on characters
  row(132008, "reject", "template_invalid"), // the parameters do not match the template
  row(132012, "reject", "template_invalid"), // a parameter has another format
  row(132018, "reject", "template_invalid"), // a parameter is wrong

  // The channel.
  row(33, "pause", "channel_blocked"), // the number was deleted
  row({ code: 100, subcode: 33 }, "pause", "channel_blocked"), // the number or the page does not exist, or belongs to another account
  row({ code: 368, subcode: 1346003 }, "reject", "provider_rejected"), // the message has a link or words that people reported
  row(368, "pause", "channel_blocked"), // blocked for breaking a policy
  row(130497, "reject", "channel_blocked"), // may not write to this country
  row(131031, "pause", "channel_blocked"), // the account is locked
  row(131037, "pause", "channel_blocked"), // the display name of the number is not approved
  row(131042, "pause", "channel_blocked"), // payment
  row(131045, "pause", "channel_blocked"), // the number was not registered correctly
  row(133000, "pause", "channel_blocked"), // the number was not deregistered completely
  row(133006, "pause", "channel_blocked"), // the number must be verified again
  row(133010, "pause", "channel_blocked"), // the number is not registered

  // A request that should not have been made.
  row(100, "reject", "provider_rejected"), // a parameter is wrong
  row(131008, "reject", "provider_rejected"), // a parameter is missing
  row(131009, "reject", "provider_rejected"), // a parameter has a wrong value
  row(131021, "reject", "provider_rejected"), // sender and recipient are the same
  row(131051, "reject", "provider_rejected"), // unsupported type of message
  row(131052, "reject", "provider_rejected"), // a received file cannot be downloaded
  row(131055, "reject", "provider_rejected"), // the method is not allowed
  row(131060, "reject", "provider_rejected"), // the message is not available
  row(133005, "reject", "provider_rejected"), // wrong PIN of the number
  row(133008, "reject", "provider_rejected"), // too many wrong PINs of the number
  row(133009, "reject", "provider_rejected"), // PINs of the number entered too fast
  row(134011, "reject", "provider_rejected"), // the terms of payments are not accepted
  row(135000, "reject", "provider_rejected") // unspecified
]

const includes = (known: Codes, code: number): boolean =>
  typeof known === "number" ? known === code : known[0] <= code && code <= known[1]

const matches = ({ code: known }: Row, { code, error_subcode }: GraphError): boolean => {
  if (typeof known === "number" || !("subcode" in known)) return includes(known, code)
  const isSubcode = known.subcode === "any" ? error_subcode !== null : known.subcode === error_subcode
  return isSubcode && includes(known.code, code)
}

type Handling = Pick<Row, "action" | "reason">

/** Returns the handling of a code that is not listed, from `is_transient` and the HTTP status. */
const unlisted = ({ is_transient, status }: GraphError): Handling => {
  if (status === 429) return { action: "slow_channel", reason: "rate_limited" }
  return is_transient || status >= 500
    ? { action: "retry", reason: "provider_unavailable" }
    : { action: "reject", reason: "provider_rejected" }
}

/** An error that the network marks as transient is retried, unless its code has a more specific reason. */
const retriedIfTransient = (handling: Handling, { is_transient }: GraphError): Handling =>
  is_transient && handling.reason === "provider_rejected"
    ? { action: "retry", reason: "provider_unavailable" }
    : handling

/**
 * Returns the reason for which a channel is paused if a status reports a code, or none. A status reports the code of a
 * message that the network accepted first.
 */
export const pauseReasonOf = (code: number): Option.Option<FailureReason> => {
  const error: GraphError = { code, error_subcode: null, is_transient: false, status: 200, retry_after_seconds: null }
  return Option.fromUndefinedOr(errorCodes.find((row) => matches(row, error))).pipe(
    Option.filter(({ action }) => action === "pause"),
    Option.map(({ reason }) => reason)
  )
}

const handlingOf = (error: GraphError): Handling =>
  retriedIfTransient(errorCodes.find((row) => matches(row, error)) ?? unlisted(error), error)

/** Returns the reason for an error. */
export const reasonOf = (error: GraphError): FailureReason => handlingOf(error).reason

/** Returns the outcome of a send to which the network responded with an error. */
export const outcomeOf = (error: GraphError): ProviderRejected | ProviderBusy | ProviderOutcomeUnknown => {
  const { retry_after_seconds } = error
  const { action, reason } = handlingOf(error)
  switch (action) {
    case "reject":
      return new ProviderRejected({ reason })
    case "pause":
      return new ProviderRejected({ reason, pauses_channel: true })
    case "retry":
      return new ProviderBusy({ reason, retry_after_seconds })
    case "slow_channel":
      return new ProviderBusy({ reason, retry_after_seconds, throttles: "channel" })
    case "slow_recipient":
      return new ProviderBusy({ reason, retry_after_seconds, throttles: "recipient" })
    case "unknown":
      return new ProviderOutcomeUnknown()
  }
}
