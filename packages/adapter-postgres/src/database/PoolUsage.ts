/** How busy the connection pools of this process are, for its metrics. */
import type { Turns } from "@messaging-crm/core/Turns"
import { Effect, Metric, type Pool } from "effect"

/** The usage of one pool at one moment. */
export interface PoolUsage {
  readonly name: string
  /** The labels of the metrics of the process's part that opened the pool. */
  readonly labels: Readonly<Record<string, string>>
  /** The maximum number of connections. */
  readonly max: number
  /** Statements and transactions in progress. */
  readonly statements: number
  /** Statements and transactions that wait for a connection. A transaction that waits for the end of shared statements is in progress. */
  readonly waiting: number
}

/** A function that reads the usage of a pool, for each open pool. */
const pools = new Set<() => PoolUsage>()

/** Returns the usage of each open pool. */
export const poolUsages = (): ReadonlyArray<PoolUsage> => Array.from(pools, (read) => read())

/** Registers a pool until the scope closes. */
export const register = Effect.fnUntraced(function*<A, E>(
  name: string,
  { config, state }: Pool.Pool<A, E>,
  turns: Turns<unknown>
) {
  const labels = yield* Metric.CurrentMetricAttributes
  const read = (): PoolUsage => ({
    name,
    labels,
    max: config.maxSize,
    statements: Array.from(state.items).reduce((sum, { refCount }) => sum + refCount, 0),
    waiting: state.waiters.size + turns.waitingCount
  })
  yield* Effect.acquireRelease(Effect.sync(() => pools.add(read)), () => Effect.sync(() => pools.delete(read)))
})
