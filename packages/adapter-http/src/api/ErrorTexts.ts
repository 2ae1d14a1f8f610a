/**
 * The texts of the API's errors, for responses, the results of single contacts, and the examples of the OpenAPI document.
 *
 * Only `SchemaIssues.ts` composes others, and core words what is wrong with a webhook's URL and with a template's values.
 */
import type { CustomValueInvalid, ReferenceUnknown } from "@messaging-crm/core/Contacts"
import { limits } from "@messaging-crm/core/Limits"
import type { TextTooLong } from "@messaging-crm/core/MessagingProvider"
import type { TemplateNotApproved } from "@messaging-crm/core/Templates"
import { unseenIn } from "@messaging-crm/core/Text"

/** The code, the message, and the field at fault of an error. */
export interface ErrorText<Code extends string = string> {
  readonly code: Code
  readonly message: string
  readonly param: string | null
}

const text = <const Code extends string>(
  code: Code,
  message: string,
  param: string | null = null
): ErrorText<Code> => ({ code, message, param })

const message_chars_max = 159

/** Adds to a message the characters of the rejected value that cannot be seen, as many as its length allows. */
export const withUnseen = (message: string, value: string): string => {
  const found = unseenIn(value)
  const named = (count: number) =>
    `${message} Invisible characters: ${found.slice(0, count).join(", ")}${count < found.length ? ", …" : ""}.`
  let count = Math.min(found.length, message_chars_max)
  while (count > 0 && named(count).length > message_chars_max) count -= 1
  return count === 0 ? message : named(count)
}

/** Returns a number for readers, with commas between thousands. */
export const grouped = (number: number): string => number.toLocaleString("en")

/** The maximum size of a body, for readers. */
export const body_max = `${limits.body_bytes_max / 1024} KiB`

// ------------------------------------------------- errors of every operation

export const endpointUnknown = text(
  "not_found",
  "No endpoint exists at this path. API paths start with /v1 and have no trailing slash."
)

export const methodNotAllowed = (allow: string) =>
  text("method_not_allowed", `This endpoint does not support the request method. Use one of: ${allow}.`)

export const invalidJson = text(
  "invalid_json",
  "The body is not valid JSON. Check its syntax and its encoding (UTF-8)."
)

export const bodyEmpty = text("invalid_json", "The body is empty. Send a JSON object.")

export const bodyCutShort = text("invalid_json", "The body is shorter than its Content-Length. Send the complete body.")

export const bodyNotObject = text("invalid_input", "The body must be a JSON object.")

export const nestedTooDeep = (param: string) =>
  text("invalid_input", `The body is nested deeper than ${limits.json_depth_max} levels.`, param)

export const fieldRepeated = (param: string) =>
  text("invalid_input", `${param} is repeated. Send each field once.`, param)

/** Returns a name for a message: an empty one in quotes, so that it can be seen. */
export const shown = (param: string): string => param === "" ? "\"\"" : param

export const parameterMisencoded = (name: string) =>
  text("invalid_input", `The parameter ${shown(name)} is not percent-encoded UTF-8. Encode it as UTF-8.`, name)

export const parameterRepeated = (name: string) =>
  text("invalid_input", `The parameter ${shown(name)} is repeated. Send it once.`, name)

export const parameterUnexpected = (name: string) =>
  text("invalid_input", `This operation accepts no query parameters. Remove ${shown(name)}.`, name)

export const fieldUnexpected = (name: string) =>
  text("invalid_input", `This operation accepts no fields in its body. Remove ${shown(name)}.`, name)

export const cursorInvalid = text(
  "invalid_input",
  "The cursor is not valid for this list and these filters. Request the first page without a cursor.",
  "cursor"
)

export const afterInvalid = text(
  "invalid_input",
  "after must be start, now, or the next_cursor of a page with after and the same type.",
  "after"
)

export const lastEventIdInvalid = text(
  "invalid_input",
  "Last-Event-ID must be the id of a stream with the same type. Remove it, or send the last id that you received.",
  "Last-Event-ID"
)

export const cursorExpired = text(
  "cursor_expired",
  "Events after this cursor may be missing. Continue with after=now, and read the missed events with since.",
  "after"
)

export const notWithAfter = (param: string) =>
  text("invalid_input", `${param} cannot be combined with after. Remove one of them.`, param)

