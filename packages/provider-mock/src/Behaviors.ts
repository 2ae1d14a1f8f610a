/**
 * The behavior of a recipient depends on the last four digits of the number, like test cards of a payment service.
 */
import { FailureReason } from "@messaging-crm/core/MessagingProvider"
import { Schema } from "effect"

/** How the network answers a call to deliver. */
export const Answer = Schema.Union([
  Schema.Struct({ answer: Schema.Literal("accept") }),
  Schema.Struct({ answer: Schema.Literal("reject"), reason: FailureReason }),
  /** Nothing is sent; a later attempt may succeed. */
  Schema.Struct({
    answer: Schema.Literal("busy"),
    reason: FailureReason,
    retry_after_seconds: Schema.NullOr(Schema.Number)
  }),
  /** Accepts the message, but the answer is lost. */
  Schema.Struct({ answer: Schema.Literal("accept_silently") }),
  /** Does not accept the message, and the answer is lost. */
  Schema.Struct({ answer: Schema.Literal("drop_silently") })
])
export type Answer = typeof Answer.Type

export const Behavior = Schema.Struct({
  /** The answers to the first, second and further calls for one message. The last one repeats. */
  answers: Schema.NonEmptyArray(Answer),
  /** The status reports of an accepted message, in order of time. */
  reports: Schema.Array(Schema.Literals(["delivered", "failed", "read"])),
  /** The reply of the recipient to an accepted message. */
  reply: Schema.NullOr(Schema.Literals(["image", "text"]))
})
export interface Behavior extends Schema.Schema.Type<typeof Behavior> {}

const accept: Answer = { answer: "accept" }
const transient: Answer = { answer: "busy", reason: "provider_unavailable", retry_after_seconds: null }
const throttled: Answer = { answer: "busy", reason: "rate_limited", retry_after_seconds: 2 }

/** The behavior of a number that is not listed in `testNumbers`. */
export const ordinary: Behavior = { answers: [accept], reports: ["delivered", "read"], reply: null }

/** The numbers with a special behavior, by their last four digits. */
export const testNumbers: Readonly<Record<string, Behavior>> = {
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

/** Returns the behavior of a recipient's number. */
export const behaviorOf = (recipient: string): Behavior => testNumbers[recipient.slice(-4)] ?? ordinary
