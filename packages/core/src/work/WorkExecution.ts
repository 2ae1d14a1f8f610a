/** Work execution: one claimed item, and how its defects are handled. */
import { DateTime, Duration, Effect, Schedule as Repetition } from "effect"
import { pauseAfter, schedules } from "../kernel/Retries.ts"
import * as Traces from "../kernel/Traces.ts"
import { CurrentTurn } from "../kernel/Turns.ts"
import * as Changes from "./Changes.ts"
import { Decide } from "./Decide.ts"
import { type ClaimedWork, kind_rules, LeaseTime } from "./WorkQueue.ts"

/** The number of defects after which an item is abandoned. */
const defect_max = schedules.defect.pauses.length

/** A claimed item, and its execution. */
export interface Item {
  readonly claimed: ClaimedWork
  readonly execution: Effect.Effect<void>
  /** Ends the send, delivery, or replay of an item that keeps causing defects; null for one that is retried until it succeeds. */
  readonly abandon: ((claimed: ClaimedWork) => Effect.Effect<void>) | null
}

/** Makes the function that executes an item, and settles it whatever happens. */
export const makePerform = Effect.gen(function*() {
  const decide = yield* Decide
  const lease = yield* LeaseTime

  const settle = (settlement: Changes.Settlement) =>
    decide.settle(settlement.claimed, {
      load: Effect.void,
      decide: () => ({ result: undefined, changes: Changes.settle(settlement) })
    })

  /** Counts a defect of an item, and postpones it. */
  const postpone = Effect.fnUntraced(function*({ abandon, claimed }: Item) {
    const attempts = (abandon === null ? claimed.defects : claimed.defects % defect_max) + 1
    const due_at = DateTime.addDuration(yield* DateTime.now, pauseAfter(kind_rules[claimed.kind].retries, attempts))
    yield* settle({ claimed, outcome: "defect", due_at })
  })

  const log = ({ kind }: ClaimedWork, defect: unknown) =>
    Effect.logWithLevel(kind_rules[kind].defect_level)("A work item failed; retry scheduled", defect)

  /**
   * Postpones an item after a defect. If that cannot be written, as while the database is unavailable, it is tried every second until the
   * lease ends: the item would block a place of its lane until then.
   */
  const recover = (item: Item, defect: unknown) =>
    postpone(item).pipe(
      Effect.sandbox,
      Effect.retry({ schedule: Repetition.spaced("1 second"), times: Duration.toSeconds(lease) }),
      Effect.catch(Effect.failCause),
      Effect.andThen(log(item.claimed, defect)),
      Effect.annotateLogs({ defects: item.claimed.defects + 1 })
    )

  /** Abandons an item. If that write fails, too, it is retried the same number of times. Then the item is dropped. */
  const abandonOrDrop = (item: Item, abandon: NonNullable<Item["abandon"]>) =>
    Effect.catchDefect(abandon(item.claimed), (defect) =>
      item.claimed.defects < 2 * defect_max
        ? recover(item, defect)
        : Effect.logError("Work item dropped: its failure could not be recorded", defect).pipe(
          Effect.andThen(settle({ claimed: item.claimed, outcome: "finish" }))
        ))

  /** An item whose defect cannot be recorded stays claimed. It can be claimed again when its lease has ended. */
  const perform = (item: Item) => {
    const { abandon, claimed, execution } = item
    const isAbandoned = abandon !== null && claimed.defects >= defect_max
    return (isAbandoned ? abandonOrDrop(item, abandon) : execution).pipe(
      Effect.asVoid,
      Effect.onInterrupt(() => settle({ claimed, outcome: "release" })),
      Effect.catchDefect((defect) => recover(item, defect)),
      Effect.catchDefect((defect) => Effect.logError("Work item defect not recorded", defect)),
      Effect.provideService(CurrentTurn, claimed.organization_id),
      // The span continues the trace that enqueued the item.
      Effect.withSpan(`Worker.${claimed.kind}`, {
        ...Traces.within(claimed.trace),
        kind: "consumer",
        attributes: { ref: claimed.ref, attempt: claimed.attempt }
      }),
      Effect.annotateLogs({ kind: claimed.kind, ref: claimed.ref, attempt: claimed.attempt })
    )
  }

  return perform
})
