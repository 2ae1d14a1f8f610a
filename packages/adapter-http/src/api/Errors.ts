/**
 * The error bodies of the API (contract §3.3), one schema per status, and their constructors.
 *
 * Core's errors contain nothing about HTTP. Handlers, middleware, and `ErrorMapping.ts` translate them with the
 * constructors below and the texts of `ErrorTexts.ts`; a domain error that is not translated does not compile.
 */
import { RequestId } from "@messaging-crm/core/Actor"
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import * as Texts from "./ErrorTexts.ts"

/** The ID of the current request, as in its `X-Request-Id` header. */
export const requestId = Effect.map(RequestId, (id) => id ?? "unknown")

const body = <const Codes extends ReadonlyArray<string>>(
  identifier: string,
  status: number,
  codes: Codes,
  description: string
) =>
  Schema.Struct({
    error: Schema.Struct({
      code: Schema.Literals(codes),
      message: Schema.String.annotate({
        description: "Human-readable text. Its wording can change, so do not parse it."
      }),
      param: Schema.NullOr(Schema.String).annotate({
        description:
          "Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none."
      }),
      request_id: Schema.String.annotate({
        description: "The response's `X-Request-Id`; in a replay, that of the original response."
      })
    })
  }).annotate({ identifier, description }).pipe(HttpApiSchema.status(status))

const retryAfter = {
  "retry-after": Schema.String.annotate({ description: "Seconds to wait before the next attempt." })
}

export const BadRequest = body(
  "BadRequest",
  400,
  ["invalid_json", "invalid_input", "missing_idempotency_key"],
  "The request is invalid; `param` identifies the field, parameter, or header. Nothing was changed."
)
/** The 400 of a request without a body. */
export const InvalidInput = body(
  "InvalidInput",
  400,
  ["invalid_input"],
  "A parameter, field, or reference is invalid; `param` identifies it. Nothing was changed."
)
export const Unauthorized = body(
  "Unauthorized",
  401,
  ["unauthorized"],
  "The API key is missing, invalid, expired, or revoked, or the member for whom it was created is no longer an owner or admin."
)
export const Forbidden = body("Forbidden", 403, ["insufficient_scope"], "The API key lacks the operation's scope.")
export const NotFound = body("NotFound", 404, ["not_found"], "The organization has no resource with this ID.")
export const Conflict = body(
  "Conflict",
  409,
  ["conflict", "idempotency_conflict", "request_processing"],
  "The resource's state does not allow the operation, the Idempotency-Key was used for a different request, or the outcome of the request with that key is not known yet."
)
/** A conflict that a retry of the request can resolve. */
export const RetryableConflict = HttpApiSchema.WithHeaders(Conflict, retryAfter)
/** The conflict of an operation that itself decides none. */
export const KeyConflict = body(
  "KeyConflict",
  409,
  ["idempotency_conflict", "request_processing"],
  "The Idempotency-Key was used for a different request, or the outcome of the request with that key is not known yet."
)
export const PreconditionFailed = body(
  "PreconditionFailed",
  412,
  ["precondition_failed"],
  "The contact does not match `If-Match`: it has changed since it was read. Nothing was changed, and the Idempotency-Key can be used again."
)
export const Gone = body("Gone", 410, ["cursor_expired"], "Events after the cursor may be missing.")
export const BodyTooLarge = body("BodyTooLarge", 413, ["body_too_large"], `The body exceeds ${Texts.body_max}.`)
export const UnsupportedMediaType = body(
  "UnsupportedMediaType",
  415,
  ["unsupported_media_type"],
  "The body is not `application/json`."
)
export const TooManyRequests = HttpApiSchema.WithHeaders(
  body(
    "TooManyRequests",
    429,
    ["rate_limited"],
    "The API key exceeded its rate limit, or too many requests of its organization wait for events."
  ),
  retryAfter
)
export const InternalError = body(
  "InternalError",
  500,
  ["internal_error"],
  "An internal error occurred. You can safely retry a read. Retry a write only with the same Idempotency-Key. Before you retry a write without an Idempotency-Key, read the resource."
)
export const InsufficientStorage = HttpApiSchema.WithHeaders(
  body(
    "InsufficientStorage",
    507,
    ["storage_exhausted"],
    "The organization used up its storage for idempotency records, events, and webhook deliveries. Reads still work, and so do retries whose response is already recorded."
  ),
  retryAfter
)
export const SearchTimeout = HttpApiSchema.WithHeaders(
  body("SearchTimeout", 503, ["search_timeout"], "The search took too long."),
  retryAfter
)
export const ProviderUnavailable = HttpApiSchema.WithHeaders(
  body("ProviderUnavailable", 503, ["provider_unavailable"], "The messaging provider is unavailable."),
  retryAfter
)

/** The statuses of the codes that an operation decides. Only these errors are recorded under an idempotency key. */
const recorded_statuses: Readonly<Record<string, number>> = { conflict: 409, not_found: 404 }

/** Returns the status of an error that is recorded; undefined for any other, after which the key can be used again. */
export const recordedStatusOf = (error: unknown): number | undefined => {
  // A middleware does not see the type of an error: a body above, or `{ body, headers }` with a `Retry-After` header. The latter
  // is not recorded, whatever its code is.
  const { error: rejection } = error as { readonly error?: { readonly code: string } }
  return rejection === undefined ? undefined : recorded_statuses[rejection.code]
}

/** Makes the error body for the current request. What it repeats of a request can have unpaired surrogates, which many parsers reject. */
const errorBodyOf = <Code extends string>({ code, message, param }: Texts.ErrorText<Code>) =>
  Effect.map(requestId, (request_id) => ({
    error: { code, message: message.toWellFormed(), param: param?.toWellFormed() ?? null, request_id }
  }))

/** Responds with the error body of a text, outside of the contract's endpoints. */
export const respondWith = (
  text: Texts.ErrorText,
  options: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
) => Effect.map(errorBodyOf(text), (body) => HttpServerResponse.jsonUnsafe(body, options))

/** Fails with the error body of a text. */
export const failWith = <Code extends string>(text: Texts.ErrorText<Code>) =>
  Effect.flatMap(errorBodyOf(text), Effect.fail)

/** Fails with the error body of a text and a `Retry-After` header. */
export const failUntil = <Code extends string>(text: Texts.ErrorText<Code>, retry_after_seconds: number) =>
  Effect.flatMap(
    errorBodyOf(text),
    (body) => Effect.fail(HttpApiSchema.withHeaders({ body, headers: { "retry-after": String(retry_after_seconds) } }))
  )

/** Fails with `invalid_input` for a parameter. */
export const invalid = (param: string, message: string) => failWith({ code: "invalid_input", message, param })
