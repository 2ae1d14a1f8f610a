/**
 * Conflict retries: what follows a commit that failed.
 *
 * Operations on the same row retry one after the other inside the process, because each of them would conflict again.
 */
import { Context, Duration, Effect, Metric, Random, Schema } from "effect"
import { conflicts } from "../kernel/Metrics.ts"
import { pauseAfter, type Schedule, schedules } from "../kernel/Retries.ts"
import { Turns } from "../kernel/Turns.ts"
import type { Changes } from "./Changes.ts"
import type { CommitFailure, Unconfirmed } from "./Commit.ts"
import { CurrentWriteTime } from "./WriteTime.ts"

/** The maximum number of attempts of one operation, about two seconds of conflicts. After that it fails. */
const tries_max = 50

/** The pauses after conflicts. A reference, so that tests with a stopped clock can omit them. */
export const ConflictBackoff = Context.Reference<Schedule>("@messaging-crm/core/ConflictRetries/ConflictBackoff", {
  defaultValue: () => schedules.conflict
})

/** One load, decision and commit of an operation. */
export interface CommitAttempt<Returned> {
  readonly returned: Returned
  readonly changes: Changes
  /** Null if the changes are committed. */
  readonly failure: CommitFailure | null
}

/** Concurrent writes kept changing the rows that the operation depends on. Nothing was written; a retry can succeed. */
export class ConcurrentChanges extends Schema.TaggedError<ConcurrentChanges>()("ConcurrentChanges", {}) {}

/** Returns the key of the first row that the changes update or expect; null if they only insert rows. */
const rowOf = ({ expect = [], update = [] }: Changes): string | null => {
  const [first] = [...update, ...expect]
  return first === undefined ? null : Object.values(first.key).join()
}

/** Makes the function that repeats a failed attempt until one is committed. All operations of a process share it. */
export const make = Effect.gen(function*() {
  const schedule = yield* ConflictBackoff
  const turns = new Turns<string>({ places: Infinity, share: 1 })

  /**
   * Waits for the retries of other operations on the same row.
   *
   * Changes that only insert rows do not wait: their retry finds the existing row.
   */
  const inTurn = <A, E, R>(changes: Changes, retries: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const row = rowOf(changes)
    return row === null ? retries : turns.run(row, retries)
  }

  /** Pauses after the given number of attempts. */
  const pause = Effect.fnUntraced(function*(tries: number) {
    const time = pauseAfter(schedule, tries, yield* Random.next)
    yield* Duration.isZero(time) ? Effect.yieldNow : Effect.sleep(time)
  })

  const untilCommitted = Effect.fnUntraced(function*<Returned, E, R>(
    failed: CommitAttempt<Returned>,
    again: Effect.Effect<CommitAttempt<Returned>, E, R>
  ) {
    const time = yield* CurrentWriteTime
    let last = failed
    let unconfirmed: Unconfirmed | null = null
    for (let tries = 1; last.failure !== null; tries++) {
      const { failure } = last
      if (failure._tag === "LeaseLost") return yield* failure
      // Not an error of the operation: `Idempotency` replays the record of a used key.
      if (failure._tag === "KeyUsed") return yield* Effect.die(failure)
      // An earlier commit of unknown outcome may be applied, whatever fails after it.
      if (failure._tag === "Unconfirmed") unconfirmed = failure
      const isLast = tries === tries_max || time?.isOver === true
      if (isLast) return yield* unconfirmed === null ? new ConcurrentChanges() : Effect.die(unconfirmed)
      if (failure._tag === "Conflict") yield* Metric.update(conflicts.of({}), 1)
      yield* pause(tries)
      last = yield* again
    }
    return last
  })

  return <Returned, E, R>(failed: CommitAttempt<Returned>, again: Effect.Effect<CommitAttempt<Returned>, E, R>) =>
    inTurn(failed.changes, untilCommitted(failed, again))
})
