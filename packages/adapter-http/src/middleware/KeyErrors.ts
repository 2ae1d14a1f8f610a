import { IdempotencyConflict, RequestProcessing } from "@messaging-crm/core/Idempotency"
import { StorageExhausted } from "@messaging-crm/core/StorageUse"
import { Effect, Predicate } from "effect"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { addResponseHeaders } from "./Headers.ts"

/** Errors of an idempotency key and of its record. */
type KeyError = IdempotencyConflict | RequestProcessing | StorageExhausted

const isKeyError = (error: unknown): error is KeyError =>
  error instanceof IdempotencyConflict || error instanceof RequestProcessing || error instanceof StorageExhausted

/** The errors that a retry of the request can resolve. Other errors of the same status are not among them. */
const retryable = new WeakSet<object>()

/** Fails with an error that a retry can resolve: it is not recorded, and its response has `Retry-After`. */
export const failRetryable = <Code extends string>(text: Texts.ErrorText<Code>) =>
  Effect.tapError(Errors.failWith(text), (error) => Effect.sync(() => retryable.add(error)))

/** Returns whether `failRetryable` made the error. */
export const isRetryable = (error: unknown): boolean => Predicate.isObject(error) && retryable.has(error)

/** Adds `Retry-After` to the response if the effect fails with an error that a retry can resolve. */
export const withRetryAfter = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tapError(effect, (error) => isRetryable(error) ? addResponseHeaders({ "retry-after": "1" }) : Effect.void)

const toApiError = Effect.fnUntraced(function*(error: KeyError) {
  switch (error._tag) {
    case "IdempotencyConflict":
      return yield* Errors.failWith(Texts.idempotencyConflict)
    case "RequestProcessing":
      return yield* failRetryable(Texts.requestProcessing)
    case "StorageExhausted":
      // Records are removed hourly.
      return yield* Errors.failUntil(Texts.storageExhausted(error.limit), 3600)
  }
})

/** Translates the errors of an idempotency key and of its record into API errors. */
export const translated = <A, E, R>(effect: Effect.Effect<A, E | KeyError, R>) =>
  Effect.catchIf(effect, isKeyError, toApiError)
