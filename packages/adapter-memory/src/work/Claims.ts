/** Claims of due work: organizations take turns, and so do the lanes of each. */
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { type Claim, type ClaimedWork, kind_rules } from "@messaging-crm/core/WorkQueue"
import { DateTime, HashMap, Option, Struct } from "effect"
import type { Item, Lane, Queue } from "../world/Queue.ts"
import { nameOf } from "./Lanes.ts"

/** Returns whether an item can be claimed, apart from its lane. */
export const isDue = (now: Timestamp) => (item: Item): boolean =>
  item.claim === null && DateTime.isLessThanOrEqualTo(item.due_at, now)

export const isPaused = ({ until }: Lane, now: Timestamp): boolean => until !== null && DateTime.isLessThan(now, until)

/** An item that can be claimed, with its turn in its lane, after the claimed items, and the start of the lane's wait. */
interface Ready {
  readonly item: Item
  readonly lane_turn: number
  readonly waiting_since: Timestamp
}

const capOf = (lane: Lane): number => Math.min(kind_rules[lane.kind].cap, lane.cap)

/** Returns the items of a lane that can be claimed now. */
const readyOf = (lane: Lane, now: Timestamp): ReadonlyArray<Ready> => {
  if (isPaused(lane, now)) return []
  const claimed = lane.items.filter(({ claim }) => claim !== null).length
  const items = (kind_rules[lane.kind].fifo ? lane.items.slice(0, 1) : lane.items)
    .filter(isDue(now))
    .toSorted((a, b) => DateTime.Order(a.due_at, b.due_at))
    .slice(0, Math.max(0, capOf(lane) - claimed))
  return items.map((item, index) => {
    const { due_at } = items[0] ?? item
    return { item, lane_turn: claimed + index, waiting_since: DateTime.max(due_at, lane.served_at ?? due_at) }
  })
}

/** Returns the items of a kind that a claim gets: organizations take turns, and so do the lanes of each. */
const claimableItems = (
  { lanes }: Queue,
  { leased, kind, limit, now, free = Infinity }: Claim
): ReadonlyArray<Item> => {
  const byWait = (a: Ready, b: Ready): number => DateTime.Order(a.waiting_since, b.waiting_since)
  const lanesOfKind = Array.from(HashMap.values(lanes)).filter((lane) => lane.kind === kind)
  return Array.from(Map.groupBy(lanesOfKind, ({ organization_id }) => organization_id))
    .flatMap(([organization_id, lanesOfOrganization]) =>
      lanesOfOrganization.flatMap((lane) => readyOf(lane, now))
        .toSorted((a, b) => a.lane_turn - b.lane_turn || byWait(a, b))
        .map((ready, index) => {
          const held = leased?.get(organization_id) ?? 0
          return { ...ready, organization_turn: held + index, share: Math.ceil((free + held) / 2) }
        })
    )
    .filter(({ lane_turn, organization_turn, share }) => lane_turn < share - organization_turn)
    .toSorted((a, b) => a.organization_turn - b.organization_turn || byWait(a, b))
    .slice(0, limit)
    .map(({ item }) => item)
}

/** Claims items, and returns them with the queue in which they are claimed. */
export const claimWork = (queue: Queue, claim: Claim): readonly [ReadonlyArray<ClaimedWork>, Queue] => {
  const { lease_until, now, token } = claim
  const claimed: Array<ClaimedWork> = []
  let { lanes } = queue
  for (const unclaimed of claimableItems(queue, claim)) {
    const item: Item = { ...unclaimed, attempt: unclaimed.attempt + 1, claim: { token, until: lease_until } }
    const lane_cap = Option.match(HashMap.get(lanes, nameOf(item)), { onNone: () => 0, onSome: capOf })
    lanes = HashMap.modify(lanes, nameOf(item), (lane) => ({
      ...lane,
      served_at: now,
      items: lane.items.map((other) => other === unclaimed ? item : other)
    }))
    claimed.push({ ...Struct.omit(item, ["claim", "due_at"]), token, lane_cap })
  }
  return [claimed, { ...queue, lanes }]
}

/** Releases an item if its lease has expired. */
export const releaseExpired = (now: Timestamp) => (item: Item): Item =>
  item.claim !== null && DateTime.isLessThanOrEqualTo(item.claim.until, now) ? { ...item, claim: null } : item
