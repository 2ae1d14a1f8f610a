import { IdempotencyConflict, RequestProcessing } from "@messaging-crm/core/Idempotency"
import { StorageExhausted } from "@messaging-crm/core/StorageUse"
import { Effect } from "effect"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { addResponseHeaders, ResponseHeaders } from "./Headers.ts"

/** Errors of an idempotency key and of its record. */
type KeyError = IdempotencyConflict | RequestProcessing | StorageExhausted

const isKeyError = (error: unknown): error is KeyError =>
  error instanceof IdempotencyConflict || error instanceof RequestProcessing || error instanceof StorageExhausted

/**
 * Fails with an error whose response has `Retry-After`. It is a header of the response and not of the error, because other
 * errors of the same status have none.
 */
export const failRetryable = <Code extends string>(text: Texts.ErrorText<Code>) =>
  Effect.andThen(addResponseHeaders({ "retry-after": "1" }), Errors.failWith(text))

/** Returns whether the response to the current request has `Retry-After`. Such an error is not recorded, because a retry can succeed. */
export const isRetryable = Effect.map(ResponseHeaders, (headers) => "retry-after" in headers)

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
