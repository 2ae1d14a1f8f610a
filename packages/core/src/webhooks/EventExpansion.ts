/** Event expansion: how the worker adds the deliveries of a raised event, in the commit that ends its work. */
import { DateTime, Duration, Effect } from "effect"
import { EventId } from "../kernel/Ids.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { Decide } from "../work/Decide.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"

/** How long an event waits whose expansion keeps causing defects. */
const defect_pause = Duration.minutes(1)

/** The changes that add the deliveries of a claimed event. Another worker that claims it later adds none again. */
const expandClaimed = (claimed: ClaimedWork): Changes.Changes =>
  Changes.all(Changes.expand(EventId.make(claimed.ref)), Changes.finish(claimed))

/** Makes the functions that expand a claimed event. */
export const makeExpansion = Effect.map(Decide, ({ settle }) => {
  const settleWith = (claimed: ClaimedWork, changes: Changes.Changes) =>
    Effect.asVoid(settle(claimed, { load: Effect.void, decide: () => ({ result: null, changes }) }))

  const expand = traced("EventExpansion.expand")(function*(claimed: ClaimedWork) {
    yield* settleWith(claimed, expandClaimed(claimed))
  })

  /** Expands an event that keeps causing defects. It is never dropped, because its webhooks would miss it. */
  const expandOrPostpone = (claimed: ClaimedWork) =>
    Effect.catchDefect(
      expand(claimed),
      (defect) =>
        Effect.logError("An event could not be expanded; retry scheduled", defect).pipe(
          Effect.andThen(DateTime.now),
          Effect.flatMap((now) =>
            settleWith(
              claimed,
              Changes.settle({ claimed, outcome: "postpone", due_at: DateTime.addDuration(now, defect_pause) })
            )
          )
        )
    )

  return { expand, expandOrPostpone }
})
