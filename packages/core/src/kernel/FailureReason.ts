import { Schema } from "effect"

/** Why a send failed (contract §12.9). */
export const FailureReason = Schema.Literals([
  "recipient_unreachable",
  "recipient_opted_out",
  "reply_window_closed",
  "template_not_found",
  "template_not_approved",
  "template_invalid",
  "rate_limited",
  "channel_blocked",
  "provider_auth",
  "provider_rejected",
  "provider_unavailable",
  "outcome_unknown"
])
export type FailureReason = typeof FailureReason.Type
