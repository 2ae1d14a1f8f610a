/** Translates domain errors that several operations or middleware share into API errors. */
import type { CustomValueInvalid, ReferenceUnknown, TagsTooMany } from "@messaging-crm/core/Contacts"
import type { UpsertRejection } from "@messaging-crm/core/ContactUpserts"
import { IdempotencyConflict, type KeyError, RequestProcessing } from "@messaging-crm/core/Idempotency"
import type { InsufficientScope } from "@messaging-crm/core/Operations"
import { StorageExhausted } from "@messaging-crm/core/StorageUse"
import type { TemplateNotApproved, TemplateValuesMismatch } from "@messaging-crm/core/Templates"
import * as WriteTime from "@messaging-crm/core/WriteTime"
import { Cause, Effect } from "effect"
import * as Errors from "./Errors.ts"
import * as Texts from "./ErrorTexts.ts"

export const concurrentChanges = () => Errors.failUntil(Texts.concurrentChanges, 1)

export const cursorInvalid = () => Errors.failWith(Texts.cursorInvalid)

export const afterInvalid = () => Errors.failWith(Texts.afterInvalid)

export const cursorExpired = () => Errors.failWith(Texts.cursorExpired)

export const insufficientScope = ({ required }: InsufficientScope) => Errors.failWith(Texts.insufficientScope(required))

export const searchTimeout = () => Errors.failUntil(Texts.searchTimeout, 1)

export const providerUnavailable = () => Errors.failUntil(Texts.providerUnavailable, 5)

export const externalIdUnreadable = () => Errors.failWith(Texts.externalIdUnreadable)

export const contactChanged = () => Errors.failWith(Texts.preconditionFailed)

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
    case "ExternalIdErased":
      return Texts.externalIdErased
    case "ExternalIdUnreadable":
      return Texts.externalIdUnreadable
    case "ConcurrentChanges":
      return Texts.contactChanging
    case "ContactNotFound":
      return Texts.contactAbsent
  }
}

/** Responses to errors about the template of a send. */
export const template = {
  ProviderUnavailable: providerUnavailable,
  TemplateNotFound: () => Errors.failWith(Texts.templateNotFound),
  TemplateNotApproved: (error: TemplateNotApproved) => Errors.failWith(Texts.templateNotApproved(error)),
  TemplateValuesMismatch: ({ detail }: TemplateValuesMismatch) => Errors.invalid("template.components", detail)
}

const isKeyError = (error: unknown): error is KeyError =>
  error instanceof IdempotencyConflict || error instanceof RequestProcessing || error instanceof StorageExhausted

const failWithKeyError = Effect.fnUntraced(function*(error: KeyError) {
  switch (error._tag) {
    case "IdempotencyConflict":
      return yield* Errors.failWith(Texts.idempotencyConflict)
    case "RequestProcessing":
      return yield* Errors.failUntil(Texts.requestProcessing, 1)
    case "StorageExhausted":
      // Records are removed hourly.
      return yield* Errors.failUntil(Texts.storageExhausted(error.limit), 3600)
  }
})

/** Translates the errors of an idempotency key and of its record into API errors. */
export const withKeyErrors = <A, E, R>(effect: Effect.Effect<A, E | KeyError, R>) =>
  Effect.catchIf(effect, isKeyError, failWithKeyError)

const isWriteTimeOver = (error: unknown): error is WriteTime.WriteTimeOver => error instanceof WriteTime.WriteTimeOver

const failTooLate = Effect.fnUntraced(function*({ may_have_written }: WriteTime.WriteTimeOver, hasKey: boolean) {
  if (!may_have_written) return yield* Errors.failUntil(Texts.writeTooLate, 1)
  if (hasKey) return yield* Errors.failUntil(Texts.requestProcessing, 1)
  return yield* Effect.die(new Cause.TimeoutError("The write took longer than its time limit"))
})

/** Runs a write within its time. A retry with the key finds out whether a commit without a result took effect. */
export const withinWriteTime = <A, E, R>(write: Effect.Effect<A, E, R>, hasKey: boolean) =>
  Effect.catchIf(WriteTime.within(write), isWriteTimeOver, (error) => failTooLate(error, hasKey))
