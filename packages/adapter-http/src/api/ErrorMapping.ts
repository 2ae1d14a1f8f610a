/** Translates the errors of operations into API errors. */
import type { ExternalIdUnreadable } from "@messaging-crm/core/ContactIdentities"
import type {
  ContactChanged,
  ContactNotFound,
  ContactUnnamed,
  CustomValueInvalid,
  NotesTooLong,
  ReferenceUnknown,
  SearchTimeout,
  TagsTooMany
} from "@messaging-crm/core/Contacts"
import type { UpsertRejection } from "@messaging-crm/core/ContactUpserts"
import type { ConversationNotFound } from "@messaging-crm/core/Conversations"
import type { ConcurrentChanges } from "@messaging-crm/core/Decide"
import type { CursorExpired, TooManyFollowers } from "@messaging-crm/core/EventFollowers"
import type { EventNotFound } from "@messaging-crm/core/Events"
import type { KeyError } from "@messaging-crm/core/Idempotency"
import type { MessageNotFound } from "@messaging-crm/core/Messages"
import type { ProviderUnavailable, TextTooLong } from "@messaging-crm/core/MessagingProvider"
import type { InsufficientScope } from "@messaging-crm/core/Operations"
import type { CursorInvalid } from "@messaging-crm/core/Page"
import type { RecipientErased, ReplyWindowClosed, SendNotFound } from "@messaging-crm/core/Sends"
import type { TagNameTaken, TooManyTags } from "@messaging-crm/core/Tags"
import type { TemplateNotApproved, TemplateNotFound, TemplateValuesMismatch } from "@messaging-crm/core/Templates"
import type { WebhookDeliveryNotFound } from "@messaging-crm/core/WebhookDeliveries"
import type { ReplayInProgress, SinceOutOfRange } from "@messaging-crm/core/WebhookReplays"
import type { TooManySecrets, TooManyWebhooks, WebhookNotFound, WebhookUrlRejected } from "@messaging-crm/core/Webhooks"
import * as WriteTime from "@messaging-crm/core/WriteTime"
import { Cause, Effect, Predicate } from "effect"
import * as Errors from "./Errors.ts"
import * as Texts from "./ErrorTexts.ts"

/** The errors that have one API error each, whatever the operation. */
type Translated =
  | ConcurrentChanges
  | ContactChanged
  | ContactNotFound
  | ContactUnnamed
  | ConversationNotFound
  | CursorExpired
  | CursorInvalid
  | CustomValueInvalid
  | EventNotFound
  | ExternalIdUnreadable
  | InsufficientScope
  | KeyError
  | MessageNotFound
  | NotesTooLong
  | ProviderUnavailable
  | RecipientErased
  | ReferenceUnknown
  | ReplayInProgress
  | ReplyWindowClosed
  | SearchTimeout
  | SendNotFound
  | SinceOutOfRange
  | TagNameTaken
  | TagsTooMany
  | TemplateNotApproved
  | TemplateNotFound
  | TemplateValuesMismatch
  | TextTooLong
  | TooManyFollowers
  | TooManySecrets
  | TooManyTags
  | TooManyWebhooks
  | WebhookDeliveryNotFound
  | WebhookNotFound
  | WebhookUrlRejected

