/** Translates domain errors that several operations share into API errors. */
import type { CustomValueInvalid, ReferenceUnknown, TagsTooMany } from "@messaging-crm/core/Contacts"
import type { UpsertRejection } from "@messaging-crm/core/ContactUpserts"
import type { TemplateNotApproved, TemplateValuesMismatch } from "@messaging-crm/core/Templates"
import { Effect } from "effect"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { addResponseHeaders } from "../middleware/Headers.ts"

/** Not stored under the idempotency key, because a retry can succeed. */
export const concurrentChanges = () =>
  Effect.andThen(
    addResponseHeaders({ "retry-after": "1" }),
    Errors.fail(
      "conflict",
      "Other requests kept changing the resource at the same time, so this request changed nothing. Retry it."
    )
  )

export const cursorInvalid = () =>
  Errors.invalid(
    "cursor",
    "The cursor is not valid for this list and these filters. Request the first page without a cursor."
  )

export const contactUnnamed = () =>
  Errors.invalid(
    "first_name",
    "A contact must have a first name, last name, phone, or email. Send at least one of them."
  )

/** Where the ids of a field are listed. */
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
  Errors.invalid(
    param,
    `${param}: ${JSON.stringify(value)} does not exist in this organization. List valid values with ${listOf(param)}.`
  )

export const customValueInvalid = ({ param, type }: CustomValueInvalid) =>
  Errors.invalid(param, `${param} must be a valid value for a ${type} field.`)

export const tagsTooMany = ({ limit }: TagsTooMany) => Errors.failWith(Texts.tagsTooMany(limit))

/** The rejection of one contact of an upsert. */
interface Rejected {
  readonly error: {
    readonly code: "conflict" | "invalid_input" | "not_found"
    readonly message: string
    readonly param: string | null
  }
}

/** Fails with what is wrong with one of many contacts. */
export const contactRejected = (rejected: UpsertRejection): Effect.Effect<never, Rejected> => {
  switch (rejected._tag) {
    case "ContactUnnamed":
      return contactUnnamed()
    case "CustomValueInvalid":
      return customValueInvalid(rejected)
    case "ReferenceUnknown":
      return referenceUnknown(rejected)
    case "TagsTooMany":
      return tagsTooMany(rejected)
    case "ContactAmbiguous":
      return Errors.fail(
        "conflict",
        `More than one contact has this ${rejected.match}. Make the value unique, or match by another field.`,
        rejected.match
      )
    case "ConcurrentChanges":
      return Errors.fail(
        "conflict",
        "Concurrent requests kept changing the contact. Send it again with a new Idempotency-Key."
      )
    case "ContactNotFound":
      return Errors.fail("not_found", "The contact was not found.")
  }
}

/** Responses to errors about the template of a send. */
export const template = {
  ProviderUnavailable: Errors.providerUnavailable,
  TemplateNotFound: () =>
    Errors.invalid(
      "template.id",
      "The channel's business account has no template with this template.id. List templates with GET /templates."
    ),
  TemplateNotApproved: ({ status }: TemplateNotApproved) =>
    Errors.invalid(
      "template.id",
      `The template cannot be sent because its status is ${status}. Use a template with status APPROVED.`
    ),
  TemplateValuesMismatch: ({ detail }: TemplateValuesMismatch) => Errors.invalid("template.components", detail)
}
