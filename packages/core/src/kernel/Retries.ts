/** Retries: how long an operation pauses after each failed attempt. Each schedule is a line. */
import { Duration } from "effect"

export interface Schedule {
  /** The pause after the first, second … failed attempt. The last one is repeated, unless the operation ends after it. */
  readonly pauses: ReadonlyArray<Duration.Duration>
  /** By how much a pause can be longer or shorter, as a part of it. Default: none. */
  readonly jitter?: number
  /** How many of the first pauses have no jitter. Default: none. */
  readonly exact?: number
}

/** Returns pauses that grow by a factor, up to the longest. */
const growing = (first: Duration.Duration, factor: number, longest: Duration.Duration): Schedule["pauses"] =>
  Duration.isGreaterThanOrEqualTo(first, longest)
    ? [longest]
    : [first, ...growing(Duration.times(first, factor), factor, longest)]

const seconds = (...all: ReadonlyArray<number>) => all.map(Duration.seconds)
const minutes = (...all: ReadonlyArray<number>) => all.map(Duration.minutes)
const hours = (...all: ReadonlyArray<number>) => all.map(Duration.hours)

/** The schedules of the service. */
export const schedules = {
  /** A write whose rows others have changed: up to 50 attempts (`ConflictRetries.ts`). */
  conflict: { pauses: growing(Duration.millis(2), 1.5, Duration.millis(50)), jitter: 0.5 },
  /** A send (contract §12.6), for two minutes (`SendSchedule.ts`). */
  send: { pauses: seconds(1, 5, 15, 30, 60) },
  /** The same if the network throttles one recipient: it requires a pause four times as long each time. */
  recipient: { pauses: seconds(1, 4, 16, 64, 256) },
  /** A delivery to a webhook (contract §14): ten attempts within 75.6 hours. */
  delivery: {
    pauses: [...seconds(5), ...minutes(5, 30), ...hours(2, 5, 10, 14, 20, 24)],
    jitter: 0.1,
    exact: 1
  },
  /**
   * A work item with a defect, whose send, delivery, or replay fails after the last pause. The sum is less than 90 seconds: that
   * is how long the next send of the conversation waits.
   */
  defect: { pauses: seconds(2, 5, 10, 20, 40) },
  /** An event with a defect, until it succeeds. */
  event: { pauses: seconds(2, 5, 10, 20, 40, 60) },
  /** A callback with a defect, until it succeeds. */
  callback: { pauses: growing(Duration.seconds(1), 2, Duration.minutes(10)) },
  /** A callback that waits for an earlier one of the same person. */
  callback_order: { pauses: growing(Duration.millis(100), 2, Duration.seconds(1)) }
} satisfies Readonly<Record<string, Schedule>>

/** Returns the pause after a number of failed attempts. `random` is from 0 to 1, for the jitter. */
export const pauseAfter = (
  { exact = 0, jitter = 0, pauses }: Schedule,
  attempts: number,
  random = 0.5
): Duration.Duration => {
  const pause = pauses[Math.min(attempts, pauses.length) - 1] ?? Duration.zero
  return Duration.times(pause, attempts > exact ? 1 - jitter + 2 * jitter * random : 1)
}
