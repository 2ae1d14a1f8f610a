import type { Enqueued, Settlement, Throttle } from "@messaging-crm/core/Changes"
import { LeaseLost } from "@messaging-crm/core/Commit"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import {
  type Backlog,
  type Claim,
  type ClaimedWork,
  lanes as laneRules,
  type Work,
  type WorkKind,
  WorkQueue
} from "@messaging-crm/core/WorkQueue"
import { DateTime, HashMap, HashSet, Layer, Option, Result, Struct } from "effect"
import type { Item, Lane, Queue } from "../world/Queue.ts"
import { World } from "../world/World.ts"

const nameOf = ({ kind, lane }: Pick<Work, "kind" | "lane">): string => `${kind}|${lane}`

const refOf = ({ kind, ref }: Work): string => `${kind}|${ref}`

const put = (lanes: Queue["lanes"], name: string, lane: Lane): Queue["lanes"] =>
  lane.items.length === 0 && !isThrottled(lane) ? HashMap.remove(lanes, name) : HashMap.set(lanes, name, lane)

const isThrottled = ({ cap, kind, until }: Lane): boolean => until !== null || cap < laneRules[kind].cap

/** Returns a lane, which may not exist yet. */
const laneOf = ({ lanes }: Queue, organization_id: OrganizationId, work: Pick<Work, "kind" | "lane">): Lane =>
  Option.getOrElse(HashMap.get(lanes, nameOf(work)), (): Lane => ({
    organization_id,
    kind: work.kind,
    items: [],
    until: null,
    cap: laneRules[work.kind].cap,
    served_at: null
  }))

// ------------------------------------------------------ changes of a commit

/** Adds work to its lane, unless an item of its kind exists for its ref. */
export const enqueued = (
  queue: Queue,
  organization_id: OrganizationId,
  work: Enqueued,
  trace: string | null
): Queue => {
  if (HashSet.has(queue.refs, refOf(work))) return queue
  const item: Item = { ...work, organization_id, attempt: 0, defects: 0, trace, claim: null }
  const lane = laneOf(queue, organization_id, work)
  return {
    lanes: put(queue.lanes, nameOf(work), { ...lane, items: [...lane.items, item] }),
    refs: HashSet.add(queue.refs, refOf(work))
  }
}

/** Throttles a lane, which may have no items, until its next throttle. */
export const throttled = (queue: Queue, organization_id: OrganizationId, throttle: Throttle): Queue => {
  const { cap, until } = throttle
  return {
    ...queue,
    lanes: put(queue.lanes, nameOf(throttle), { ...laneOf(queue, organization_id, throttle), cap, until })
  }
}

/** Changes the item that a claim holds. Null removes it. */
const changed = (
  queue: Queue,
  claimed: ClaimedWork,
  change: (item: Item) => Item | null
): Result.Result<Queue, LeaseLost> => {
  const lane = Option.getOrUndefined(HashMap.get(queue.lanes, nameOf(claimed)))
  const held = lane?.items.find(({ claim, ref }) => ref === claimed.ref && claim?.token === claimed.token)
  if (lane === undefined || held === undefined) return Result.fail(new LeaseLost())
  const next = change(held)
  return Result.succeed({
    lanes: put(queue.lanes, nameOf(claimed), {
      ...lane,
      items: lane.items.flatMap((item) => item === held ? next ?? [] : item)
    }),
    refs: next === null ? HashSet.remove(queue.refs, refOf(held)) : queue.refs
  })
}

export const settled = (queue: Queue, settlement: Settlement): Result.Result<Queue, LeaseLost> => {
  const { claimed, outcome } = settlement
  switch (outcome) {
    case "hold":
      return changed(queue, claimed, (item) => item)
    case "finish":
      return changed(queue, claimed, () => null)
    case "finish_if_leased":
      return Result.orElse(changed(queue, claimed, () => null), () => Result.succeed(queue))
    case "postpone":
      return changed(queue, claimed, (item) => ({ ...item, due_at: settlement.due_at, claim: null }))
    case "defect":
      return changed(queue, claimed, (item) => ({
        ...item,
        due_at: settlement.due_at,
        defects: item.defects + 1,
        claim: null
      }))
    case "release":
      return changed(queue, claimed, (item) => ({ ...item, attempt: item.attempt - 1, claim: null }))
  }
}

// ------------------------------------------------------------------- claims

const isDue = (now: Timestamp) => (item: Item): boolean =>
  item.claim === null && DateTime.isLessThanOrEqualTo(item.due_at, now)

const isPaused = ({ until }: Lane, now: Timestamp): boolean => until !== null && DateTime.isLessThan(now, until)

/** An item that can be claimed, how many of its lane will then be claimed, and since when its lane has waited. */
interface Ready {
  readonly item: Item
  readonly round: number
  readonly waiting_since: Timestamp
}

