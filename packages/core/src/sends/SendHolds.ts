/** Pauses and throttles the channel of a send, so that the channel's other sends wait. */
import { DateTime, Effect, Option, Result } from "effect"
import { ChannelAccountRows } from "../catalog/ChannelAccounts.ts"
import * as Holds from "../catalog/ChannelHolds.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { Decide } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"
import type { FailureReason } from "./MessagingProvider.ts"
import type { SendRow } from "./Sends.ts"

/** An attempt of a claimed send. */
export interface SendAttempt {
  readonly claimed: ClaimedWork
  readonly send: SendRow
  readonly began_at: Timestamp
}

/** Makes the operations that hold the channel of a claimed send. */
export const makeChannelHolds = Effect.gen(function*() {
  const { run } = yield* Decide
  const rows = yield* Rows

  /** Changes the hold, and returns whether that changed anything. */
  const change = (
    { organization_id }: ClaimedWork,
    { channel_id }: SendRow,
    changesOf: (found: Option.Option<Holds.ChannelHoldRow>, now: Timestamp) => Changes.Changes
  ) =>
    run(organization_id, {
      load: rows.find(Holds.ChannelHoldRows, organization_id, channel_id),
      decide: (found, { now }) => {
        const changes = changesOf(found, now)
        return Result.succeed({ result: !Changes.isNone(changes), changes })
      }
    })

  /** Pauses the channel, unless it got another token after the attempt had begun. */
  const pause = Effect.fnUntraced(function*({ began_at, claimed, send }: SendAttempt, reason: FailureReason) {
    const { channel_id } = send
    const account = reason === "provider_auth"
      ? yield* rows.find(ChannelAccountRows, claimed.organization_id, channel_id)
      : Option.none()
    if (Option.exists(account, ({ token_set_at }) => DateTime.isGreaterThan(token_set_at, began_at))) return
    const isNew = yield* change(claimed, send, (found, now) => Holds.pause(found, channel_id, reason, now))
    const log = Effect.logError("Channel paused; its sends wait")
    if (isNew) yield* Effect.annotateLogs(log, { channel_id, reason })
  })

  const throttle = ({ claimed, send }: SendAttempt, retry_after_seconds: number | null) =>
    change(claimed, send, (found, now) => Holds.throttle(found, send.channel_id, retry_after_seconds, now))

  return { pause, throttle }
})
