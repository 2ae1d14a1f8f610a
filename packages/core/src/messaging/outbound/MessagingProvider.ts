import { Context, type Effect, Schema } from "effect"
import type { Channel } from "../../catalog/Channels.ts"
import { FailureReason } from "../../kernel/FailureReason.ts"
import type { SendId } from "../../kernel/Ids.ts"
import type { Content } from "./Content.ts"
import type { Template } from "./Template.ts"

export { FailureReason } from "../../kernel/FailureReason.ts"

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

/** Error codes of connections that were never established: DNS, routing, rejected, or TLS. */
const unconnected = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "EAI_AGAIN",
  "EAI_FAIL",
  "ECONNREFUSED",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
  "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UND_ERR_CONNECT_TIMEOUT"
])

/** Returns whether an error of `fetch`, or its cause, says that no connection was established, so that nothing was sent. */
export const isUnconnected = (error: unknown): boolean => {
  // Reading a field of any object is safe, and the type of its value is checked.
  const { cause, code } = Object(error) as { readonly cause?: unknown; readonly code?: unknown }
  return typeof code === "string" || cause === undefined ? unconnected.has(String(code)) : isUnconnected(cause)
}

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
 * - `expectedAliases` returns further IDs of the recipient. They are committed
 *   before `deliver` is called, so that a reply that arrives before the response
 *   is matched to the recipient.
 * - `templates` returns the whole catalog of a business account or fails.
 */
export class MessagingProvider extends Context.Service<MessagingProvider, {
  readonly dedup: "client_ref" | "callback_ref" | "none"
  /** Other IDs that the network may use for a recipient, derived from the ID alone. */
  readonly expectedAliases?: (channel: Channel, recipient: string) => ReadonlyArray<string>
  readonly deliver: (
    message: OutboundMessage
  ) => Effect.Effect<Accepted, ProviderRejected | ProviderBusy | ProviderHeld | ProviderOutcomeUnknown>
  readonly templates: (business_account_id: string) => Effect.Effect<ReadonlyArray<Template>, ProviderUnavailable>
}>()("@messaging-crm/core/MessagingProvider") {}
