/** Requests that have an idempotency key, and their records. */
import type { RecordedResponse } from "@messaging-crm/core/Changes"
import { IdempotencyKey, type KeyedRequest } from "@messaging-crm/core/Idempotency"
import { noon } from "./Base.ts"

/** A request with an idempotency key. */
export const keyedRequest: KeyedRequest = {
  key: IdempotencyKey.make("a-key-of-ours"),
  fingerprint: "f".repeat(64),
  request_id: "r-1"
}

/** The record of such a request. */
export const idempotencyRecord = {
  ...keyedRequest,
  status: 201,
  body: "{}",
  sealed: false,
  created_at: noon
} satisfies RecordedResponse
