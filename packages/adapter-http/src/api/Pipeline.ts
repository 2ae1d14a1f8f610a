/**
 * What happens to every request before its handler, as part of the contract.
 *
 * The classes say which errors each step may answer with, so the OpenAPI
 * document and a generated client know them. Their code is in `middleware/`.
 */
import type { CurrentActor } from "@messaging-crm/core/Actor"
import type { Scope } from "@messaging-crm/core/ApiKeys"
import { key_pattern } from "@messaging-crm/core/Idempotency"
import { limits } from "@messaging-crm/core/Limits"
import { checkedElsewhere } from "@messaging-crm/core/Text"
import { Context, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import * as Errors from "./Errors.ts"

/** Endpoint annotation: the one scope the operation requires. */
export class RequiredScope extends Context.Service<RequiredScope, Scope>()(
  "@messaging-crm/adapter-http/api/Pipeline/RequiredScope"
) {}

/** Endpoint annotation: whether the write must or may carry an `Idempotency-Key`. */
export class IdempotencyPolicy extends Context.Service<IdempotencyPolicy, "required" | "optional">()(
  "@messaging-crm/adapter-http/api/Pipeline/IdempotencyPolicy"
) {}

/** Endpoint annotation: the answer holds a secret, so it is remembered encrypted. */
export class SecretAnswer extends Context.Service<SecretAnswer, true>()(
  "@messaging-crm/adapter-http/api/Pipeline/SecretAnswer"
) {}

/** Endpoint annotation: the operation takes a body, and does without one too. */
export class OptionalBody extends Context.Service<OptionalBody, true>()(
  "@messaging-crm/adapter-http/api/Pipeline/OptionalBody"
) {}

// The step that reads it checks it, and answers with a code of its own.
const form = checkedElsewhere({
  minLength: limits.idempotency_key_chars_min,
  maxLength: limits.idempotency_key_chars_max,
  pattern: key_pattern.source
})

const key = Schema.String.check(form).annotate({
  description:
    "8 to 200 printable ASCII characters, without spaces at the ends; quotes around them do not count. A retry with the same key and body gets the first answer, byte for byte. Remembered for at least 24 hours.",
  examples: ["order-4711-ready"]
})

/** Request headers of a write that must carry an `Idempotency-Key`. */
export const RequiredIdempotencyKey = { "idempotency-key": key }

/** Request headers of a write that may carry an `Idempotency-Key`. */
export const OptionalIdempotencyKey = { "idempotency-key": Schema.optionalKey(key) }

/** The body of the current request, read and parsed once. */
export class RequestBody extends Context.Service<RequestBody, {
  /** The parsed body; undefined when there is none. */
  readonly json: unknown
  /** What is wrong with it beyond being JSON: a name given twice, too deep a nesting. */
  readonly flaw: { readonly param: string; readonly message: string } | null
}>()("@messaging-crm/adapter-http/api/Pipeline/RequestBody") {}

const bearer = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Format, "svc_live_ and 43 characters"),
  HttpApiSecurity.annotate(
    OpenApi.Description,
    "An organization's API key, `svc_live_` and 43 characters. Each operation names the one scope it needs in `x-required-scope`."
  )
)

/** Step 1: the key is good, has requests left this minute and has the endpoint's scope. */
export class Admission extends HttpApiMiddleware.Service<Admission, {
  provides: CurrentActor
}>()("@messaging-crm/adapter-http/api/Pipeline/Admission", {
  security: { bearer },
  error: [Errors.Unauthorized, Errors.Forbidden, Errors.TooManyRequests, Errors.InternalError]
}) {}

/** Step 2: the body is JSON and small enough. */
export class JsonBody extends HttpApiMiddleware.Service<JsonBody, {
  provides: RequestBody
}>()("@messaging-crm/adapter-http/api/Pipeline/JsonBody", {
  error: [Errors.BadRequest, Errors.BodyTooLarge, Errors.UnsupportedMediaType]
}) {}

/** Step 3: a retried write answers as before. */
export class IdempotentWrites extends HttpApiMiddleware.Service<IdempotentWrites, {
  requires: CurrentActor | RequestBody
}>()("@messaging-crm/adapter-http/api/Pipeline/IdempotentWrites", {
  error: [Errors.BadRequest, Errors.Conflict]
}) {}

/** Step 4: what does not decode is `invalid_input`, naming the field. */
export class InvalidInput extends HttpApiMiddleware.Service<InvalidInput, {
  requires: RequestBody
}>()("@messaging-crm/adapter-http/api/Pipeline/InvalidInput", {
  error: Errors.BadRequest
}) {}
