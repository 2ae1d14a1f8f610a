/**
 * The middleware of every endpoint, as declared in the API, in the order in which a request passes it: `Authentication`,
 * `JsonBody`, `IdempotentWrites`, `InvalidInput`.
 *
 * Each class lists the errors of its step, for the OpenAPI
 * document and for generated clients. The implementations are in `middleware/`.
 */
import type { CurrentActor } from "@messaging-crm/core/Actor"
import { key_pattern } from "@messaging-crm/core/Idempotency"
import { limits } from "@messaging-crm/core/Limits"
import { type KeyedOperation, type KeyedWrite, operations, rulesOf } from "@messaging-crm/core/Operations"
import { jsonSchemaOnly } from "@messaging-crm/core/Text"
import { Context, Option, Schema } from "effect"
import { type HttpApiEndpoint, HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import * as Errors from "./Errors.ts"
import type { ErrorText } from "./ErrorTexts.ts"

/** Endpoint annotation: the operation that it runs. Core's table has its scope and its idempotency policy. */
export class Runs extends Context.Service<Runs, KeyedOperation>()("@messaging-crm/adapter-http/api/Pipeline/Runs") {}

/**
 * Endpoint annotation of an endpoint outside of the contract: it runs no operation, needs no scope, and takes no slot, because
 * the requests that it makes do.
 */
export class RunsNothing extends Context.Service<RunsNothing, true>()(
  "@messaging-crm/adapter-http/api/Pipeline/RunsNothing"
) {}

/** Returns the operation that an endpoint runs, or null. Throws if the endpoint does not say which: a key would need no scope. */
export const operationOf = (
  { annotations, identifier }: Pick<HttpApiEndpoint.Top, "annotations" | "identifier">
): KeyedOperation | null => {
  const runs = Context.getOrUndefined(annotations, Runs)
  if (runs !== undefined) return runs
  if (Context.getOrUndefined(annotations, RunsNothing) === true) return null
  throw new Error(`The endpoint ${identifier} has no annotation Runs or RunsNothing, so its scope is not known`)
}

/** Returns the rules of the operation that an endpoint runs. */
export const rulesFor = ({ annotations }: HttpApiEndpoint.Top) => rulesOf(Context.getUnsafe(annotations, Runs))

/** Endpoint annotation: the body is optional. */
export class OptionalBody extends Context.Service<OptionalBody, true>()(
  "@messaging-crm/adapter-http/api/Pipeline/OptionalBody"
) {}

/** Endpoint annotation: a success has the `ETag` of its body. */
export class Tagged extends Context.Service<Tagged, true>()("@messaging-crm/adapter-http/api/Pipeline/Tagged") {}

/** Returns whether a success of an endpoint has an `ETag`. */
export const isTagged = ({ annotations }: HttpApiEndpoint.Top): boolean =>
  Option.isSome(Context.getOption(annotations, Tagged))

/** The request header of a conditional write. `EntityTags` parses it. */
export const ifMatch = {
  "if-match": Schema.optionalKey(
    Schema.String.annotate({
      description:
        "The `ETag` of the contact as you read it, or a list of them. If the contact has changed since, the response is 412 and nothing changes. `*` matches every existing contact.",
      examples: ["\"5f0c7e7d1d1b4f3c9a61c7a3d2b84e90\""]
    })
  )
}

// `IdempotentWrites` checks the header, because a malformed one has an error code of its own.
const form = jsonSchemaOnly({
  minLength: limits.idempotency_key_chars_min,
  maxLength: limits.idempotency_key_chars_max,
  pattern: key_pattern.source
})

const key = Schema.String.check(form).annotate({
  description:
    `${limits.idempotency_key_chars_min} to ${limits.idempotency_key_chars_max} printable ASCII characters, without spaces at the ends. For at least 24 hours, a retry with the same key and body returns the original response.`,
  examples: ["order-4711-ready"]
})

const keyHeaders = {
  required: { "idempotency-key": key },
  optional: { "idempotency-key": Schema.optionalKey(key) }
}

/** Returns the request headers of a write: its `Idempotency-Key`, required or optional. */
export const keyHeaderOf = <O extends KeyedWrite>(operation: O) =>
  // The compiler widens a generic lookup to all policies.
  keyHeaders[operations[operation].idempotency] as typeof keyHeaders[typeof operations[O]["idempotency"]]

/** The body of the current request, read and parsed once. */
export class RequestBody extends Context.Service<RequestBody, {
  /** The parsed body; undefined when there is none. */
  readonly json: unknown
  /** The defect of a body that is valid JSON: a repeated key, or too deep nesting. */
  readonly flaw: ErrorText<"invalid_input"> | null
}>()("@messaging-crm/adapter-http/api/Pipeline/RequestBody") {}

const bearer = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Format, "svc_live_ and 43 characters"),
  HttpApiSecurity.annotate(
    OpenApi.Description,
    "An organization's API key, `svc_live_` and 43 characters. The scope that an operation requires is in its `x-required-scope`."
  )
)

/** Authenticates the API key, applies its rate limit, and requires the endpoint's scope. */
export class Authentication extends HttpApiMiddleware.Service<Authentication, {
  provides: CurrentActor
}>()("@messaging-crm/adapter-http/api/Pipeline/Authentication", {
  security: { bearer },
  error: [Errors.Unauthorized, Errors.Forbidden, Errors.TooManyRequests, Errors.InternalError]
}) {}

/** Reads the body and requires JSON within the size limit. */
export class JsonBody extends HttpApiMiddleware.Service<JsonBody, {
  provides: RequestBody
}>()("@messaging-crm/adapter-http/api/Pipeline/JsonBody", {
  error: [Errors.BadRequest, Errors.BodyTooLarge, Errors.UnsupportedMediaType]
}) {}

/** Replays the recorded response to a retried write. */
export class IdempotentWrites extends HttpApiMiddleware.Service<IdempotentWrites, {
  requires: CurrentActor | RequestBody
}>()("@messaging-crm/adapter-http/api/Pipeline/IdempotentWrites", {
  error: [Errors.BadRequest, Errors.KeyConflict, Errors.RetryableConflict, Errors.InsufficientStorage]
}) {}

/** Rejects a request that does not match its schema, with `invalid_input` and the invalid field. */
export class InvalidInput extends HttpApiMiddleware.Service<InvalidInput, {
  requires: RequestBody
}>()("@messaging-crm/adapter-http/api/Pipeline/InvalidInput", {
  error: Errors.InvalidInput
}) {}
