/**
 * What a number does is decided by its last four digits, like the test cards of a payment service.
 */
import type { FailureReason } from "@messaging-crm/core/MessagingProvider"

/** What the network does when it is asked to deliver. */
export type Answer =
  | { readonly answer: "accept" }
  | { readonly answer: "reject"; readonly reason: FailureReason }
  /** Certainly nothing sent; may succeed later. */
  | { readonly answer: "busy"; readonly reason: FailureReason; readonly retry_after_seconds: number | null }
  /** Takes the message, but the caller never hears of it. */
  | { readonly answer: "accept_silently" }
  /** Takes nothing, and the caller never hears of it. */
  | { readonly answer: "drop_silently" }

export interface Behaviour {
  /** Answers to the first, second … call for one message. The last one stays. */
  readonly answers: readonly [Answer, ...ReadonlyArray<Answer>]
  /** What becomes of a message that was taken, in this order of time. */
  readonly reports: ReadonlyArray<"delivered" | "failed" | "read">
  /** What the person answers once the message was taken. */
  readonly reply: "image" | "text" | null
}

const accept: Answer = { answer: "accept" }
const transient: Answer = { answer: "busy", reason: "provider_unavailable", retry_after_seconds: null }
const throttled: Answer = { answer: "busy", reason: "rate_limited", retry_after_seconds: 2 }

/** The behaviour of every number that is not listed in `magic`. */
export const ordinary: Behaviour = { answers: [accept], reports: ["delivered", "read"], reply: null }

/** The numbers with a behaviour of their own, by their last four digits. */
export const magic: Readonly<Record<string, Behaviour>> = {
  "0001": { ...ordinary, reports: ["delivered"] },
  "0002": { ...ordinary, answers: [{ answer: "reject", reason: "recipient_unreachable" }] },
  "0003": { ...ordinary, reports: ["failed"] },
  "0004": { ...ordinary, answers: [transient, transient, accept] },
  "0005": { ...ordinary, answers: [{ answer: "accept_silently" }] },
  "0006": { ...ordinary, answers: [{ answer: "drop_silently" }] },
  "0007": { ...ordinary, reply: "text" },
  "0008": { ...ordinary, reply: "image" },
  "0009": { ...ordinary, answers: [throttled, accept] }
}

/** Returns the behaviour of a recipient's number. */
export const behaviourOf = (recipient: string): Behaviour => magic[recipient.slice(-4)] ?? ordinary
