import { Context, type Effect, Schema } from "effect"
import { NoResponseCode } from "../kernel/DeliveryFailure.ts"

// ---------------------------------------------------------------- data

/** One signed request. */
export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The response of an endpoint. Only its status decides whether the attempt succeeded. */
export interface WebhookResponse {
  readonly status: number
  /** The first 4 KiB of the body, as text. */
  readonly body: string
  /** The unparsed `Retry-After` header: seconds or a date. */
  readonly retry_after: string | null
}

/**
 * Decides which non-public addresses webhooks may use, with http or https. Null
 * allows none, which production requires. For development and tests.
 */
export const AllowedAddresses = Context.Reference<((address: string) => boolean) | null>(
  "@messaging-crm/core/WebhookTransport/AllowedAddresses",
  { defaultValue: () => null }
)

// -------------------------------------------------------------- errors

/** No valid response was received. The endpoint may have received the request. */
export class WebhookRequestFailed extends Schema.TaggedError<WebhookRequestFailed>()("WebhookRequestFailed", {
  failure_code: NoResponseCode
}) {}

// ---------------------------------------------------------------- port

/**
 * Port: posts one signed request to an untrusted endpoint.
 *
 * **Contract** (checked by `conformance/WebhookTransport.ts`)
 *
 * - The endpoint receives the exact bytes of the body, and every given header.
 * - Every response with a status is returned, even a redirect, which is not followed.
 * - `post` ends within 15 seconds, with `timeout` if no status was received by then.
 *   The rest of a longer body is not read.
 * - Nothing is ever sent to an address that is neither public nor allowed: that is
 *   `blocked_address`. The address that is connected to is the one that was checked.
 */
export class WebhookTransport extends Context.Service<WebhookTransport, {
  readonly post: (request: WebhookRequest) => Effect.Effect<WebhookResponse, WebhookRequestFailed>
}>()("@messaging-crm/core/WebhookTransport") {}
