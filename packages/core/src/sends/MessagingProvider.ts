import { Context, type Effect, Schema } from "effect"
import type { Channel, TextLimit } from "../catalog/Channels.ts"
import { FailureReason } from "../kernel/FailureReason.ts"
import type { SendId } from "../kernel/Ids.ts"
import { utf8Bytes } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { type Template, TemplateValues } from "./Template.ts"

export { FailureReason } from "../kernel/FailureReason.ts"

/**
 * Schema for the complete content of a send, so that the worker has to load nothing else to send it.
 *
 * It is stored as JSON, so cases may be added and must not be renamed. A worker of the previous version leaves a send of
 * an unknown case to a newer worker, but ignores an unknown field. So anything that changes the message must be a new case.
 */
export const Content = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("template"),
    template: Schema.Struct({
      id: Schema.String,
      name: Schema.String,
      language: Schema.String,
      components: Schema.Array(TemplateValues)
    }),
    /** The body with its placeholders filled, as the recipient reads it. */
    text: Schema.String
  })
])
export type Content = typeof Content.Type

/** Returns whether this version can send a content, which a newer version may have stored. */
export const isKnownContent = Schema.is(Content)

/** The text is longer than the network of its channel accepts. */
export class TextTooLong extends Schema.TaggedError<TextTooLong>()("TextTooLong", {
  channel_type: Schema.String,
  max: Schema.Int,
  unit: Schema.Literals(["bytes", "characters"])
}) {}

/** Returns whether a text is within a limit. */
export const isWithin = (text: string, { max, unit }: TextLimit): boolean =>
  unit === "bytes" ? utf8Bytes(text) <= max : text.length <= max || Array.from(text).length <= max

// ---------------------------------------------------------------- data

/** One message to send through the provider. */
export interface OutboundMessage {
  readonly channel: Channel
  /** The send's id. Depending on `dedup`, the provider echoes it in callbacks or deduplicates by it. */
  readonly reference: SendId
  /** The recipient's ID on the channel; on phone messaging the number, `+` and digits. */
  readonly recipient: string
  readonly content: Content
}

/** The provider accepted the message and gave it an id. */
export interface Accepted {
  readonly provider_message_id: string
  /** Other IDs of the recipient, where the network reports them: a canonical number, an ID of its own. */
  readonly recipient_aliases?: ReadonlyArray<string>
  /**
   * When the accepted attempt began, by the provider's clock, if its response shows it. The provider's reports of all messages
   * before a time are compared with it.
   */
  readonly sent_at?: Timestamp
}

// -------------------------------------------------------------- errors

/** The provider rejected the message permanently. Nothing was sent. */
export class ProviderRejected extends Schema.TaggedError<ProviderRejected>()("ProviderRejected", {
  reason: FailureReason,
  /** Whether the channel itself is rejected, as with an invalid token: its other sends then wait until an operator resumes it. */
  pauses_channel: Schema.optionalKey(Schema.Boolean)
}) {}

/** Nothing was sent, and a later attempt may succeed: refused connection, an error response, throttling. */
export class ProviderBusy extends Schema.TaggedError<ProviderBusy>()("ProviderBusy", {
  reason: FailureReason,
  retry_after_seconds: Schema.NullOr(Schema.Number),
  /**
   * The throttled target; absent without a throttle. `channel`: its other sends wait too.
   * `recipient`: only this conversation waits, for a longer time with each attempt.
   */
  throttles: Schema.optionalKey(Schema.Literals(["channel", "recipient"]))
}) {}

/**
 * Nothing was sent, because the channel cannot be used: no key decrypts its token. Its sends wait, this one too, until
 * an operator resumes it.
 */
export class ProviderHeld extends Schema.TaggedError<ProviderHeld>()("ProviderHeld", { reason: FailureReason }) {}

/** The request was sent and its response was lost (a timeout, a broken connection): the message may have been sent or not. */
export class ProviderOutcomeUnknown
  extends Schema.TaggedError<ProviderOutcomeUnknown>()("ProviderOutcomeUnknown", {})
{}

/** The provider's template catalog cannot be read at the moment. */
export class ProviderUnavailable extends Schema.TaggedError<ProviderUnavailable>()("ProviderUnavailable", {}) {}

// ---------------------------------------------------------------- port

/**
 * Port: the messaging provider.
 *
 * **Contract** (checked by `conformance/MessagingProvider.ts`)
 *
 * - `deliver` succeeds only when the provider has accepted the message.
 * - `ProviderRejected`, `ProviderBusy` and `ProviderHeld` mean that it certainly has not;
 *   `ProviderOutcomeUnknown` means that it may have.
 * - `dedup` `client_ref`: two calls with the same reference send one message.
 *   `callback_ref`: callbacks carry the reference. `none`: neither.
 * - `templates` returns the whole catalog of a business account or fails.
 */
export class MessagingProvider extends Context.Service<MessagingProvider, {
  readonly dedup: "client_ref" | "callback_ref" | "none"
  readonly deliver: (
    message: OutboundMessage
  ) => Effect.Effect<Accepted, ProviderRejected | ProviderBusy | ProviderHeld | ProviderOutcomeUnknown>
  readonly templates: (business_account_id: string) => Effect.Effect<ReadonlyArray<Template>, ProviderUnavailable>
}>()("@messaging-crm/core/MessagingProvider") {}
