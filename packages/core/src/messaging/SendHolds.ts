/** Pauses and throttles the channel of a send, so that the channel's other sends wait. */
import { Effect, type Option, Result } from "effect"
import * as Holds from "../catalog/ChannelHolds.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { Decide } from "../work/Decide.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"
import type { FailureReason } from "./MessagingProvider.ts"
import type { SendRow } from "./Sends.ts"

/** Makes the operations that hold the channel of a claimed send. */
export const makeChannelHolds = Effect.gen(function*() {
  const { run } = yield* Decide
  const holds = yield* Holds.ChannelHoldStore

  /** Changes the hold, and returns whether that changed anything. */
  const change = (
    { organization_id }: ClaimedWork,
    { channel_id }: SendRow,
    changesOf: (found: Option.Option<Holds.ChannelHoldRow>, now: Timestamp) => Changes.Changes
  ) =>
    run(organization_id, {
      load: holds.find(organization_id, channel_id),
      decide: (found, { now }) => {
        const changes = changesOf(found, now)
        return Result.succeed({ result: !Changes.isNone(changes), changes })
      }
    })

  const pause = Effect.fnUntraced(function*(claimed: ClaimedWork, send: SendRow, reason: FailureReason) {
    const { channel_id } = send
    const isNew = yield* change(claimed, send, (found, now) => Holds.pause(found, channel_id, reason, now))
    const log = Effect.logError("Channel paused; its sends wait")
    if (isNew) yield* Effect.annotateLogs(log, { channel_id, reason })
  })

  const throttle = (claimed: ClaimedWork, send: SendRow, retry_after_seconds: number | null) =>
    change(claimed, send, (found, now) => Holds.throttle(found, send.channel_id, retry_after_seconds, now))

  return { pause, throttle }
})
