/**
 * The behavior of a recipient depends on the last four digits of the number, like test cards of a payment service.
 */
import type { FailureReason } from "@messaging-crm/core/MessagingProvider"

/** How the network responds to a call to deliver. */
export type ScriptedResponse =
  | { readonly response: "accept" }
  | { readonly response: "reject"; readonly reason: FailureReason }
  /** Nothing is sent; a later attempt may succeed. */
  | { readonly response: "busy"; readonly reason: FailureReason; readonly retry_after_seconds: number | null }
  /** Accepts the message, but the response is lost. */
  | { readonly response: "accept_without_response" }
  /** Does not accept the message, and the response is lost. */
  | { readonly response: "drop_without_response" }

export interface Behavior {
  /** The responses to the first, second and further calls for one message. The last one repeats. */
  readonly responses: readonly [ScriptedResponse, ...ReadonlyArray<ScriptedResponse>]
  /** The status reports of an accepted message, in order of time. */
  readonly reports: ReadonlyArray<"delivered" | "failed" | "read">
  /** The reply of the recipient to an accepted message. */
  readonly reply: "image" | "text" | null
}

const accept: ScriptedResponse = { response: "accept" }
const transient: ScriptedResponse = { response: "busy", reason: "provider_unavailable", retry_after_seconds: null }
const throttled: ScriptedResponse = { response: "busy", reason: "rate_limited", retry_after_seconds: 2 }

/** The behavior of a number that is not listed in `testNumbers`. */
export const defaultBehavior: Behavior = { responses: [accept], reports: ["delivered", "read"], reply: null }

/** The numbers with a special behavior, by their last four digits. */
export const testNumbers: Readonly<Record<string, Behavior>> = {
  "0001": { ...defaultBehavior, reports: ["delivered"] },
  "0002": { ...defaultBehavior, responses: [{ response: "reject", reason: "recipient_unreachable" }] },
  "0003": { ...defaultBehavior, reports: ["failed"] },
  "0004": { ...defaultBehavior, responses: [transient, transient, accept] },
  "0005": { ...defaultBehavior, responses: [{ response: "accept_without_response" }] },
  "0006": { ...defaultBehavior, responses: [{ response: "drop_without_response" }] },
  "0007": { ...defaultBehavior, reply: "text" },
  "0008": { ...defaultBehavior, reply: "image" },
  "0009": { ...defaultBehavior, responses: [throttled, accept] }
}

/** Returns the behavior of a recipient's number. */
export const behaviorOf = (recipient: string): Behavior => testNumbers[recipient.slice(-4)] ?? defaultBehavior
