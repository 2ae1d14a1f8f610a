/** Waits until a condition holds. */
import { type Duration, Effect, Schedule } from "effect"

interface Options<A> {
  readonly interval: Duration.Input
  /** The maximum number of repetitions. */
  readonly times: number
  readonly until: (value: A) => boolean
}

class NotYet extends Error {
  override message = "The awaited condition did not occur in time."
}

const isNotYet = (error: unknown): error is NotYet => error instanceof NotYet

/**
 * Repeats an effect until its value passes, and returns that value. Dies after the last repetition: a figure must not
 * include work that was not done.
 */
export const untilPasses = <A, E, R>(effect: Effect.Effect<A, E, R>, { interval, times, until }: Options<A>) =>
  effect.pipe(
    Effect.filterOrFail(until, () => new NotYet()),
    Effect.retry({ schedule: Schedule.spaced(interval), times, while: isNotYet }),
    Effect.catchIf(isNotYet, Effect.die)
  )
