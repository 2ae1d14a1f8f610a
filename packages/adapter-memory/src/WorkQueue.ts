import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import * as Traces from "@messaging-crm/core/Traces"
import {
  type Backlog,
  type ClaimedWork,
  lanes as laneRules,
  type Work,
  type WorkKind,
  WorkQueue
} from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, HashMap, HashSet, Layer, Option } from "effect"
import { type Rows, World } from "./World.ts"

interface Item {
  readonly organization_id: OrganizationId
  readonly work: Work
  readonly due_at: Timestamp
  readonly attempt: number
  readonly trace: string | null
  readonly claim: { readonly token: string; readonly until: Timestamp } | null
}

/** The items of one kind and lane, in the order of their enqueueing. */
export type Lane = ReadonlyArray<Item>

export interface LaneLimits {
  readonly until: Timestamp | null
  readonly cap: number
}

const nameOf = ({ kind, lane }: Pick<Work, "kind" | "lane">): string => `${kind}|${lane}`

const refOf = ({ kind, ref }: Work): string => `${kind}|${ref}`

const laneOf = (rows: Rows, name: string): Lane => Option.getOrElse(HashMap.get(rows.lanes, name), () => [])

const put = (rows: Rows, name: string, lane: Lane): Rows =>
  lane.length === 0
    ? {
      ...rows,
      lanes: HashMap.remove(rows.lanes, name),
      lane_limits: HashMap.remove(rows.lane_limits, name),
      lane_turns: HashMap.remove(rows.lane_turns, name)
    }
    : { ...rows, lanes: HashMap.set(rows.lanes, name, lane) }

const isDue = (now: Timestamp) => (item: Item): boolean =>
  item.claim === null && DateTime.isLessThanOrEqualTo(item.due_at, now)

const byDue = (a: Item, b: Item): number => DateTime.Order(a.due_at, b.due_at)

const isPaused = (limits: LaneLimits | null, now: Timestamp): boolean =>
  limits !== null && limits.until !== null && DateTime.isLessThan(now, limits.until)

/** Returns the items of a lane that may be given out now. */
const ready = (lane: Lane, limits: LaneLimits | null, now: Timestamp): Lane => {
  const first = lane[0]
  if (first === undefined) return []
  if (isPaused(limits, now)) return []
  const { cap: rule, fifo } = laneRules[first.work.kind]
  const cap = Math.min(rule, limits?.cap ?? rule)
  const out = lane.filter((item) => item.claim !== null).length
  return (fifo ? [first] : lane).filter(isDue(now)).toSorted(byDue).slice(0, Math.max(0, cap - out))
}

/** Returns what is given out now of a kind: of each lane one before any gives two, the longest waiting first. */
const given = (rows: Rows, kind: WorkKind, limit: number, now: Timestamp): ReadonlyMap<string, ReadonlySet<Item>> => {
  const rounds = Array.from(rows.lanes).flatMap(([name, lane]) => {
    if (lane[0]?.work.kind !== kind) return []
    const items = ready(lane, Option.getOrNull(HashMap.get(rows.lane_limits, name)), now)
    const served_at = Option.getOrUndefined(HashMap.get(rows.lane_turns, name))
    const [first] = items
    if (first === undefined) return []
    const waiting_since = DateTime.max(first.due_at, served_at ?? first.due_at)
    return items.map((item, round) => ({ name, item, round, waiting_since }))
  })
  const chosen = rounds
    .toSorted((a, b) => a.round - b.round || DateTime.Order(a.waiting_since, b.waiting_since))
    .slice(0, limit)
  return new Map(
    Array.from(Map.groupBy(chosen, ({ name }) => name), ([name, all]) => [name, new Set(all.map(({ item }) => item))])
  )
}

/** Takes an item away from a claim whose lease has ended. */
const freed = (now: Timestamp) => (item: Item): Item =>
  item.claim !== null && DateTime.isLessThanOrEqualTo(item.claim.until, now) ? { ...item, claim: null } : item

const toClaimed = ({ attempt, organization_id, trace, work }: Item, token: string): ClaimedWork => ({
  ...work,
  organization_id,
  attempt,
  token,
  trace
})

