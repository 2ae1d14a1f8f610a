/** An example of the error body for each error code. */
import { Context } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { Example } from "../Examples.ts"
import { rulesFor } from "../Pipeline.ts"

const request_id = "019aa0c2-5b00-7000-8000-00000000000b"

const body = (code: string, message: string, param: string | null = null) => ({
  value: { error: { code, message, param, request_id } }
})

/** The examples that all operations share. */
export const refusals = {
  invalid_json: body("invalid_json", "The body is not valid JSON."),
  invalid_input: body("invalid_input", "colour is not known here.", "colour"),
  missing_idempotency_key: body(
    "missing_idempotency_key",
    "This operation needs an Idempotency-Key header of 8 to 200 printable ASCII characters.",
    "Idempotency-Key"
  ),
  unauthorized: body(
    "unauthorized",
    "The API key is missing, malformed, expired or revoked, or its creator may no longer hold keys."
  ),
  idempotency_conflict: body(
    "idempotency_conflict",
    "The Idempotency-Key was used before for another request. Use a new key for a new request.",
    "Idempotency-Key"
  ),
  request_processing: body("request_processing", "A request with this Idempotency-Key is running. Try again."),
  body_too_large: body("body_too_large", "The body exceeds 64 KiB (65,536 bytes)."),
  unsupported_media_type: body(
    "unsupported_media_type",
    "The body must be JSON in UTF-8, not compressed, and named so: Content-Type: application/json."
  ),
  rate_limited: body("rate_limited", "More than 120 requests this minute with this key. Wait 5 s."),
  storage_exhausted: body(
    "storage_exhausted",
    "The organization has used up its 10000000000 bytes for idempotency records and deliveries. They expire after 72 hours and 30 days."
  ),
  internal_error: body("internal_error", "The service failed. The request id finds the cause in its log."),
  search_timeout: body(
    "search_timeout",
    "The search took too long. Use a longer query or fewer filters, or retry after 1 s."
  ),
  provider_unavailable: body(
    "provider_unavailable",
    "The messaging provider cannot be reached now. Nothing was changed; try again."
  )
}

type Code = keyof typeof refusals

/** The error codes of a write, by status. A read has neither a body nor a key that could be refused. */
const codes: Readonly<Record<string, ReadonlyArray<Code>>> = {
  400: ["invalid_input", "invalid_json", "missing_idempotency_key"],
  401: ["unauthorized"],
  409: ["idempotency_conflict", "request_processing"],
  413: ["body_too_large"],
  415: ["unsupported_media_type"],
  429: ["rate_limited"],
  500: ["internal_error"],
  503: ["provider_unavailable", "search_timeout"],
  507: ["storage_exhausted"]
}

/** What the last id of a path names. */
const resourceOf = ({ path }: HttpApiEndpoint.Top): string => /.*:(\w+)_id/.exec(path)?.[1] ?? "resource"

const statusesOfWrites = new Set(["409", "413", "415"])

/** Returns whether an operation can answer with a status of its middleware. */
export const canRefuse = (status: string, isWrite: boolean): boolean => isWrite || !statusesOfWrites.has(status)

/** Returns the examples of an operation's errors with a status, by code. */
export const refusalsOf = (endpoint: HttpApiEndpoint.Top, status: string) => {
  const { idempotency, scope } = rulesFor(endpoint)
  const isWrite = idempotency !== null
  const { conflict } = Context.get(endpoint.annotations, Example)
  const shared = (codes[status] ?? []).filter((code) => isWrite || status !== "400" || code === "invalid_input")
  return {
    ...(status === "403"
      ? { insufficient_scope: body("insufficient_scope", `This operation needs a key with the scope ${scope}.`) }
      : {}),
    ...(status === "409" && conflict !== undefined
      ? { conflict: body("conflict", conflict.message, conflict.param) }
      : {}),
    ...(status === "404" ? { not_found: body("not_found", `There is no such ${resourceOf(endpoint)}.`) } : {}),
    ...Object.fromEntries(shared.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
  }
}
