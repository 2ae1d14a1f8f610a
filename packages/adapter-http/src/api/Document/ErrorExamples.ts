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
  invalid_json: body("invalid_json", "The body is not valid JSON. Check its syntax and its encoding (UTF-8)."),
  invalid_input: body(
    "invalid_input",
    "Unknown field or parameter: colour. Check its spelling or remove it.",
    "colour"
  ),
  missing_idempotency_key: body(
    "missing_idempotency_key",
    "The Idempotency-Key header is missing or invalid. Send 8 to 200 printable ASCII characters.",
    "Idempotency-Key"
  ),
  unauthorized: body(
    "unauthorized",
    "The API key is missing, invalid, expired, or revoked. Send a valid key: Authorization: Bearer <key>."
  ),
  idempotency_conflict: body(
    "idempotency_conflict",
    "This Idempotency-Key was already used for a different request. Use a new key.",
    "Idempotency-Key"
  ),
  request_processing: body(
    "request_processing",
    "The outcome of this request is not known yet. Wait the number of seconds in the Retry-After header, then retry with the same Idempotency-Key."
  ),
  body_too_large: body("body_too_large", "The body exceeds 64 KiB (65,536 bytes). Send less data in one request."),
  unsupported_media_type: body(
    "unsupported_media_type",
    "The media type is not supported. Send uncompressed UTF-8 JSON with Content-Type: application/json."
  ),
  rate_limited: body("rate_limited", "The API key exceeded its limit of 120 requests per minute. Retry after 5 s."),
  storage_exhausted: body(
    "storage_exhausted",
    "The organization reached its limit of 10000000000 bytes for idempotency records (kept 72 hours) and deliveries (kept 30 days). Retry later."
  ),
  internal_error: body(
    "internal_error",
    "An internal error occurred. Retry a read, or a write with the same Idempotency-Key. If it recurs, contact the operator and quote this request_id."
  ),
  search_timeout: body(
    "search_timeout",
    "The search took too long. Use a longer query or fewer filters, or retry after 1 s."
  ),
  provider_unavailable: body(
    "provider_unavailable",
    "The messaging provider is unavailable. Nothing was changed. Wait the number of seconds in the Retry-After header, then retry."
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

const statusesOfWrites = new Set(["409", "413", "415", "507"])

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
      ? {
        insufficient_scope: body("insufficient_scope", `The API key lacks the scope ${scope}. Use a key that has it.`)
      }
      : {}),
    ...(status === "409" && conflict !== undefined
      ? { conflict: body("conflict", conflict.message, conflict.param) }
      : {}),
    ...(status === "404"
      ? {
        not_found: body(
          "not_found",
          `No ${resourceOf(endpoint)} with this ID exists in this organization. Check the ID.`
        )
      }
      : {}),
    ...Object.fromEntries(shared.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
  }
}
