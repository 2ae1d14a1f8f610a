/** Backlog metrics: the gauges of the work queue. */
import { DateTime, Duration, Effect, Metric } from "effect"
import { work_age, work_items } from "../kernel/Metrics.ts"
import { type Backlog, emptyBacklog, WorkKind, WorkQueue } from "./WorkQueue.ts"

/** Returns how long ago the longest-waiting item became due, in seconds. */
const ageOf = ({ oldest_due_at }: Backlog, now: DateTime.Utc): number =>
  oldest_due_at === null ? 0 : Duration.toSeconds(DateTime.distance(oldest_due_at, now))

/** Makes the effect that updates the gauges of the queue. */
export const makeMeasure = WorkQueue.useSync((queue) =>
  Effect.gen(function*() {
    const now = yield* DateTime.now
    const found = yield* queue.backlog(now)
    // Work of a kind that this version does not support is left to a newer one, and counted here.
    for (const kind of new Set([...WorkKind.literals, ...found.map(({ kind }) => kind)])) {
      const backlog = found.find((each) => each.kind === kind) ?? emptyBacklog(kind)
      for (const state of ["due", "later", "leased"] as const) {
        yield* Metric.update(Metric.withAttributes(work_items, { kind, state }), backlog[state])
      }
      yield* Metric.update(Metric.withAttributes(work_age, { kind }), ageOf(backlog, now))
    }
  }).pipe(Effect.withTracerEnabled(false))
)