export const waitWithoutAfter = text("invalid_input", "wait requires after. Add after, or remove wait.", "wait")

export const notInStream = (param: string) =>
  text("invalid_input", `${param} cannot be combined with Accept: text/event-stream. Remove one of them.`, param)

export const tooManyFollowers = text(
  "rate_limited",
  "Too many requests of this organization wait for events. Retry after 5 s, send wait=0, or close some of them."
)

export const unknownField = (name: string) =>
  text("invalid_input", `Unknown field or parameter: ${name}. Check its spelling or remove it.`, name)

export const missingIdempotencyKey = text(
  "missing_idempotency_key",
  `The Idempotency-Key header is missing or invalid. Send ${limits.idempotency_key_chars_min} to ${limits.idempotency_key_chars_max} printable ASCII characters.`,
  "Idempotency-Key"
)

export const unauthorized = text(
  "unauthorized",
  "The API key is missing, invalid, expired, or revoked. Send a valid key: Authorization: Bearer <key>."
)

export const insufficientScope = (scope: string | null) =>
  text("insufficient_scope", `The API key lacks the scope ${scope}. Use a key that has it.`)

export const notFound = (resource: string) =>
  text("not_found", `No ${resource} with this ID exists in this organization. Check the ID.`)

export const idempotencyConflict = text(
  "idempotency_conflict",
  "This Idempotency-Key was already used for a different request. Use a new key.",
  "Idempotency-Key"
)

export const requestProcessing = text(
  "request_processing",
  "The outcome of this request is not known yet. Wait the number of seconds in the Retry-After header, then retry with the same Idempotency-Key."
)

export const bodyTooLarge = text(
  "body_too_large",
  `The body exceeds ${body_max} (${grouped(limits.body_bytes_max)} bytes). Send less data in one request.`
)

export const unsupportedMediaType = text(
  "unsupported_media_type",
  "The media type is not supported. Send uncompressed UTF-8 JSON with Content-Type: application/json."
)

export const rateLimited = (limit: number, retry_after_seconds: number) =>
  text(
    "rate_limited",
    `The API key exceeded its limit of ${limit} requests per minute. Retry after ${retry_after_seconds} s.`
  )

export const storageExhausted = (limit: number) =>
  text(
    "storage_exhausted",
    `The organization reached its limit of ${limit} bytes for idempotency records (kept 72 hours), events, and deliveries (kept 30 days). Retry later.`
  )

export const internalError = text(
  "internal_error",
  "An internal error occurred. You can retry a read. Retry a write only with the same Idempotency-Key. If it recurs, contact the operator and quote this request_id."
)

export const searchTimeout = text(
  "search_timeout",
  "The search took too long. Use a longer query or more selective filters, or retry after 1 s."
)

export const providerUnavailable = text(
  "provider_unavailable",
  "The messaging provider is unavailable. Nothing was changed. Wait the number of seconds in the Retry-After header, then retry."
)

// ------------------------------------------------- errors of a contact

export const contactUnnamed = text(
  "invalid_input",
  "A contact must have a first name, last name, phone, or email. Send at least one of them.",
  "first_name"
)

export const preconditionFailed = text(
  "precondition_failed",
  "The contact has changed since you read it. Get it again, then repeat the change with its new ETag.",
  "If-Match"
)

export const ifMatchInvalid = text(
  "invalid_input",
  "If-Match must be * or a list of entity tags in quotation marks. Send the ETag of the contact unchanged.",
  "If-Match"
)

export const contactAmbiguous = (match: string) =>
  text(
    "conflict",
    `More than one contact has this ${match}. Make the value unique, or match by another field.`,
    match
  )

export const externalIdErased = text(
  "invalid_input",
  "external_id must not be that of an erased identity. Use the person's ID on the network.",
  "external_id"
)

export const externalIdUnreadable = text(
  "invalid_input",
  "external_id is not certain to be one phone number. Send it with + and the country code, or send another ID of the network.",
  "external_id"
)

export const contactChanging = text(
  "conflict",
  "Concurrent requests kept changing the contact. Send it again with a new Idempotency-Key."
)

export const contactAbsent = text("not_found", "The contact was not found.")

export const customValueInvalid = ({ param, type, value }: CustomValueInvalid) =>
  text("invalid_input", withUnseen(`${param} must be a valid value for a ${type} field.`, value), param)

