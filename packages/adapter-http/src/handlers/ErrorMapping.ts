/** Translates domain errors that several operations share into API errors. */
import type { CustomValueInvalid, ReferenceUnknown } from "@messaging-crm/core/Contacts"
import type { TemplateNotApproved, TemplateValuesMismatch } from "@messaging-crm/core/Templates"
import { Effect } from "effect"
import * as Errors from "../api/Errors.ts"
import { addResponseHeaders } from "../middleware/Headers.ts"

/** Not stored under the idempotency key, because a retry can succeed. */
export const concurrentChanges = () =>
  Effect.andThen(
    addResponseHeaders({ "retry-after": "1" }),
    Errors.fail("conflict", "Other requests kept changing the resource. Nothing was changed. Send the request again.")
  )

export const cursorInvalid = () =>
  Errors.invalid("cursor", "cursor is not one that this list issued for these filters. Start again without it.")

export const contactUnnamed = () =>
  Errors.invalid("first_name", "A contact needs at least a first or last name, a phone or an email.")

/** Where the ids of a field are listed. */
const listOf = (param: string): string => {
  switch (param) {
    case "channel_id":
      return "GET /channels"
    case "tag_ids":
      return "GET /tags"
    case "owner_user_id":
    case "assigned_user_id":
      return "GET /members"
    default:
      return "GET /contact-fields"
  }
}

export const referenceUnknown = ({ param, value }: ReferenceUnknown) =>
  Errors.invalid(param, `${param}: the organization has no ${JSON.stringify(value)}. See ${listOf(param)}.`)

export const customValueInvalid = ({ param, type }: CustomValueInvalid) =>
  Errors.invalid(param, `${param} is not a value of a ${type} field.`)

/** What can be wrong with the template of a send. */
export const template = {
  ProviderUnavailable: Errors.providerUnavailable,
  TemplateNotFound: () =>
    Errors.invalid(
      "template.id",
      "template.id is not a template of the channel's business account. See GET /templates."
    ),
  TemplateNotApproved: ({ status }: TemplateNotApproved) =>
    Errors.invalid("template.id", `The template may not be sent: its status is ${status}, not APPROVED.`),
  TemplateValuesMismatch: ({ detail }: TemplateValuesMismatch) => Errors.invalid("template.components", detail)
}
