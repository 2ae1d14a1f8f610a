/** Why a delivery of an event failed (contract §14.13). */
import { Schema } from "effect"

/** Why an endpoint sent no response. */
export const NoResponseCode = Schema.Literals([
  "dns_error",
  "blocked_address",
  "connection_refused",
  "connection_reset",
  "tls_error",
  "timeout",
  "protocol_error"
])
export type NoResponseCode = typeof NoResponseCode.Type

/** Why an attempt failed. */
export const AttemptFailureCode = Schema.Literals([...NoResponseCode.literals, "http_status"])
export type AttemptFailureCode = typeof AttemptFailureCode.Type

/** The reason for which the last attempt failed, or was not made: a stable code of the API. */
export const FailureCode = Schema.Literals([...AttemptFailureCode.literals, "webhook_disabled"])
export type FailureCode = typeof FailureCode.Type
