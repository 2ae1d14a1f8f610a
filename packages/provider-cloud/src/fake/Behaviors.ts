/** How the fake Graph API responds to a message: a script decides, else the last four digits of the recipient. */
import { Schema } from "effect"

/** The response to a message. */
export const ScriptedResponse = Schema.Union([
  Schema.Struct({ response: Schema.Literal("accept") }),
  /** An error body. The message is not accepted. */
  Schema.Struct({
    response: Schema.Literal("reject"),
    code: Schema.Int,
    status: Schema.optionalKey(Schema.Int),
    error_subcode: Schema.optionalKey(Schema.Int),
    is_transient: Schema.optionalKey(Schema.Boolean),
    retry_after_seconds: Schema.optionalKey(Schema.Int)
  }),
  /** The message is accepted, and the connection breaks before the response. */
  Schema.Struct({ response: Schema.Literal("accept_and_hang_up") }),
  /** The connection breaks, and the message is not accepted. */
  Schema.Struct({ response: Schema.Literal("hang_up") }),
  /** An error page of a proxy, without the network's error body. */
  Schema.Struct({ response: Schema.Literal("error_page"), status: Schema.Int })
])
export type ScriptedResponse = typeof ScriptedResponse.Type

export const Behavior = Schema.Struct({
  /** The responses to the first, second, and further calls for one message. The last one repeats. */
  responses: Schema.NonEmptyArray(ScriptedResponse),
  /** The statuses of an accepted message, in this order. */
  statuses: Schema.Array(Schema.String),
  /** The person's reply to an accepted message. */
  reply: Schema.NullOr(Schema.Literals(["image", "text"]))
})
export interface Behavior extends Schema.Schema.Type<typeof Behavior> {}

const accept: ScriptedResponse = { response: "accept" }

/** The behavior of every recipient that is not listed in `testNumbers`. */
export const defaultBehavior: Behavior = { responses: [accept], statuses: ["sent", "delivered", "read"], reply: null }

const rejects = (
  code: number,
  more: Partial<Omit<Extract<ScriptedResponse, { response: "reject" }>, "response">> = {}
): ScriptedResponse => ({
  response: "reject",
  code,
  ...more
})

/** The numbers with a special behavior, by their last four digits: those of `docs/testing.md`. */
export const testNumbers: Readonly<Record<string, Behavior>> = {
  "0001": { ...defaultBehavior, statuses: ["sent", "delivered"] },
  "0002": { ...defaultBehavior, responses: [rejects(131026)] },
  "0003": { ...defaultBehavior, statuses: ["sent", "failed"] },
  "0004": {
    ...defaultBehavior,
    responses: [rejects(131016, { status: 500 }), rejects(131016, { status: 500 }), accept]
  },
  "0005": { ...defaultBehavior, responses: [{ response: "accept_and_hang_up" }] },
  "0006": { ...defaultBehavior, responses: [{ response: "hang_up" }] },
  "0007": { ...defaultBehavior, reply: "text" },
  "0008": { ...defaultBehavior, reply: "image" },
  "0009": { ...defaultBehavior, responses: [rejects(131056, { status: 429, retry_after_seconds: 2 }), accept] }
}

/** Returns the behavior of a recipient. */
export const behaviorOf = (recipient: string): Behavior => testNumbers[recipient.slice(-4)] ?? defaultBehavior

/** Returns a behavior that always responds the same. */
export const always = (response: ScriptedResponse): Behavior => ({ ...defaultBehavior, responses: [response] })