const translations = {
  ConcurrentChanges: () => Errors.failUntil(Texts.concurrentChanges, 1),
  ContactChanged: () => Errors.failWith(Texts.preconditionFailed),
  ContactNotFound: () => Errors.failWith(Texts.notFound("contact")),
  ContactUnnamed: () => Errors.failWith(Texts.contactUnnamed),
  ConversationNotFound: () => Errors.failWith(Texts.notFound("conversation")),
  CursorExpired: () => Errors.failWith(Texts.cursorExpired),
  CursorInvalid: () => Errors.failWith(Texts.cursorInvalid),
  CustomValueInvalid: (error) => Errors.failWith(Texts.customValueInvalid(error)),
  EventNotFound: () => Errors.failWith(Texts.notFound("event")),
  ExternalIdUnreadable: () => Errors.failWith(Texts.externalIdUnreadable),
  IdempotencyConflict: () => Errors.failWith(Texts.idempotencyConflict),
  InsufficientScope: ({ required }) => Errors.failWith(Texts.insufficientScope(required)),
  MessageNotFound: () => Errors.failWith(Texts.notFound("message")),
  NotesTooLong: ({ limit }) => Errors.failWith(Texts.notesTooLong(limit)),
  ProviderUnavailable: () => Errors.failUntil(Texts.providerUnavailable, 5),
  RecipientErased: () => Errors.failWith(Texts.recipientErased),
  ReferenceUnknown: (error) => Errors.failWith(Texts.referenceUnknown(error)),
  ReplayInProgress: () => Errors.failWith(Texts.replayInProgress),
  ReplyWindowClosed: () => Errors.failWith(Texts.replyWindowClosed),
  RequestProcessing: () => Errors.failUntil(Texts.requestProcessing, 1),
  SearchTimeout: () => Errors.failUntil(Texts.searchTimeout, 1),
  SendNotFound: () => Errors.failWith(Texts.notFound("send")),
  SinceOutOfRange: () => Errors.failWith(Texts.sinceOutOfRange),
  // Records are removed hourly.
  StorageExhausted: ({ limit }) => Errors.failUntil(Texts.storageExhausted(limit), 3600),
  TagNameTaken: ({ name }) => Errors.failWith(Texts.tagNameTaken(name)),
  TagsTooMany: ({ limit }) => Errors.failWith(Texts.tagsTooMany(limit)),
  TemplateNotApproved: (error) => Errors.failWith(Texts.templateNotApproved(error)),
  TemplateNotFound: () => Errors.failWith(Texts.templateNotFound),
  TemplateValuesMismatch: ({ detail }) => Errors.invalid("template.components", detail),
  TextTooLong: (error) => Errors.failWith(Texts.textTooLong(error)),
  TooManyFollowers: () => Errors.failUntil(Texts.tooManyFollowers, 5),
  TooManySecrets: ({ limit }) => Errors.failWith(Texts.tooManySecrets(limit)),
  TooManyTags: ({ limit }) => Errors.failWith(Texts.tooManyTags(limit)),
  TooManyWebhooks: ({ limit }) => Errors.failWith(Texts.tooManyWebhooks(limit)),
  WebhookDeliveryNotFound: () => Errors.failWith(Texts.notFound("delivery")),
  WebhookNotFound: () => Errors.failWith(Texts.notFound("webhook")),
  WebhookUrlRejected: ({ reason }) => Errors.invalid("url", reason)
} satisfies {
  readonly [Tag in Translated["_tag"]]: (
    error: Extract<Translated, { readonly _tag: Tag }>
  ) => Effect.Effect<never, unknown>
}

/** The API error of an error; the error itself if it is not among those above. */
type ApiError<E> = E extends Translated ? Effect.Error<ReturnType<typeof translations[E["_tag"]]>> : E

const byTag = new Map<string, (error: never) => Effect.Effect<never, unknown>>(Object.entries(translations))

const translateError = (error: unknown): Effect.Effect<never, unknown> => {
  const tag = Predicate.hasProperty(error, "_tag") ? String(error._tag) : ""
  // The compiler cannot see that a translation belongs to the tag of its error.
  return byTag.get(tag)?.(error as never) ?? Effect.fail(error)
}

/**
 * Translates the errors that have one API error each. An endpoint whose API error differs catches the error first, and one
 * that is not translated does not compile.
 */
export const translate = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, ApiError<E>, R> =>
  Effect.catch(effect, translateError as (error: E) => Effect.Effect<never, ApiError<E>>)

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

const isWriteTimeOver = (error: unknown): error is WriteTime.WriteTimeOver => error instanceof WriteTime.WriteTimeOver

const failTooLate = Effect.fnUntraced(function*({ may_have_written }: WriteTime.WriteTimeOver, hasKey: boolean) {
  if (!may_have_written) return yield* Errors.failUntil(Texts.writeTooLate, 1)
  if (hasKey) return yield* Errors.failUntil(Texts.requestProcessing, 1)
  return yield* Effect.die(new Cause.TimeoutError("The write took longer than its time limit"))
})

/** Runs a write within its time. A retry with the key finds out whether a commit without a result took effect. */
export const withinWriteTime = <A, E, R>(write: Effect.Effect<A, E, R>, hasKey: boolean) =>
  Effect.catchIf(WriteTime.within(write), isWriteTimeOver, (error) => failTooLate(error, hasKey))
