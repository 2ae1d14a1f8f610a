import { IdempotencyConflict, RequestProcessing } from "@messaging-crm/core/Idempotency"
import { StorageExhausted } from "@messaging-crm/core/StorageUse"
import { Effect } from "effect"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"

/** Errors of an idempotency key and of its record. */
type KeyError = IdempotencyConflict | RequestProcessing | StorageExhausted

const isKeyError = (error: unknown): error is KeyError =>
  error instanceof IdempotencyConflict || error instanceof RequestProcessing || error instanceof StorageExhausted

const toApiError = Effect.fnUntraced(function*(error: KeyError) {
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
export const translated = <A, E, R>(effect: Effect.Effect<A, E | KeyError, R>) =>
  Effect.catchIf(effect, isKeyError, toApiError)
