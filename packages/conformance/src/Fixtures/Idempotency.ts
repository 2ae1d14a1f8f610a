/** Records of requests that have an idempotency key. */
import type { RecordedResponse } from "@messaging-crm/core/Changes"
import { IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { noon } from "./Base.ts"

/** The record of a request that has an idempotency key. */
export const idempotencyRecord = {
  key: IdempotencyKey.make("a-key-of-ours"),
  fingerprint: "f".repeat(64),
  status: 201,
  body: "{}",
  sealed: false,
  request_id: "r-1",
  created_at: noon
} satisfies RecordedResponse