const nothing = { due: 0, later: 0, held: 0, oldest_due_at: null }

/** Returns what the queue holds of a kind with a lane more. */
const withLane = (backlog: Backlog, lane: Lane, limits: LaneLimits | null, now: Timestamp): Backlog => {
  const due = isPaused(limits, now) ? [] : lane.filter(isDue(now)).map(({ due_at }) => due_at)
  const held = lane.filter(({ claim }) => claim !== null).length
  const known = backlog.oldest_due_at === null ? due : [backlog.oldest_due_at, ...due]
  return {
    ...backlog,
    due: backlog.due + due.length,
    later: backlog.later + lane.length - due.length - held,
    held: backlog.held + held,
    oldest_due_at: known.length === 0 ? null : known.reduce((a, b) => DateTime.min(a, b))
  }
}

/** Layer that keeps work in the in-memory world. */
export const layer = Layer.effect(
  WorkQueue,
  Effect.gen(function*() {
    const world = yield* World

    /** Changes the item, or removes it for null, if the claim still holds it. */
    const settle = (claimed: ClaimedWork, change: (item: Item) => Item | null) =>
      world.modify((rows) => {
        const name = nameOf(claimed)
        const lane = laneOf(rows, name)
        const held = lane.find(({ claim, work }) => work.id === claimed.id && claim?.token === claimed.token)
        if (held === undefined) return [false, rows]
        const changed = change(held)
        const work_refs = changed === null ? HashSet.remove(rows.work_refs, refOf(held.work)) : rows.work_refs
        return [true, put({ ...rows, work_refs }, name, lane.flatMap((item) => item === held ? changed ?? [] : item))]
      })

    return WorkQueue.of({
      enqueue: Effect.fnUntraced(function*(organization_id, work, due_at) {
        const trace = yield* Traces.current
        yield* world.modify((rows) => {
          const ref = refOf(work)
          if (HashSet.has(rows.work_refs, ref)) return [undefined, rows]
          const name = nameOf(work)
          const item: Item = { organization_id, work, due_at, attempt: 0, trace, claim: null }
          const work_refs = HashSet.add(rows.work_refs, ref)
          return [undefined, put({ ...rows, work_refs }, name, [...laneOf(rows, name), item])]
        })
      }),
      claim: ({ kind, lease_until, limit, now, token }) =>
        world.modify((rows) => {
          const claimed: Array<ClaimedWork> = []
          let changed = rows
          for (const [name, items] of given(rows, kind, limit, now)) {
            const marked = laneOf(rows, name).map((item) =>
              items.has(item) ? { ...item, attempt: item.attempt + 1, claim: { token, until: lease_until } } : item
            )
            changed = put({ ...changed, lane_turns: HashMap.set(changed.lane_turns, name, now) }, name, marked)
            for (const item of items) claimed.push(toClaimed({ ...item, attempt: item.attempt + 1 }, token))
          }
          return [claimed, changed]
        }),
      finish: (claimed) => settle(claimed, () => null),
      postpone: (claimed, due_at) => settle(claimed, (item) => ({ ...item, due_at, claim: null })),
      release: (claimed) => settle(claimed, (item) => ({ ...item, attempt: item.attempt - 1, claim: null })),
      throttle: (lane, limits) =>
        world.modify((rows) => {
          const name = nameOf(lane)
          if (!HashMap.has(rows.lanes, name)) return [undefined, rows]
          return [undefined, { ...rows, lane_limits: HashMap.set(rows.lane_limits, name, limits) }]
        }),
      sweep: (now) =>
        world.modify((rows) => {
          return [undefined, { ...rows, lanes: HashMap.map(rows.lanes, (lane) => lane.map(freed(now))) }]
        }),
      backlog: (now) =>
        world.read((rows) => {
          const kinds = new Map<WorkKind, Backlog>()
          for (const [name, lane] of rows.lanes) {
            const kind = lane[0]?.work.kind
            if (kind === undefined) continue
            const limits = Option.getOrNull(HashMap.get(rows.lane_limits, name))
            kinds.set(kind, withLane(kinds.get(kind) ?? { ...nothing, kind }, lane, limits, now))
          }
          return Array.from(kinds.values())
        })
    })
  })
)