/** Where the IDs of a field are listed. */
const listOf = (param: string): string => {
  switch (param) {
    case "channel_id":
      return "GET /channels"
    case "tag_ids":
    case "add_tag_ids":
    case "remove_tag_ids":
      return "GET /tags"
    case "owner_user_id":
    case "assigned_user_id":
      return "GET /members"
    default:
      return "GET /contact-fields"
  }
}

export const referenceUnknown = ({ param, value }: ReferenceUnknown) =>
  text(
    "invalid_input",
    `${param}: ${JSON.stringify(value)} does not exist in this organization. List valid values with ${listOf(param)}.`,
    param
  )

// ------------------------------------------------- errors of one resource

export const concurrentChanges = text(
  "conflict",
  "Other requests kept changing the resource at the same time, so this request changed nothing. Retry it."
)

export const writeTooLate = text(
  "conflict",
  "The database did not start this write in time, so it changed nothing. Retry it."
)

export const tagsTooMany = (limit: number) =>
  text(
    "conflict",
    `The contact would have more than ${limit} tags. Remove some of them in the same request with remove_tag_ids.`,
    "add_tag_ids"
  )

export const notesTooLong = (limit: number) =>
  text(
    "conflict",
    `The contact's notes would exceed ${limit} characters. Shorten them first: update the contact with \`notes\`.`,
    "text"
  )

export const unassignedExcluded = text(
  "invalid_input",
  "unassigned must be absent if assigned_user_id is present.",
  "unassigned"
)

export const templateChannelRequired = text(
  "invalid_input",
  "channel_id must be the ID of a phone_messaging channel. List channels with GET /channels.",
  "channel_id"
)

export const templatesUnsupported = text(
  "invalid_input",
  "Templates are supported on phone_messaging channels only. Send a text instead.",
  "type"
)

export const templateNotFound = text(
  "invalid_input",
  "The channel's business account has no template with this template.id. List templates with GET /templates.",
  "template.id"
)

export const templateNotApproved = ({ status }: TemplateNotApproved) =>
  text(
    "invalid_input",
    `The template cannot be sent because its status is ${status}. Use a template with status APPROVED.`,
    "template.id"
  )

export const textTooLong = ({ channel_type, max, unit }: TextTooLong) =>
  text("invalid_input", `text must be at most ${max} ${unit} long on ${channel_type} channels. Shorten it.`, "text")

export const recipientErased = text(
  "conflict",
  "The personal data of this conversation was erased, so there is no address to send to. Start a new conversation if the person wants messages."
)

export const replyWindowClosed = text(
  "conflict",
  "The reply window is closed: the contact sent no message in the last 24 hours. Send a template, if the channel has templates, or wait for the contact to write.",
  "type"
)

export const mediaLinkInvalid = text(
  "not_found",
  "The media link is invalid or has expired. Get the message again for a new link."
)

export const tooManyDownloads = text("overloaded", "Too many files are being downloaded. Retry after 1 s.")

export const organizationClosed = text(
  "organization_closed",
  "The organization is being moved, or its database has not been reached yet. Nothing was changed. Retry after 1 s, a write with the same Idempotency-Key."
)

export const tooManyTags = (limit: number) =>
  text("conflict", `The organization has reached its limit of ${limit} tags. Use an existing tag.`)

export const tagNameTaken = (name: string) =>
  text("conflict", `A tag named "${name}" already exists. Choose another name.`, "name")

export const tooManyWebhooks = (limit: number) =>
  text("conflict", `The organization has reached its limit of ${limit} active webhooks. Disable one first.`)

export const tooManySecrets = (limit: number) =>
  text(
    "conflict",
    `The webhook has reached its limit of ${limit} active signing secrets. A former secret expires 24 hours after it was replaced. Wait until one expires.`
  )

export const webhookNotChanged = text(
  "conflict",
  "The webhook is disabled and cannot be changed. Create a new webhook."
)

export const deliveryNotRetried = text(
  "conflict",
  "The webhook is disabled, so its deliveries cannot be retried. Create a new webhook."
)

export const nothingPosted = text(
  "conflict",
  "The webhook is disabled, so the service posts no events to it. Create a new webhook."
)

export const sinceOutOfRange = text("invalid_input", "since must be a time within the last 30 days.", "since")

export const replayInProgress = text(
  "conflict",
  "A replay for this webhook is already in progress. Wait until it ends."
)
