/** An example of the error body for each error code. */
import { limits } from "@messaging-crm/core/Limits"
import { Context } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import * as Texts from "../ErrorTexts.ts"
import { Example } from "../Examples.ts"
import { rulesFor } from "../Pipeline.ts"

const request_id = "019aa0c2-5b00-7000-8000-00000000000b"

const body = ({ code, message, param }: Texts.ErrorText) => ({
  value: { error: { code, message, param, request_id } }
})

/** The examples that all operations share. */
export const rejections = {
  invalid_json: body(Texts.invalidJson),
  invalid_input: body(Texts.unknownField("nickname")),
  missing_idempotency_key: body(Texts.missingIdempotencyKey),
  unauthorized: body(Texts.unauthorized),
  idempotency_conflict: body(Texts.idempotencyConflict),
  request_processing: body(Texts.requestProcessing),
  body_too_large: body(Texts.bodyTooLarge),
  unsupported_media_type: body(Texts.unsupportedMediaType),
  rate_limited: body(Texts.rateLimited(limits.requests_per_minute, 5)),
  storage_exhausted: body(Texts.storageExhausted(limits.stored_bytes_max)),
  internal_error: body(Texts.internalError),
  search_timeout: body(Texts.searchTimeout),
  provider_unavailable: body(Texts.providerUnavailable)
}

type Code = keyof typeof rejections

/** The error codes of a write, by status. A read has neither a body nor a key that could be rejected. */
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

/** Returns the name of the resource that the last ID of a path identifies. */
const resourceOf = ({ path }: HttpApiEndpoint.Top): string => /.*:(\w+)_id/.exec(path)?.[1] ?? "resource"

const write_statuses = new Set(["409", "413", "415", "507"])

/** Returns whether an operation can respond with a status of its middleware. */
export const canReject = (status: string, isWrite: boolean): boolean => isWrite || !write_statuses.has(status)

/** Returns the examples of an operation's errors with a status, by code. */
export const rejectionsOf = (endpoint: HttpApiEndpoint.Top, status: string) => {
  const { idempotency, scope } = rulesFor(endpoint)
  const isWrite = idempotency !== null
  const { conflict } = Context.get(endpoint.annotations, Example)
  const shared = (codes[status] ?? []).filter((code) => isWrite || status !== "400" || code === "invalid_input")
  return {
    ...(status === "403" ? { insufficient_scope: body(Texts.insufficientScope(scope)) } : {}),
    ...(status === "409" && conflict !== undefined ? { conflict: body(conflict) } : {}),
    ...(status === "404" ? { not_found: body(Texts.notFound(resourceOf(endpoint))) } : {}),
    ...Object.fromEntries(shared.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
  }
}