const capOf = (lane: Lane): number => Math.min(laneRules[lane.kind].cap, lane.cap)

/** Returns the items of a lane that can be claimed now. */
const readyOf = (lane: Lane, now: Timestamp): ReadonlyArray<Ready> => {
  if (isPaused(lane, now)) return []
  const claimed = lane.items.filter(({ claim }) => claim !== null).length
  const items = (laneRules[lane.kind].fifo ? lane.items.slice(0, 1) : lane.items)
    .filter(isDue(now))
    .toSorted((a, b) => DateTime.Order(a.due_at, b.due_at))
    .slice(0, Math.max(0, capOf(lane) - claimed))
  return items.map((item, index) => {
    const { due_at } = items[0] ?? item
    return { item, round: claimed + index, waiting_since: DateTime.max(due_at, lane.served_at ?? due_at) }
  })
}

/** Returns the items of a kind that a claim gets: organizations take turns, and so do the lanes of each. */
const claimable = (
  { lanes }: Queue,
  { leased, kind, limit, now, organization_max = limit }: Claim
): ReadonlyArray<Item> => {
  const byWait = (a: Ready, b: Ready): number => DateTime.Order(a.waiting_since, b.waiting_since)
  const due = Array.from(HashMap.values(lanes)).filter((lane) => lane.kind === kind)
  return Array.from(Map.groupBy(due, ({ organization_id }) => organization_id))
    .flatMap(([organization_id, own]) =>
      own.flatMap((lane) => readyOf(lane, now))
        .toSorted((a, b) => a.round - b.round || byWait(a, b))
        .map((ready, index) => ({ ...ready, turn: (leased?.get(organization_id) ?? 0) + index }))
    )
    .filter(({ turn }) => turn < organization_max)
    .toSorted((a, b) => a.turn - b.turn || byWait(a, b))
    .slice(0, limit)
    .map(({ item }) => item)
}

/** Claims items, and returns them with the queue in which they are claimed. */
export const claimed = (queue: Queue, claim: Claim): readonly [ReadonlyArray<ClaimedWork>, Queue] => {
  const { lease_until, now, token } = claim
  const items: Array<ClaimedWork> = []
  let { lanes } = queue
  for (const due of claimable(queue, claim)) {
    const item: Item = { ...due, attempt: due.attempt + 1, claim: { token, until: lease_until } }
    const lane_cap = Option.match(HashMap.get(lanes, nameOf(item)), { onNone: () => 0, onSome: capOf })
    lanes = HashMap.modify(lanes, nameOf(item), (lane) => ({
      ...lane,
      served_at: now,
      items: lane.items.map((one) => one === due ? item : one)
    }))
    items.push({ ...Struct.omit(item, ["claim", "due_at"]), token, lane_cap })
  }
  return [items, { ...queue, lanes }]
}

/** Releases an item whose lease has ended. */
const freed = (now: Timestamp) => (item: Item): Item =>
  item.claim !== null && DateTime.isLessThanOrEqualTo(item.claim.until, now) ? { ...item, claim: null } : item

// ---------------------------------------------------------------- backlog

const nothing = { due: 0, later: 0, leased: 0, oldest_due_at: null }

/** Adds the counts of a lane to those of its kind. */
const withLane = (backlog: Backlog, lane: Lane, now: Timestamp): Backlog => {
  const due = isPaused(lane, now) ? [] : lane.items.filter(isDue(now)).map(({ due_at }) => due_at)
  const held = lane.items.filter(({ claim }) => claim !== null).length
  const known = backlog.oldest_due_at === null ? due : [backlog.oldest_due_at, ...due]
  return {
    ...backlog,
    due: backlog.due + due.length,
    later: backlog.later + lane.items.length - due.length - held,
    leased: backlog.leased + held,
    oldest_due_at: known.length === 0 ? null : known.reduce((a, b) => DateTime.min(a, b))
  }
}

/** Layer that keeps work in the in-memory world. */
export const layer = Layer.effect(
  WorkQueue,
  World.useSync(({ modify, read }) =>
    WorkQueue.of({
      claim: (claim) =>
        modify((state) => {
          const [items, queue] = claimed(state.queue, claim)
          return [items, { ...state, queue }]
        }),
      sweep: (now) =>
        modify((state) => {
          const lanes = HashMap.map(state.queue.lanes, (lane) => ({ ...lane, items: lane.items.map(freed(now)) }))
          return [undefined, { ...state, queue: { ...state.queue, lanes } }]
        }),
      backlog: (now) =>
        read(({ queue }) => {
          const kinds = new Map<WorkKind, Backlog>()
          for (const lane of HashMap.values(queue.lanes)) {
            if (lane.items.length === 0) continue
            kinds.set(lane.kind, withLane(kinds.get(lane.kind) ?? { ...nothing, kind: lane.kind }, lane, now))
          }
          return Array.from(kinds.values())
        })
    })
  )
)
