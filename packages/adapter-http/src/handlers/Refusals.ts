/** How domain errors that several operations share are told to a caller. */
import type { CustomValueInvalid, ReferenceUnknown } from "@messaging-crm/core/Contacts"
import type { TemplateNotApproved, TemplateValuesMismatch } from "@messaging-crm/core/Templates"
import * as Errors from "../api/Errors.ts"

export const cursorInvalid = () =>
  Errors.invalid("cursor", "cursor is not one that this list issued for these filters. Start again without it.")

export const contactUnnamed = () =>
  Errors.invalid("first_name", "A contact needs at least a first or last name, a phone or an email.")

export const referenceUnknown = ({ param }: ReferenceUnknown) =>
  Errors.invalid(param, `${param} names something that this organization does not have.`)

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
