/**
 * Reduces calls that no order explains to the fewest that contradict each other.
 *
 * A call is not simply left out: another response may show its effect. It is forgotten, so that it may have taken effect in
 * its time or not. That allows more orders, so what is left is still a contradiction.
 */
import type { SearchResult, Step } from "./Linearizability.ts"

type Search<Action> = (steps: ReadonlyArray<Step<Action>>, budget?: number) => SearchResult

/** A longer search than this for one of many smaller contradictions is not worth it. */
const budget = 50_000

/** Returns the steps as they were at a time: without later calls, and without the responses to calls in progress. */
const until = <Action>(steps: ReadonlyArray<Step<Action>>, time: number): ReadonlyArray<Step<Action>> =>
  steps.filter(({ started_at }) => started_at <= time)
    .map((step) =>
      step.ended_at !== null && step.ended_at > time ? { ...step, ended_at: null, is_forgotten: true } : step
    )

const isConsidered = <Action>({ ended_at, is_forgotten = false }: Step<Action>): boolean =>
  ended_at !== null && !is_forgotten

/** Returns the completed calls that contradict each other. */
export const shrink = <Action>(
  steps: ReadonlyArray<Step<Action>>,
  search: Search<Action>
): ReadonlyArray<Step<Action>> => {
  const isContradiction = (some: ReadonlyArray<Step<Action>>) => search(some, budget) === "not linearizable"

  /** The shortest beginning that is a contradiction: one more response makes no contradiction vanish. */
  const shortest = () => {
    const times = steps.flatMap(({ ended_at }) => ended_at ?? []).toSorted((a, b) => a - b)
    let [low, high] = [0, times.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (isContradiction(until(steps, times[middle] ?? 0))) high = middle
      else low = middle + 1
    }
    const least = until(steps, times[low] ?? 0)
    return isContradiction(least) ? least : steps
  }

  let least = shortest()
  const considered = () => least.flatMap((step, position) => isConsidered(step) ? [position] : [])
  for (let size = Math.ceil(considered().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    const positions = considered()
    for (let from = 0; from < positions.length; from += size) {
      const forgotten = new Set(positions.slice(from, from + size))
      const fewer = least.map((step, position) => forgotten.has(position) ? { ...step, is_forgotten: true } : step)
      if (isContradiction(fewer)) least = fewer
    }
  }
  return least.filter(isConsidered)
}
