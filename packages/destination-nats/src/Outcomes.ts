/** How the answers and errors of NATS become the outcome of an attempt. */
import { WebhookRequestFailed, type WebhookResponse } from "@messaging-crm/core/WebhookTransport"
import { JetStreamApiError, type PubAck } from "@nats-io/jetstream"
import { errors } from "@nats-io/transport-node"
import { Effect } from "effect"
import { Disconnected } from "./Connection.ts"

const respond = (status: number, body: string): Effect.Effect<WebhookResponse> =>
  Effect.succeed({ status, body, retry_after: null })

const fail = (failure_code: WebhookRequestFailed["failure_code"]) =>
  Effect.fail(new WebhookRequestFailed({ failure_code }))

/** Returns the response of a stream that has stored an event, or had stored it before. */
export const stored = ({ duplicate, seq, stream }: PubAck): Effect.Effect<WebhookResponse> =>
  respond(200, JSON.stringify({ stream, seq, duplicate }))

/** Returns the status of an error of JetStream, whose statuses are those of HTTP. A 410 would disable the webhook. */
const errorStatus = (status: number): number => status >= 400 && status <= 599 && status !== 410 ? status : 500

/** Returns the outcome of a failed attempt. The event may have been stored, so a later attempt has the same ID. */
export const failed = (error: unknown): Effect.Effect<WebhookResponse, WebhookRequestFailed> => {
  if (error instanceof JetStreamApiError) return respond(errorStatus(error.status), error.message)
  const cause = error instanceof Error ? error.cause : undefined
  const isUnheard = [error, cause].some((each) =>
    each instanceof errors.NoRespondersError || (each instanceof errors.RequestError && each.isNoResponders())
  )
  if (isUnheard) return respond(503, "No stream stores the subject.")
  if (error instanceof errors.PermissionViolationError) return respond(403, "The user cannot publish to the subject.")
  if (error instanceof errors.AuthorizationError) return respond(401, "NATS rejected the credentials.")
  if (error instanceof errors.InvalidArgumentError) return respond(413, "The event exceeds the maximum size of NATS.")
  if (error instanceof errors.TimeoutError || cause instanceof errors.TimeoutError) return fail("timeout")
  if (error instanceof Disconnected) return fail("connection_refused")
  const text = `${error} ${cause}`
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return fail("dns_error")
  if (/certificate|TLS|SSL/i.test(text)) return fail("tls_error")
  return fail(/refused/i.test(text) ? "connection_refused" : "connection_reset")
}
