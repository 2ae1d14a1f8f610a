/** How busy the connection pools of this process are, for its metrics. */
import { Effect } from "effect"

/** The usage of one pool at one moment. */
export interface PoolUsage {
  readonly name: string
  /** The maximum number of connections. */
  readonly max: number
  /** Statements and transactions in progress. */
  statements: number
  /** Statements and transactions that wait for a connection. */
  waiting: number
}

const pools = new Set<PoolUsage>()

/** Returns the usage of each open pool. */
export const poolUsages = (): ReadonlyArray<Readonly<PoolUsage>> => Array.from(pools)

/** Registers a pool until the scope closes. */
export const register = (name: string, max: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const usage: PoolUsage = { name, max, statements: 0, waiting: 0 }
      pools.add(usage)
      return usage
    }),
    (usage) => Effect.sync(() => pools.delete(usage))
  )

type Counter = "statements" | "waiting" | null

/** Returns a function that moves one use of a pool to another counter. Null removes it. */
const counterOf = (usage: PoolUsage) => {
  let counter: Counter = null
  return (next: Counter) => {
    if (counter !== null) usage[counter] -= 1
    if (next !== null) usage[next] += 1
    counter = next
  }
}

/** Counts a transaction until the scope closes: as waiting until the returned function is called, then as in progress. */
export const reserved = (usage: PoolUsage) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const count = counterOf(usage)
        count("waiting")
        return count
      }),
      (count) => Effect.sync(() => count(null))
    ),
    (count) => () => count("statements")
  )

/** Counts a statement: as waiting until `acquired` is called, then as in progress. */
export const counted = <A, E, R>(usage: PoolUsage, run: (acquired: () => void) => Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const count = counterOf(usage)
    const use = Effect.suspend(() => {
      count("waiting")
      return run(() => count("statements"))
    })
    // The count is raised inside of this, so that no interruption can come between raising and lowering it.
    return Effect.onExitPrimitive(use, () => void count(null))
  })
