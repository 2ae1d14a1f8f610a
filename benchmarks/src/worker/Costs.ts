/** The cost of processing an item: its CPU time in Node and in PostgreSQL, and its statements. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as ProcessorTime from "../harness/ProcessorTime.ts"
import * as Statements from "../harness/Statements.ts"
import { untilPasses } from "../harness/Waiting.ts"

const countWork = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly count: number }>`SELECT count(*)::int AS count FROM work`
).pipe(Effect.map(([row]) => row?.count ?? -1))

/** Waits until the queue is empty, for five minutes at most. */
export const untilQueueIsEmpty = untilPasses(countWork, {
  interval: "50 millis",
  times: 6000,
  until: (count) => count === 0
})

/** Runs an effect that processes `count` items, and returns the cost of one. */
export const measureCost = Effect.fnUntraced(
  function*<A, E, R>(pid: number, count: number, run: Effect.Effect<A, E, R>) {
    yield* Statements.reset
    const readTimes = Effect.all([ProcessorTime.ofProcess(pid), ProcessorTime.ofPostgres, Clock.currentTimeMillis])
    const [node, postgres, started_at] = yield* readTimes
    yield* run
    const [node_after, postgres_after, ended_at] = yield* readTimes
    return {
      per_second: Math.round(count * 1000 / (ended_at - started_at)),
      node_us: Math.round((node_after - node) / count),
      postgres_us: Math.round((postgres_after - postgres) / count),
      statements: yield* Statements.slowest(count)
    }
  }
)

/** Vacuums and analyzes all tables, so that autovacuum does not do it during a measurement. */
export const vacuum = SqlClient.SqlClient.use((sql) => sql`VACUUM ANALYZE`)

/** Enqueues items while a worker is stopped, and measures it from when it continues. */
export const measureBacklog = Effect.fnUntraced(
  function*<A, E, R>(pid: number, count: number, enqueue: Effect.Effect<A, E, R>) {
    process.kill(pid, "SIGSTOP")
    yield* enqueue
    yield* vacuum
    const finish = Effect.andThen(Effect.sync(() => process.kill(pid, "SIGCONT")), untilQueueIsEmpty)
    return yield* measureCost(pid, count, finish)
  }
)
