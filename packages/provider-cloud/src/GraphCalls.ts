/** Calls of the Graph API, and what is certain about a request that failed. */
import { Data, Effect, Option, Schema } from "effect"
import {
  FetchHttpClient,
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import type { CloudAccount } from "./CloudAccounts.ts"
import type { CloudSettings } from "./CloudSettings.ts"
import type { Refusal } from "./ErrorCodes.ts"
import { lenient } from "./GraphJson.ts"

/** The request was not sent, so it had no effect. */
export class NotSent extends Data.TaggedError("NotSent")<{}> {}

/** The network answered with an error body, so the request had no effect. */
export class Refused extends Data.TaggedError("Refused")<{ readonly refusal: Refusal }> {}

/** The request was sent, and no usable answer came. It may have had an effect. */
export class AnswerLost extends Data.TaggedError("AnswerLost")<{}> {}

export type CallError = NotSent | Refused | AnswerLost

/** Error codes of connections that were never established: DNS, routing, refused, or TLS. */
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

/** Returns the code of a runtime error, which is on the error or on its cause. */
const codeOf = (error: unknown): string => {
  // Reading a field of any object is safe, and the type of its value is checked.
  const { cause, code } = Object(error) as { readonly cause?: unknown; readonly code?: unknown }
  return typeof code === "string" || cause === undefined ? String(code) : codeOf(cause)
}

const failed = ({ reason }: HttpClientError.HttpClientError): NotSent | AnswerLost => {
  switch (reason._tag) {
    case "EncodeError":
    case "InvalidUrlError":
      return new NotSent()
    case "TransportError":
      return unconnected.has(codeOf(reason.cause)) ? new NotSent() : new AnswerLost()
    default:
      return new AnswerLost()
  }
}

const ErrorBody = Schema.Struct({
  error: Schema.Struct({
    code: Schema.Int,
    error_subcode: lenient(Schema.Int),
    is_transient: lenient(Schema.Boolean),
    fbtrace_id: lenient(Schema.String)
  })
})
const decodeErrorBody = Schema.decodeUnknownOption(ErrorBody)
const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

const retryAfter = ({ headers }: HttpClientResponse.HttpClientResponse): number | null => {
  const value = headers["retry-after"]
  return value !== undefined && /^[0-9]{1,6}$/.test(value) ? Number(value) : null
}

/** Returns the JSON of a successful answer. Fails for an error body, and for anything else as a lost answer. */
const interpret = Effect.fnUntraced(function*(response: HttpClientResponse.HttpClientResponse) {
  const text = yield* Effect.mapError(response.text, failed)
  const body = Option.getOrUndefined(decodeJson(text))
  const error = decodeErrorBody(body)
  if (Option.isSome(error)) {
    const { code, error_subcode, fbtrace_id, is_transient = false } = error.value.error
    const { status } = response
    yield* Effect.logDebug("The network rejected a request").pipe(
      Effect.annotateLogs({ code, error_subcode, status, fbtrace_id })
    )
    const retry_after_seconds = retryAfter(response)
    return yield* new Refused({
      refusal: { code, error_subcode: error_subcode ?? null, is_transient, status, retry_after_seconds }
    })
  }
  if (response.status < 200 || response.status > 299 || body === undefined) return yield* new AnswerLost()
  return body
})

/** Returns the base URL for the requests of an account, without a slash at the end. */
export const rootOf = (
  { base_url, photo_social_base_url, version }: CloudSettings,
  account: CloudAccount
): string => {
  const isOwn = account.type === "photo_social" && account.page_id === null
  return `${(isOwn ? photo_social_base_url : base_url).replace(/\/+$/, "")}/${version}`
}

/** Sends one request with an account's token. A request that is interrupted may have had an effect. */
export const call = (
  client: HttpClient.HttpClient,
  { token }: CloudAccount,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<unknown, CallError> =>
  client.execute(HttpClientRequest.bearerToken(request, token)).pipe(
    Effect.mapError(failed),
    Effect.flatMap(interpret),
    // A redirect leads to an address that no setting names.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    // Trace headers are not sent to third parties.
    Effect.provideService(HttpClient.TracerPropagationEnabled, false)
  )
