/** How the fake network answers a message: a script decides, else the last four digits of the recipient. */
import { Schema } from "effect"

/** The answer to a message. */
export const Answer = Schema.Union([
  Schema.Struct({ answer: Schema.Literal("accept") }),
  /** An error body. The message is not accepted. */
  Schema.Struct({
    answer: Schema.Literal("reject"),
    code: Schema.Int,
    status: Schema.optionalKey(Schema.Int),
    error_subcode: Schema.optionalKey(Schema.Int),
    is_transient: Schema.optionalKey(Schema.Boolean),
    retry_after_seconds: Schema.optionalKey(Schema.Int)
  }),
  /** The message is accepted, and the connection breaks before the answer. */
  Schema.Struct({ answer: Schema.Literal("accept_and_hang_up") }),
  /** The connection breaks, and the message is not accepted. */
  Schema.Struct({ answer: Schema.Literal("hang_up") }),
  /** An error page of a proxy, without the network's error body. */
  Schema.Struct({ answer: Schema.Literal("error_page"), status: Schema.Int })
])
export type Answer = typeof Answer.Type

export const Behavior = Schema.Struct({
  /** Answers to the first, second … call for one recipient. The last one stays. */
  answers: Schema.NonEmptyArray(Answer),
  /** The statuses of an accepted message, in this order. */
  statuses: Schema.Array(Schema.String),
  /** The person's reply to an accepted message. */
  reply: Schema.NullOr(Schema.Literals(["image", "text"]))
})
export interface Behavior extends Schema.Schema.Type<typeof Behavior> {}

const accept: Answer = { answer: "accept" }

/** The behavior of every recipient that is not listed in `testNumbers`. */
export const ordinary: Behavior = { answers: [accept], statuses: ["sent", "delivered", "read"], reply: null }

const rejects = (code: number, more: Partial<Omit<Extract<Answer, { answer: "reject" }>, "answer">> = {}): Answer => ({
  answer: "reject",
  code,
  ...more
})

/** The recipients with a behavior of their own, the same as the mock network's. */
export const testNumbers: Readonly<Record<string, Behavior>> = {
  "0001": { ...ordinary, statuses: ["sent", "delivered"] },
  "0002": { ...ordinary, answers: [rejects(131026)] },
  "0003": { ...ordinary, statuses: ["sent", "failed"] },
  "0004": { ...ordinary, answers: [rejects(131016, { status: 500 }), rejects(131016, { status: 500 }), accept] },
  "0005": { ...ordinary, answers: [{ answer: "accept_and_hang_up" }] },
  "0006": { ...ordinary, answers: [{ answer: "hang_up" }] },
  "0007": { ...ordinary, reply: "text" },
  "0008": { ...ordinary, reply: "image" },
  "0009": { ...ordinary, answers: [rejects(131056, { status: 429, retry_after_seconds: 2 }), accept] }
}

/** Returns the behavior of a recipient. */
export const behaviorOf = (recipient: string): Behavior => testNumbers[recipient.slice(-4)] ?? ordinary

/** Returns a behavior that always answers the same. */
export const always = (answer: Answer): Behavior => ({ ...ordinary, answers: [answer] })
