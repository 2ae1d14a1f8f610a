/**
 * Send state: the transitions of a send (contract §12.4).
 *
 * | State | Event | Next state |
 * | --- | --- | --- |
 * | queued | an attempt begins | sending |
 * | sending | the provider certainly sent nothing | queued |
 * | queued, sending, unknown | the provider accepted the message | sent |
 * | queued, sending | the provider rejected permanently, or time is up | failed |
 * | sending | the response was lost | unknown |
 * | unknown | 15 minutes without a callback | failed |
 */
import type { MessageId } from "../kernel/Ids.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import type { FailureReason } from "./MessagingProvider.ts"
import type { Send, SendRow } from "./Send.ts"

/** Returns whether the send is neither `sent` nor `failed`. */
export const isOpen = ({ status }: Pick<Send, "status">): boolean => status !== "sent" && status !== "failed"

/**
 * Returns whether the send becomes `sent` once the provider is known to have accepted it. `outcome_unknown` is the only
 * failure that is not certain.
 */
export const isUnproven = (send: Pick<Send, "failure_reason" | "status">): boolean =>
  isOpen(send) || send.failure_reason === "outcome_unknown"

/** Returns whether an attempt may have sent it. If the send is `sending` between attempts, a worker died during one. */
export const isInDoubt = ({ may_be_sent, status }: Pick<SendRow, "may_be_sent" | "status">): boolean =>
  may_be_sent || status === "sending"

/** The transitions of a send. Each returns the columns that it sets, or `{}` where it changes nothing. */
export const SendState = {
  /** An attempt begins. */
  begin: (send: SendRow, now: Timestamp) =>
    ({
      status: send.status === "queued" ? "sending" : send.status,
      first_attempt_at: send.first_attempt_at ?? now,
      may_be_sent: isInDoubt(send)
    }) as const,
  /** The attempt certainly sent nothing. */
  requeue: ({ status }: Pick<Send, "status">) => status === "sending" ? { status: "queued" } as const : {},
  /** The response to the attempt was lost. */
  markUnknown: ({ status }: Pick<Send, "status">) =>
    ({ status: status === "sending" ? "unknown" : status, may_be_sent: true }) as const,
  /** The provider accepted it, and its message is stored. */
  accept: (send: Pick<Send, "failure_reason" | "status">, message_id: MessageId) => {
    if (!isUnproven(send)) return {}
    const sent = { status: "sent", message_id } as const
    return send.failure_reason === null ? sent : { ...sent, failure_reason: null }
  },
  /** It cannot succeed any more. */
  fail: (send: Pick<Send, "status">, failure_reason: FailureReason) =>
    isOpen(send) ? { status: "failed", failure_reason } as const : {}
}
