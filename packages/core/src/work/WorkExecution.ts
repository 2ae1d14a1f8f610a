/** Work execution: one claimed item, and how its defects are handled. */
import { DateTime, Effect } from "effect"
import * as Traces from "../kernel/Traces.ts"
import { CurrentTurn } from "../kernel/Turns.ts"
import * as Changes from "./Changes.ts"
import { Decide } from "./Decide.ts"
import type { ClaimedWork } from "./WorkQueue.ts"

/**
 * For how many seconds an item is postponed after each defect. After the last it is abandoned: its send or delivery fails.
 *
 * Their sum is less than 90 seconds: that is how long the next send of the conversation waits.
 */
const defect_pauses = [2, 5, 10, 20, 40]

/** A claimed item, and its execution. */
export interface Item {
  readonly claimed: ClaimedWork
  readonly execution: Effect.Effect<void>
  /** Ends the send, delivery, or replay of an item that keeps causing defects. */
  readonly abandon: (claimed: ClaimedWork) => Effect.Effect<void>
}

/** Makes the function that executes an item, and settles it whatever happens. */
export const makePerform = Effect.gen(function*() {
  const decide = yield* Decide

  const settle = (settlement: Changes.Settlement) =>
    decide.settle(settlement.claimed, {
      load: Effect.void,
      decide: () => ({ result: undefined, changes: Changes.settle(settlement) })
    })

  /** Abandons an item. If that write fails, too, it is retried the same number of times. Then the item is dropped. */
  const abandonOrDrop = ({ abandon, claimed }: Item) =>
    abandon(claimed).pipe(
      Effect.catchDefect((defect) =>
        claimed.defects < 2 * defect_pauses.length
          ? recover(claimed, defect)
          : Effect.logError("Work item dropped: its failure could not be recorded", defect).pipe(
            Effect.andThen(settle({ claimed, outcome: "finish" }))
          )
      )
    )

  /** Counts a defect of an item, and postpones it. */
  const recover = Effect.fnUntraced(function*(claimed: ClaimedWork, defect: unknown) {
    const due_at = DateTime.add(yield* DateTime.now, {
      seconds: defect_pauses[claimed.defects % defect_pauses.length] ?? 0
    })
    yield* settle({ claimed, outcome: "defect", due_at })
    yield* Effect.logError("A work item failed with a defect", defect).pipe(
      Effect.annotateLogs({ defects: claimed.defects + 1 })
    )
  })

  /** An item whose defect cannot be recorded stays claimed. It can be claimed again when its lease has ended. */
  const perform = (item: Item) => {
    const { claimed, execution } = item
    return (claimed.defects < defect_pauses.length ? execution : abandonOrDrop(item)).pipe(
      Effect.asVoid,
      Effect.onInterrupt(() => settle({ claimed, outcome: "release" })),
      Effect.catchDefect((defect) => recover(claimed, defect)),
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
