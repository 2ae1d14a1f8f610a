/** Event expansion: how the worker adds the deliveries of a raised event, in the commit that ends its work. */
import { Effect } from "effect"
import { EventId } from "../kernel/Ids.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { Decide } from "../work/Decide.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"

/** The changes that add the deliveries of a claimed event. Another worker that claims it later adds none again. */
const expandClaimed = (claimed: ClaimedWork): Changes.Changes =>
  Changes.all(Changes.expand(EventId.make(claimed.ref)), Changes.finish(claimed))

/** Makes the function that expands a claimed event. An event is never dropped, because its webhooks would miss it. */
export const makeExpand = Effect.map(
  Decide,
  ({ settle }) =>
    traced("EventExpansion.expand")(function*(claimed: ClaimedWork) {
      yield* settle(claimed, { load: Effect.void, decide: () => ({ result: null, changes: expandClaimed(claimed) }) })
    })
)
