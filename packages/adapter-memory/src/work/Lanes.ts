/** The changes of a commit to the queue: work that it enqueues and settles, and lanes that it throttles. */
import { type Enqueued, isThrottled, type Settlement, type Throttle } from "@messaging-crm/core/Changes"
import { LeaseLost } from "@messaging-crm/core/Commit"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { type ClaimedWork, kind_rules, type Work } from "@messaging-crm/core/WorkQueue"
import { HashMap, HashSet, Option, Result } from "effect"
import type { Item, Lane, Queue } from "../world/Queue.ts"

/** Returns the name of a lane. */
export const nameOf = ({ kind, lane }: Pick<Work, "kind" | "lane">): string => `${kind}|${lane}`

const refOf = ({ kind, ref }: Work): string => `${kind}|${ref}`

const put = (lanes: Queue["lanes"], name: string, lane: Lane): Queue["lanes"] =>
  lane.items.length === 0 && !isThrottled(lane) ? HashMap.remove(lanes, name) : HashMap.set(lanes, name, lane)

/** Returns a lane, or an empty one if it does not exist yet. */
const laneOf = ({ lanes }: Queue, organization_id: OrganizationId, work: Pick<Work, "kind" | "lane">): Lane =>
  Option.getOrElse(HashMap.get(lanes, nameOf(work)), (): Lane => ({
    organization_id,
    kind: work.kind,
    items: [],
    until: null,
    cap: kind_rules[work.kind].cap,
    served_at: null
  }))

/** Adds work to its lane, unless an item of its kind exists for its ref. */
export const enqueueWork = (
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

/** Makes a waiting item due at another time. Returns none if its item is claimed or does not exist. */
export const expediteWork = (queue: Queue, organization_id: OrganizationId, work: Enqueued): Option.Option<Queue> =>
  Option.gen(function*() {
    const lane = yield* HashMap.get(queue.lanes, nameOf(work))
    const isWaiting = (item: Item) => item.ref === work.ref && item.claim === null
    if (lane.organization_id !== organization_id || !lane.items.some(isWaiting)) return yield* Option.none()
    const items = lane.items.map((item) => isWaiting(item) ? { ...item, due_at: work.due_at } : item)
    return { ...queue, lanes: put(queue.lanes, nameOf(work), { ...lane, items }) }
  })

/** Throttles a lane, which can be empty, until its next throttle. */
export const throttleLane = (queue: Queue, organization_id: OrganizationId, throttle: Throttle): Queue => {
  const { cap, until } = throttle
  return {
    ...queue,
    lanes: put(queue.lanes, nameOf(throttle), { ...laneOf(queue, organization_id, throttle), cap, until })
  }
}

/** Changes the item that a claim has leased. Null removes it. */
const changeLeased = (
  queue: Queue,
  claimed: ClaimedWork,
  change: (item: Item) => Item | null
): Result.Result<Queue, LeaseLost> => {
  const lane = Option.getOrUndefined(HashMap.get(queue.lanes, nameOf(claimed)))
  const leased = lane?.items.find(({ claim, ref }) => ref === claimed.ref && claim?.token === claimed.token)
  if (lane === undefined || leased === undefined) return Result.fail(new LeaseLost())
  const next = change(leased)
  return Result.succeed({
    lanes: put(queue.lanes, nameOf(claimed), {
      ...lane,
      items: lane.items.flatMap((item) => item === leased ? next ?? [] : item)
    }),
    refs: next === null ? HashSet.remove(queue.refs, refOf(leased)) : queue.refs
  })
}

/** Settles the item of a claim, and returns the queue, unless the claim has lost its lease. */
export const settleWork = (queue: Queue, settlement: Settlement): Result.Result<Queue, LeaseLost> => {
  const { claimed, outcome } = settlement
  switch (outcome) {
    case "keep":
      return changeLeased(queue, claimed, (item) => item)
    case "finish":
      return changeLeased(queue, claimed, () => null)
    case "finish_if_leased":
      return Result.orElse(changeLeased(queue, claimed, () => null), () => Result.succeed(queue))
    case "postpone":
      return changeLeased(queue, claimed, (item) => ({ ...item, due_at: settlement.due_at, claim: null }))
    case "defect":
      return changeLeased(queue, claimed, (item) => ({
        ...item,
        due_at: settlement.due_at,
        defects: item.defects + 1,
        claim: null
      }))
    case "release":
      return changeLeased(queue, claimed, (item) => ({ ...item, attempt: item.attempt - 1, claim: null }))
  }
}
