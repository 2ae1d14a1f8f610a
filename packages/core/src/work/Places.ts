/**
 * The items that a worker holds in a lane with a cap: some are carried out, others wait for their places.
 *
 * As many items of a lane are carried out at once as the queue permits. Where they end one after the other, the
 * next ones are claimed while they are carried out, many at a time, so that no place waits for a claim. An item that
 * succeeds leaves its place to one that waits. One that fails may pause its lane, so it gives back those that wait.
 */
import { type ClaimedWork, lanes } from "./WorkQueue.ts"

interface Lane<Item> {
  /** The claims that are carried out, with the milliseconds at which they began. */
  readonly running: Map<ClaimedWork, number>
  readonly waiting: Array<Item>
  /** Whether the lane's cap was reached since the last claim, so that more of its items may be due. */
  wasFull: boolean
}

/** For so many milliseconds an item may be carried out while others are claimed to take its place. */
const quick_max = 1000

const nameOf = ({ kind, lane }: ClaimedWork): string => `${kind}:${lane}`

/** Returns whether less than half as many items wait as may be carried out at once. */
const isLow = <Item>({ waiting }: Lane<Item>, { kind }: ClaimedWork): boolean => waiting.length * 2 < lanes[kind].cap

/** Makes the places of one worker, which hold nothing yet. */
export const make = <Item extends { readonly claimed: ClaimedWork }>() => {
  const held = new Map<string, Lane<Item>>()

  const laneOf = (claimed: ClaimedWork): Lane<Item> => {
    const found = held.get(nameOf(claimed)) ?? { running: new Map(), waiting: [], wasFull: false }
    held.set(nameOf(claimed), found)
    return found
  }

  /** Lets the first items that wait begin, until `limit` are carried out. */
  const begin = (lane: Lane<Item>, limit: number, now: number): ReadonlyArray<Item> => {
    const begun = lane.waiting.splice(0, Math.max(0, limit - lane.running.size))
    for (const { claimed } of begun) {
      lane.running.set(claimed, now)
      if (lane.running.size >= lanes[claimed.kind].cap) lane.wasFull = true
    }
    return begun
  }

  const leave = (claimed: ClaimedWork): Lane<Item> => {
    const lane = laneOf(claimed)
    lane.running.delete(claimed)
    if (lane.running.size === 0 && lane.waiting.length === 0) held.delete(nameOf(claimed))
    return lane
  }

  return {
    /** Returns the claims whose places the next claim may give to others already, although they are carried out. */
    ahead: (now: number): ReadonlyArray<ClaimedWork> =>
      Array.from(held.values()).flatMap((lane) => {
        const running = Array.from(lane.running)
        const [first] = running
        const { wasFull } = lane
        lane.wasFull = first !== undefined && running.length >= lanes[first[0].kind].cap
        const isQuick = running.every(([, begun]) => now - begun < quick_max)
        return wasFull && isQuick && first !== undefined && lanes[first[0].kind].cap > 1 && isLow(lane, first[0])
          ? running.map(([claimed]) => claimed)
          : []
      }),

    /**
     * Adds the items of a claim, for which `ahead` did not count, and returns those that begin now.
     *
     * The claim gave what the cap leaves beside the items of others and those of ours that counted. So no more than
     * that are carried out now, apart from those that are already.
     */
    add: (items: ReadonlyArray<Item>, ahead: ReadonlyArray<ClaimedWork>, now: number): ReadonlyArray<Item> => {
      const uncounted = new Set(ahead)
      return Array.from(Map.groupBy(items, ({ claimed }) => nameOf(claimed)).values()).flatMap((added) => {
        const [first] = added
        if (first === undefined) return []
        const lane = laneOf(first.claimed)
        const counted = Array.from(lane.running.keys()).filter((claimed) => !uncounted.has(claimed)).length
        const limit = added.length + counted + lane.waiting.length
        lane.waiting.push(...added)
        return begin(lane, limit, now)
      })
    },

    /** Ends an item that has succeeded. Returns the one that takes its place, if one waits, and whether few more do. */
    succeed: (claimed: ClaimedWork, now: number) => {
      const lane = leave(claimed)
      return { next: begin(lane, lane.running.size + 1, now), isLow: isLow(lane, claimed) }
    },

    /** Ends an item that has not succeeded, and returns those of its lane that waited. */
    fail: (claimed: ClaimedWork): ReadonlyArray<Item> => {
      const lane = laneOf(claimed)
      const waited = lane.waiting.splice(0)
      leave(claimed)
      return waited
    },

    /** Returns all items that waited. */
    clear: (): ReadonlyArray<Item> => Array.from(held.values()).flatMap(({ waiting }) => waiting.splice(0))
  }
}

export type Places<Item extends { readonly claimed: ClaimedWork }> = ReturnType<typeof make<Item>>
