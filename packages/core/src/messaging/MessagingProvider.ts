import { Context, type Effect, Schema } from "effect"
import type { Channel } from "../catalog/Channels.ts"
import { FailureReason } from "../kernel/FailureReason.ts"
import type { SendId } from "../kernel/Ids.ts"
import type { Content } from "./Content.ts"
import type { Template } from "./Template.ts"

export { FailureReason } from "../kernel/FailureReason.ts"

// ---------------------------------------------------------------- data

/** One message to hand over. */
export interface OutboundMessage {
  readonly channel: Channel
  /** Comes back in the provider's callbacks, or makes it deduplicate. Always the send id. */
  readonly reference: SendId
  /** The recipient's id on the channel; on phone messaging the number, `+` and digits. */
  readonly recipient: string
  readonly content: Content
}

/** The provider took the message and named it. */
export interface Accepted {
  readonly provider_message_id: string
  /** Other ids under which the network knows the recipient, where it names them: a canonical number, an id of its own. */
  readonly recipient_aliases?: ReadonlyArray<string>
}

// -------------------------------------------------------------- errors

/** The provider refused, for good. Nothing was sent. */
export class ProviderRejected extends Schema.TaggedError<ProviderRejected>()("ProviderRejected", {
  reason: FailureReason
}) {}

/** Nothing was sent, certainly, and a later try may succeed: refused connection, an error body, throttling. */
export class ProviderBusy extends Schema.TaggedError<ProviderBusy>()("ProviderBusy", {
  reason: FailureReason,
  retry_after_seconds: Schema.NullOr(Schema.Number)
}) {}

/** The request left and no answer came: nobody knows whether the message was taken. */
export class ProviderOutcomeUnknown
  extends Schema.TaggedError<ProviderOutcomeUnknown>()("ProviderOutcomeUnknown", {})
{}

/** The provider's catalogue of templates cannot be read now. */
export class ProviderUnavailable extends Schema.TaggedError<ProviderUnavailable>()("ProviderUnavailable", {}) {}

// ---------------------------------------------------------------- port

/**
 * Port: the messaging provider.
 *
 * **Contract** (checked by `conformance/MessagingProvider.ts`)
 *
 * - `deliver` succeeds only when the provider took the message.
 * - `ProviderRejected` and `ProviderBusy` mean that it certainly did not;
 *   `ProviderOutcomeUnknown` that nobody knows.
 * - With `dedup` `client_ref`, two calls with one reference make one message.
 *   With `callback_ref`, callbacks carry the reference. With `none`, neither.
 * - `expectedAliases` are committed before the message is handed over, so that
 *   a reply that overtakes the answer finds its sender.
 * - `templates` returns the whole catalogue of a business account or fails.
 */
export class MessagingProvider extends Context.Service<MessagingProvider, {
  readonly dedup: "client_ref" | "callback_ref" | "none"
  /** Other ids under which the network may know a recipient, as far as the id alone tells. */
  readonly expectedAliases?: (channel: Channel, recipient: string) => ReadonlyArray<string>
  readonly deliver: (
    message: OutboundMessage
  ) => Effect.Effect<Accepted, ProviderRejected | ProviderBusy | ProviderOutcomeUnknown>
  readonly templates: (business_account_id: string) => Effect.Effect<ReadonlyArray<Template>, ProviderUnavailable>
}>()("@messaging-crm/core/MessagingProvider") {}
