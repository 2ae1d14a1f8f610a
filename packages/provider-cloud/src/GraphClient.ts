/** Calls the Graph API, and reports what is certain about a request that failed. */
import { isUnconnected } from "@messaging-crm/core/ConnectionErrors"
import { Data, DateTime, Effect, Option, Schema } from "effect"
import {
  FetchHttpClient,
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import type { CloudAccount } from "./CloudAccounts.ts"
import type { CloudSettings } from "./CloudSettings.ts"
import type { GraphError } from "./ErrorCodes.ts"
import { lenient } from "./GraphSchemas.ts"

/** The request was not sent, so it had no effect. */
export class NotSent extends Data.TaggedError("NotSent")<{}> {}

/** The network responded with an error body. `ErrorCodes.ts` says what each code means for a send. */
export class Rejected extends Data.TaggedError("Rejected")<{ readonly reported: GraphError }> {}

/** The request was sent, but its response was lost or is unusable. It may have had an effect. */
export class ResponseLost extends Data.TaggedError("ResponseLost")<{}> {}

export type CallError = NotSent | Rejected | ResponseLost

const errorOf = ({ reason }: HttpClientError.HttpClientError): NotSent | ResponseLost => {
  switch (reason._tag) {
    case "EncodeError":
    case "InvalidUrlError":
      return new NotSent()
    case "TransportError":
      return isUnconnected(reason.cause) ? new NotSent() : new ResponseLost()
    default:
      return new ResponseLost()
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

/** The JSON of a successful response, and its time by the network's clock, if the network reports it: a whole second. */
export interface GraphResponse {
  readonly body: unknown
  readonly date: Option.Option<DateTime.Utc>
}

/** Returns the JSON of a successful response and its time. Fails with `Rejected` for an error body, and with `ResponseLost` otherwise. */
const responseOf = Effect.fnUntraced(function*(response: HttpClientResponse.HttpClientResponse) {
  const text = yield* Effect.mapError(response.text, errorOf)
  const body = Option.getOrUndefined(decodeJson(text))
  const error = decodeErrorBody(body)
  if (Option.isSome(error)) {
    const { code, error_subcode, fbtrace_id, is_transient = false } = error.value.error
    const { status } = response
    yield* Effect.logDebug("The network rejected a request").pipe(
      Effect.annotateLogs({ code, error_subcode, status, fbtrace_id })
    )
    const retry_after_seconds = retryAfter(response)
    return yield* new Rejected({
      reported: { code, error_subcode: error_subcode ?? null, is_transient, status, retry_after_seconds }
    })
  }
  if (response.status < 200 || response.status > 299 || body === undefined) return yield* new ResponseLost()
  const graphResponse: GraphResponse = { body, date: DateTime.make(response.headers["date"] ?? "") }
  return graphResponse
})

/** Returns the base URL for the requests of an account, without a slash at the end. */
export const baseUrlOf = (
  { base_url, photo_social_base_url, version }: CloudSettings,
  account: CloudAccount
): string => {
  const hasOwnLogin = account.type === "photo_social" && account.page_id === null
  return `${(hasOwnLogin ? photo_social_base_url : base_url).replace(/\/+$/, "")}/${version}`
}

/** Sends one request with an account's token. A request that is interrupted may have had an effect. */
export const callForResponse = (
  client: HttpClient.HttpClient,
  { token }: CloudAccount,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<GraphResponse, CallError> =>
  client.execute(HttpClientRequest.bearerToken(request, token)).pipe(
    Effect.mapError(errorOf),
    Effect.flatMap(responseOf),
    // A redirect could lead to an address that is in no setting.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    // Trace headers are not sent to third parties.
    Effect.provideService(HttpClient.TracerPropagationEnabled, false)
  )

/** The same, and returns only the JSON of the response. */
export const call = (
  ...request: Parameters<typeof callForResponse>
): Effect.Effect<unknown, CallError> => Effect.map(callForResponse(...request), ({ body }) => body)
