import { Context, type Effect, Schema } from "effect"

// ---------------------------------------------------------------- data

/** One signed request. */
export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What an endpoint answered; its status alone decides about the delivery. */
export interface WebhookAnswer {
  readonly status: number
  /** The beginning of the body as text, of at most 4 KiB. */
  readonly body: string
  /** The `Retry-After` header as it came: seconds or a date. */
  readonly retry_after: string | null
}

/** Why an endpoint gave no answer: a stable word of the API. */
export const UnansweredCode = Schema.Literals([
  "dns_error",
  "blocked_address",
  "connection_refused",
  "connection_reset",
  "tls_error",
  "timeout",
  "protocol_error"
])
export type UnansweredCode = typeof UnansweredCode.Type

/**
 * Which addresses of networks that are not public may be posted to, over http
 * too: null for none, as it must be in production. For development and tests.
 */
export const AllowedAddresses = Context.Reference<((address: string) => boolean) | null>(
  "@messaging-crm/core/WebhookTransport/AllowedAddresses",
  { defaultValue: () => null }
)

// -------------------------------------------------------------- errors

/** No answer came, or none that can be understood. The endpoint may have got the request. */
export class WebhookRequestFailed extends Schema.TaggedError<WebhookRequestFailed>()("WebhookRequestFailed", {
  failure_code: UnansweredCode
}) {}

// ---------------------------------------------------------------- port

/**
 * Port: posts one signed request to an endpoint that we do not trust.
 *
 * **Contract** (checked by `conformance/WebhookTransport.ts`)
 *
 * - The endpoint gets the body byte for byte and every given header.
 * - Any answer with a status is an answer, whatever its body; a redirect is not followed.
 * - It ends within 15 seconds, whatever the endpoint does: with `timeout` when
 *   no status came by then. A body that goes on is left unread.
 * - Nothing is ever sent to an address that is neither public nor allowed:
 *   that is `blocked_address`, however the name resolved a moment ago.
 */
export class WebhookTransport extends Context.Service<WebhookTransport, {
  readonly post: (request: WebhookRequest) => Effect.Effect<WebhookAnswer, WebhookRequestFailed>
}>()("@messaging-crm/core/WebhookTransport") {}
