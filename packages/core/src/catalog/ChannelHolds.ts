/**
 * Channel holds: why the sends of a channel wait (contract §12.10).
 *
 * | State | Trigger | Next state |
 * | --- | --- | --- |
 * | free | the network rejects the channel itself, for example its token | paused |
 * | free | the network accepts no more messages of the channel for now | throttled |
 * | throttled | the network rejects the channel itself | paused |
 * | throttled | its time is over | free |
 * | paused | an operator resumes it: a new token, or a check that passes | free |
 *
 * A waiting send makes no attempt. Other channels are not affected.
 */
import { Context, DateTime, Duration, Effect, Layer, Metric, Option, Result, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { FailureReason } from "../kernel/FailureReason.ts"
import { ChannelId } from "../kernel/Ids.ts"
import { channels_paused } from "../kernel/Metrics.ts"
import { operation } from "../kernel/Operations.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide } from "../work/Decide.ts"
import { declareRows, pickFields, type Row, Rows } from "../work/Rows.ts"

// ---------------------------------------------------------------- data

export const ChannelHold = Schema.Struct({
  channel_id: ChannelId,
  /** Why: the failure reason of a send that waits too long. */
  reason: FailureReason,
  held_at: Timestamp,
  /** When a throttle ends; null for a pause, which an operator ends. */
  until: Schema.NullOr(Timestamp),
  /** How many throttles followed each other closely, up to `level_max`. */
  level: Schema.Int
})
export interface ChannelHold extends Schema.Schema.Type<typeof ChannelHold> {}

export type ChannelHoldRow = Row<ChannelHold>

export const ChannelHoldRows = Changes.removable(
  declareRows(ChannelHold)({
    name: "channel_holds",
    key: { channel_id: "uuid" },
    list: { order: ["held_at", "channel_id"] }
  })
)

// ----------------------------------------------------------- decisions

const toHold = pickFields(ChannelHold)

/** A throttle for which the network names no time lasts 1, 2, 4, then 8 seconds. */
const throttle_seconds_max = 8
/** The longest time that a network may ask for: the same as the maximum wait of a send. */
const asked_seconds_max = 86_400
/**
 * After a throttle, the waiting sends are spread over 4 seconds.
 *
 * The time doubles with each throttle that follows closely, up to 256 seconds.
 */
const spread_seconds_min = 4
const level_max = 6
/** A throttle follows the last one closely if it comes within a minute after the waiting sends were due again. */
const close_seconds = 60

/** A send of a paused channel checks the channel again after a tenth of the pause so far: 5 seconds to 2 minutes. */
const check_seconds = { min: 5, max: 120 } as const

const spreadOf = ({ level }: Pick<ChannelHold, "level">): number => spread_seconds_min * 2 ** level

export const isPause = ({ until }: Pick<ChannelHold, "until">): boolean => until === null

/** Returns the hold if sends have to wait for it now. */
export const active = <Hold extends ChannelHold>(found: Option.Option<Hold>, now: Timestamp): Option.Option<Hold> =>
  Option.filter(found, ({ until }) => until === null || DateTime.isGreaterThan(until, now))

/**
 * Returns when a waiting send checks its channel again.
 *
 * After a throttle, each send gets its own time within the spread, derived from its
 * ID, so that the sends do not all reach the limit at once.
 */
export const nextCheck = (
  hold: Pick<ChannelHold, "held_at" | "level" | "until">,
  send_id: string,
  now: Timestamp
): Timestamp => {
  if (hold.until !== null) {
    const place = Number.parseInt(send_id.slice(-6), 16) / 0x1000000
    return DateTime.add(hold.until, { milliseconds: Math.floor(place * spreadOf(hold) * 1000) })
  }
  const paused = Duration.toSeconds(DateTime.distance(hold.held_at, now))
  return DateTime.add(now, { seconds: Math.min(Math.max(paused / 10, check_seconds.min), check_seconds.max) })
}

const putHold = (found: Option.Option<ChannelHoldRow>, hold: ChannelHold): Changes.Changes => {
  const { channel_id: _, ...set } = hold
  return Option.match(found, {
    onNone: () => ChannelHoldRows.insert(hold),
    onSome: (row) => ChannelHoldRows.update(row, set)
  })
}

/** Pauses a channel. A paused channel does not change. */
export const pause = (
  found: Option.Option<ChannelHoldRow>,
  channel_id: ChannelId,
  reason: FailureReason,
  now: Timestamp
): Changes.Changes =>
  Option.exists(found, isPause)
    ? Changes.none
    : putHold(found, { channel_id, reason, held_at: now, until: null, level: 0 })

/**
 * Throttles a channel for the time that the network asks for, or else for a longer one each time.
 *
 * Responses to attempts that were in progress when it began do not raise the level.
 */
export const throttle = (
  found: Option.Option<ChannelHoldRow>,
  channel_id: ChannelId,
  retry_after_seconds: number | null,
  now: Timestamp
): Changes.Changes => {
  const asked = Math.min(retry_after_seconds ?? 0, asked_seconds_max)
  const until = (level: number) =>
    DateTime.add(now, { seconds: Math.max(asked, Math.min(2 ** level, throttle_seconds_max)) })
  const last = Option.getOrUndefined(found)
  if (last?.until === null) return Changes.none
  if (last !== undefined && DateTime.isGreaterThan(last.until, now)) {
    const longer = DateTime.add(now, { seconds: asked })
    return DateTime.isGreaterThan(longer, last.until) ? ChannelHoldRows.update(last, { until: longer }) : Changes.none
  }
  const isClose = last !== undefined &&
    DateTime.isLessThan(now, DateTime.add(last.until, { seconds: spreadOf(last) + close_seconds }))
  const level = isClose ? Math.min(last.level + 1, level_max) : 0
  return putHold(found, { channel_id, reason: "rate_limited", held_at: now, until: until(level), level })
}

// ---------------------------------------------------------------- port

/**
 * Port: counts holds.
 *
 * **Contract** (checked by `conformance/Ports/ChannelHolds.ts`)
 *
 * - `countPaused` counts the pauses of all organizations by their reason.
 */
export class ChannelHoldStore extends Context.Service<ChannelHoldStore, {
  readonly countPaused: Effect.Effect<ReadonlyArray<{ readonly reason: FailureReason; readonly count: number }>>
}>()("@messaging-crm/core/ChannelHolds/ChannelHoldStore") {}

// ---------------------------------------------------------- operations

/** Operations on holds. */
export class ChannelHolds extends Context.Service<ChannelHolds, {
  /** Returns the holds of the current actor's channels that make sends wait now. */
  readonly list: Effect.Effect<ReadonlyArray<ChannelHold>, never, CurrentActor>
  /** Ends the hold of a channel, and returns whether it was paused. The queued sends are attempted within two minutes. */
  readonly resume: (channel_id: ChannelId) => Effect.Effect<boolean, ConcurrentChanges, CurrentActor>
  /** Returns how many channels of all organizations are paused. */
  readonly countPaused: Effect.Effect<number>
  /** Updates the gauge of paused channels. */
  readonly measure: Effect.Effect<void>
}>()("@messaging-crm/core/ChannelHolds") {
  static readonly layer = Layer.effect(
    ChannelHolds,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const rows = yield* Rows
      const store = yield* ChannelHoldStore

      const list = operation("channel_holds.list")(function*() {
        const { organization_id } = yield* CurrentActor
        const found = (yield* rows.list(ChannelHoldRows, organization_id)).map(toHold)
        const now = yield* DateTime.now
        return found.filter((hold) => Option.isSome(active(Option.some(hold), now)))
      })()

      const resumeChannel = write("channels.resume", function*(channel_id: ChannelId) {
        const { organization_id } = yield* CurrentActor
        return {
          load: rows.find(ChannelHoldRows, organization_id, channel_id),
          decide: (found) =>
            Result.succeed({
              result: { id: channel_id, isResumed: Option.exists(found, isPause) },
              changes: Option.isNone(found) ? Changes.none : ChannelHoldRows.remove({ channel_id })
            })
        }
      })

      const countPaused = Effect.map(store.countPaused, (all) => all.reduce((sum, { count }) => sum + count, 0))

      const measure = Effect.gen(function*() {
        const paused = yield* store.countPaused
        for (const reason of ["provider_auth", "channel_blocked"] as const) {
          const { count } = paused.find((each) => each.reason === reason) ?? { count: 0 }
          yield* Metric.update(Metric.withAttributes(channels_paused, { reason }), count)
        }
      }).pipe(Effect.withTracerEnabled(false))

      return ChannelHolds.of({
        list,
        resume: (id) => Effect.map(resumeChannel(id), ({ isResumed }) => isResumed),
        countPaused,
        measure
      })
    })
  )
}
