/** Destinations of events other than HTTP endpoints, which operators enable and choose (contract §14.19). */
import { Context, Effect, Result } from "effect"
import type { Actor } from "../kernel/Actor.ts"
import { type WebhookRequest, WebhookRequestFailed, type WebhookTransport } from "./WebhookTransport.ts"

// ---------------------------------------------------------------- data

/**
 * Port: a destination for the webhooks whose URL has its protocol.
 *
 * **Contract** (checked by `destination-nats/test/Outcomes.test.ts` and `destination-nats/nats/JetStream.test.ts`)
 *
 * - `post` returns a status from 200 to 299 only after the destination has stored the event, so that each event is published
 *   at least once. Attempts of an event have the same `webhook-id`, by which the destination or its readers can discard
 *   duplicates.
 * - `post` returns 410 only to disable the webhook.
 * - `post` ends within 15 seconds.
 *
 * The schedule, health, replays, and retries are those of every webhook.
 */
export interface Destination {
  /** The beginning of its URLs, such as `nats:`. */
  readonly protocol: string
  /** Returns why a webhook cannot have this URL, as a sentence; null if it can. */
  readonly rejectionOf: (url: string) => string | null
  readonly post: WebhookTransport["Service"]["post"]
}

/** The enabled destinations. None by default. */
export const Destinations = Context.Reference<ReadonlyArray<Destination>>("@messaging-crm/core/Destinations", {
  defaultValue: () => []
})

// ----------------------------------------------------------- decisions

const find = (destinations: ReadonlyArray<Destination>, url: string): Destination | undefined =>
  destinations.find(({ protocol }) => url.startsWith(`${protocol}//`))

/**
 * Returns the destination of a URL that an actor gives to a webhook. An API key has none: its holder must not choose subjects
 * or queues of the operator.
 */
export const destinationFor = (
  destinations: ReadonlyArray<Destination>,
  url: string,
  { scopes }: Actor
): Destination | undefined => scopes === undefined ? find(destinations, url) : undefined

/** Returns the URL as it is stored, or why a webhook with this destination cannot have it, as a sentence. */
export const acceptedBy = ({ rejectionOf }: Destination, url: string): Result.Result<string, string> => {
  const reason = rejectionOf(url)
  return reason === null ? Result.succeed(url) : Result.fail(reason)
}

// ---------------------------------------------------------- operations

/** Returns the function that posts a request to the destination of its URL, or over HTTP. A disabled destination fails. */
export const makePost = (destinations: ReadonlyArray<Destination>, transport: WebhookTransport["Service"]) =>
(
  request: WebhookRequest
): ReturnType<Destination["post"]> => {
  const destination = find(destinations, request.url)
  if (destination !== undefined) return destination.post(request)
  return /^https?:/.test(request.url)
    ? transport.post(request)
    : Effect.fail(new WebhookRequestFailed({ failure_code: "protocol_error" }))
}
