/** Translates domain errors that several operations share into API errors. */
import type { CustomValueInvalid, ReferenceUnknown, TagsTooMany } from "@messaging-crm/core/Contacts"
import type { UpsertRejection } from "@messaging-crm/core/ContactUpserts"
import type { TemplateNotApproved, TemplateValuesMismatch } from "@messaging-crm/core/Templates"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"

export const concurrentChanges = () => Errors.failUntil(Texts.concurrentChanges, 1)

export const cursorInvalid = () =>
  Errors.invalid(
    "cursor",
    "The cursor is not valid for this list and these filters. Request the first page without a cursor."
  )

export const contactUnnamed = () => Errors.failWith(Texts.contactUnnamed)

export const referenceUnknown = (error: ReferenceUnknown) => Errors.failWith(Texts.referenceUnknown(error))

export const customValueInvalid = (error: CustomValueInvalid) => Errors.failWith(Texts.customValueInvalid(error))

export const tagsTooMany = ({ limit }: TagsTooMany) => Errors.failWith(Texts.tagsTooMany(limit))

/** Returns what is wrong with one of many contacts. */
export const rejectionText = (
  rejected: UpsertRejection
): Texts.ErrorText<"conflict" | "invalid_input" | "not_found"> => {
  switch (rejected._tag) {
    case "ContactUnnamed":
      return Texts.contactUnnamed
    case "CustomValueInvalid":
      return Texts.customValueInvalid(rejected)
    case "ReferenceUnknown":
      return Texts.referenceUnknown(rejected)
    case "TagsTooMany":
      return Texts.tagsTooMany(rejected.limit)
    case "ContactAmbiguous":
      return Texts.contactAmbiguous(rejected.match)
    case "ConcurrentChanges":
      return {
        code: "conflict",
        message: "Concurrent requests kept changing the contact. Send it again with a new Idempotency-Key.",
        param: null
      }
    case "ContactNotFound":
      return { code: "not_found", message: "The contact was not found.", param: null }
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
