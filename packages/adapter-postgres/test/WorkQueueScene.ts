/** The work queues of several processes, and lanes with items for them to carry out. */
import { assert } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import type { Commit } from "@messaging-crm/core/Commit"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { type ClaimedWork, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Context, DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"

const now = DateTime.makeUnsafe(0)

const lease = { hours: 1 } as const

/** The time of the claims. It advances by 10 ms whenever a claim finds nothing. */
export class Time {
  now = now
  readonly pass = () => {
    this.now = DateTime.add(this.now, { milliseconds: 10 })
  }
}

export const claim = Effect.fnUntraced(function*(queue: Queue, kind: WorkKind, time: Time, limit = 8) {
  const token = yield* Fixtures.uuid
  const lease_until = DateTime.addDuration(time.now, lease)
  return yield* queue.claim({ kind, limit, now: time.now, lease_until, token })
})

/** Releases everything that is claimed now: every lease has ended by then. */
export const sweepAll = (queue: Queue, time: Time) => queue.sweep(DateTime.addDuration(time.now, { hours: 2 }))

/** The queue of one process, and how it settles items. */
const queueOf = (process: Context.Context<Commit | WorkQueue>) => ({
  ...Context.get(process, WorkQueue),
  finish: (item: ClaimedWork) => Effect.provide(Fixtures.finishWork(item), process),
  postpone: (item: ClaimedWork, due_at: DateTime.Utc) => Effect.provide(Fixtures.postponeWork(item, due_at), process),
  release: (item: ClaimedWork) => Effect.provide(Fixtures.releaseWork(item), process)
})

export type Queue = ReturnType<typeof queueOf>

/** The queue of the suite's own process. */
export const own = Effect.map(Effect.context<Commit | WorkQueue>(), queueOf)

/** The queues of four processes. */
export const queues = Effect.replicateEffect(Effect.map(Processes.start, queueOf), 4)

export const enqueue = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  lane: string,
  kind: WorkKind = "send",
  due_at: DateTime.Utc = now
) {
  const ref = yield* Fixtures.uuid
  yield* Fixtures.mustCommit(organization_id, Changes.enqueue({ kind, lane, ref, due_at }))
  return ref
})

/** Fills lanes, and returns the items of each in order. */
export const fill = Effect.fnUntraced(function*(
  options: { readonly lanes: number; readonly items: number; readonly kind?: WorkKind }
) {
  const organization_id = yield* Fixtures.organization
  const lanes = yield* Effect.replicateEffect(Fixtures.uuid, options.lanes)
  const filled = yield* Effect.forEach(lanes, (lane) =>
    Effect.map(
      Effect.replicateEffect(enqueue(organization_id, lane, options.kind), options.items),
      (refs) => [lane, refs] as const
    ), { concurrency: "unbounded" })
  return new Map(filled)
})

/** The finished items, by lane. */
export class Done {
  readonly time = new Time()
  readonly lanes = new Map<string, Array<string>>()
  count = 0
  readonly add = ({ lane, ref }: ClaimedWork) => {
    this.count++
    this.lanes.set(lane, [...(this.lanes.get(lane) ?? []), ref])
  }
}

/** Claims and carries out items until `count` are done. */
export const work = <R>(
  queue: Queue,
  kind: WorkKind,
  done: Done,
  total: number,
  perform: (item: ClaimedWork) => Effect.Effect<unknown, never, R>
) =>
  Effect.gen(function*() {
    while (done.count < total) {
      const claimed = yield* claim(queue, kind, done.time)
      if (claimed.length === 0) done.time.pass()
      yield* Effect.forEach(claimed, perform, { concurrency: "unbounded" })
    }
  })

/** Asserts that a check of the lanes and a sweep 15 seconds later leave no rows. */
export const assertNothingLeft = Effect.gen(function*() {
  const queue = yield* own
  const time = new Time()
  for (const lease_ends of [false, true]) {
    if (lease_ends) time.now = DateTime.addDuration(now, { hours: 2 })
    for (const kind of WorkKind.literals) assert.deepStrictEqual(yield* claim(queue, kind, time, 1000), [])
    yield* queue.sweep(DateTime.add(time.now, { seconds: 15 }))
  }
  const sql = yield* SqlClient.SqlClient
  const left = yield* sql`
    SELECT lane_name FROM work
    UNION ALL
    SELECT name FROM work_lanes
  `
  assert.lengthOf(left, 0)
})
