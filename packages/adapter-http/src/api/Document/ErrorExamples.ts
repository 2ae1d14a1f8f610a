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
  invalid_input: body(Texts.unknownField("unknown_field")),
  missing_idempotency_key: body(Texts.missingIdempotencyKey),
  unauthorized: body(Texts.unauthorized),
  cursor_expired: body(Texts.cursorExpired),
  idempotency_conflict: body(Texts.idempotencyConflict),
  request_processing: body(Texts.requestProcessing),
  precondition_failed: body(Texts.preconditionFailed),
  body_too_large: body(Texts.bodyTooLarge),
  unsupported_media_type: body(Texts.unsupportedMediaType),
  rate_limited: body(Texts.rateLimited(limits.requests_per_minute, 5)),
  storage_exhausted: body(Texts.storageExhausted(limits.stored_bytes_max)),
  internal_error: body(Texts.internalError),
  search_timeout: body(Texts.searchTimeout),
  provider_unavailable: body(Texts.providerUnavailable)
}

/** Returns the name of the resource that the last ID of a path identifies. */
const resourceOf = ({ path }: HttpApiEndpoint.Top): string => /.*:(\w+)_id/.exec(path)?.[1] ?? "resource"

const write_statuses = new Set(["409", "413", "415", "507"])

/** Returns whether an operation can respond with a status of its middleware. */
export const canReject = (status: string, isWrite: boolean): boolean => isWrite || !write_statuses.has(status)

/** Returns the examples of the errors of an operation, by their codes. */
export const rejectionsOf = (endpoint: HttpApiEndpoint.Top, codes: ReadonlyArray<string>) => {
  const { conflict = Texts.concurrentChanges } = Context.get(endpoint.annotations, Example)
  const own: Readonly<Record<string, object>> = {
    conflict: body(conflict),
    insufficient_scope: body(Texts.insufficientScope(rulesFor(endpoint).scope)),
    not_found: body(Texts.notFound(resourceOf(endpoint)))
  }
  return Object.fromEntries(codes.map((code) => [code, own[code] ?? { $ref: `#/components/examples/${code}` }]))
}
