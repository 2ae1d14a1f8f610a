/**
 * Reduces calls that no order explains to a small set of calls that contradict each other.
 *
 * It cannot remove a call, because another response can show its effect. Instead, it ignores the response, so that the call
 * took effect in its time or not at all. That allows more orders, so the remaining calls still contradict each other.
 */
import type { SearchResult, Step } from "./Linearizability.ts"

type Search<Action> = (steps: ReadonlyArray<Step<Action>>, budget?: number) => SearchResult

/** The budget of each search, of which there are many. */
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

  /** Returns the shortest prefix that is a contradiction. A further response never resolves one. */
  const shortestPrefix = () => {
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

  let least = shortestPrefix()
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
