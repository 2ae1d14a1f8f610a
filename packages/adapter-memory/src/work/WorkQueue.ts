import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { type Backlog, emptyBacklog, type WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, HashMap, Layer } from "effect"
import type { Lane } from "../world/Queue.ts"
import { World } from "../world/World.ts"
import { claimWork, isDue, isPaused, releaseExpired } from "./Claims.ts"

/** Adds the counts of a lane to those of its kind. */
const withLane = (backlog: Backlog, lane: Lane, now: Timestamp): Backlog => {
  const due = isPaused(lane, now) ? [] : lane.items.filter(isDue(now)).map(({ due_at }) => due_at)
  const leased = lane.items.filter(({ claim }) => claim !== null).length
  const due_times = backlog.oldest_due_at === null ? due : [backlog.oldest_due_at, ...due]
  return {
    ...backlog,
    due: backlog.due + due.length,
    later: backlog.later + lane.items.length - due.length - leased,
    leased: backlog.leased + leased,
    oldest_due_at: due_times.length === 0 ? null : due_times.reduce((a, b) => DateTime.min(a, b))
  }
}

/** Layer that keeps work in the in-memory world. */
export const layer = Layer.effect(
  WorkQueue,
  World.useSync(({ modify, read }) =>
    WorkQueue.of({
      claim: (claim) =>
        modify((state) => {
          const [items, queue] = claimWork(state.queue, claim)
          return [items, { ...state, queue }]
        }),
      sweep: (now) =>
        modify((state) => {
          const lanes = HashMap.map(
            state.queue.lanes,
            (lane) => ({ ...lane, items: lane.items.map(releaseExpired(now)) })
          )
          return [undefined, { ...state, queue: { ...state.queue, lanes } }]
        }),
      backlog: (now) =>
        read(({ queue }) => {
          const kinds = new Map<WorkKind, Backlog>()
          for (const lane of HashMap.values(queue.lanes)) {
            if (lane.items.length === 0) continue
            kinds.set(lane.kind, withLane(kinds.get(lane.kind) ?? emptyBacklog(lane.kind), lane, now))
          }
          return Array.from(kinds.values())
        })
    })
  )
)
