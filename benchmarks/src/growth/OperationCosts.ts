/** The cost of an operation in PostgreSQL at each size of one database. */
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import { Array, Duration, Effect, Layer, Predicate } from "effect"
import { SqlClient } from "effect/sql"
import * as Benchmark from "../harness/Benchmark.ts"
import { Crowd } from "../harness/Fixtures.ts"
import { percentile } from "../harness/Percentiles.ts"
import * as ProcessorTime from "../harness/ProcessorTime.ts"
import { type Dataset, prepareDataset } from "./Datasets.ts"
import { type Case, cases, member, type Services } from "./OperationCases.ts"

const actor = Layer.succeed(CurrentActor, { organization_id: Crowd.large, member_id: member(0) })

/** The service on a database, without workers. Reads share one connection. */
const service = (url: string) =>
  Layer.merge(Crm.layer, actor).pipe(
    Layer.provideMerge(Layer.mergeAll(Postgres.layer, Provider.layer("callback_ref"), Ids.layer, WorkSignal.layer)),
    Layer.provideMerge(Benchmark.database(url, 3))
  )

/** The time that PostgreSQL has spent on a database: of its statements, and the CPU time of its connections. */
interface DatabaseTime {
  readonly statements_us: number
  readonly processor_us: number
}

interface Database {
  readonly dataset: Dataset
  readonly provideServices: <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.Effect<A, E>
  readonly readTime: Effect.Effect<DatabaseTime>
}

const open = Effect.fnUntraced(function*(url: string, contacts: number) {
  const context = yield* Layer.build(service(url))
  const provideServices: Database["provideServices"] = (effect) => Effect.provideContext(effect, context)
  const dataset = yield* provideServices(prepareDataset(contacts))
  // Another connection, so that reading the statistics is not counted: it is made in another database.
  const sql = yield* SqlClient.SqlClient
  const name = new URL(url).pathname.slice(1)
  const readTime = sql<{ readonly us: number; readonly pids: ReadonlyArray<number> }>`
    SELECT
      coalesce(sum(total_exec_time + total_plan_time), 0) * 1000 AS us,
      ARRAY(SELECT pid FROM pg_stat_activity WHERE datname = ${name} AND backend_type = 'client backend') AS pids
    FROM pg_stat_statements(false)
    WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = ${name})
  `.pipe(
    Effect.flatMap(([{ pids, us } = { us: 0, pids: [] }]) =>
      Effect.map(Effect.forEach(pids, ProcessorTime.ofProcess), (times): DatabaseTime => ({
        statements_us: us,
        processor_us: times.reduce((sum, each) => sum + each, 0)
      }))
    ),
    Effect.orDie
  )
  return { dataset, provideServices, readTime } satisfies Database
})

const roundedPercentile = (times: ReadonlyArray<number>, share: number): number => Math.round(percentile(times, share))

interface Cost {
  /** The number of rows that the last run returned. */
  readonly rows: number
  /** The median of the CPU time. Other processes of the machine affect it less than the other two. */
  readonly processor_p50_us: number
  readonly p50_us: number
  readonly p95_us: number
  /** The median time of the whole operation, the service's part included. */
  readonly elapsed_p50_us: number
}

/** The number of runs before the measured ones, in which a connection makes its plans and fills its caches. */
const warm_up_runs = 8

/** The time of one run: in PostgreSQL, and of the whole operation. */
interface Measurement extends DatabaseTime {
  readonly elapsed_us: number
  /** The number of rows that it returned. */
  readonly rows: number
}

const rowsOf = (result: unknown): ReadonlyArray<unknown> =>
  Predicate.hasProperty(result, "rows") && Array.isArray(result.rows) ? result.rows : Array.ensure(result)

/** Runs a case once, and measures it. */
const measureRun = Effect.fnUntraced(
  function*({ provideServices, readTime }: Database, effect: Effect.Effect<unknown, unknown, Services>) {
    const before = yield* readTime
    const [elapsed, result] = yield* Effect.timed(provideServices(effect))
    const after = yield* readTime
    return {
      statements_us: after.statements_us - before.statements_us,
      processor_us: after.processor_us - before.processor_us,
      elapsed_us: Duration.toMillis(elapsed) * 1000,
      rows: rowsOf(result).length
    } satisfies Measurement
  }
)

const costOf = (measurements: ReadonlyArray<Measurement>): Cost => {
  const statements = measurements.map(({ statements_us }) => statements_us)
  return {
    rows: measurements.at(-1)?.rows ?? 0,
    processor_p50_us: roundedPercentile(measurements.map(({ processor_us }) => processor_us), 0.5),
    p50_us: roundedPercentile(statements, 0.5),
    p95_us: roundedPercentile(statements, 0.95),
    elapsed_p50_us: roundedPercentile(measurements.map(({ elapsed_us }) => elapsed_us), 0.5)
  }
}

/** Runs one case on the databases in turn, and returns its cost at each size. */
const compareCase = Effect.fnUntraced(function*(databases: ReadonlyArray<Database>, make: Case, runs: number) {
  const measured = databases.map((): Array<Measurement> => [])
  for (let number = 0; number < warm_up_runs + runs; number++) {
    for (const [index, database] of databases.entries()) {
      const effect = make(database.dataset, number)
      if (effect === null) continue
      const isWarmUp = number < warm_up_runs
      // The first runs read from disk, so a search can exceed its time.
      const measurement = yield* Effect.retry(measureRun(database, effect), { times: isWarmUp ? warm_up_runs : 0 })
      if (!isWarmUp) measured[index]?.push(measurement)
    }
  }
  return Object.fromEntries(
    databases.flatMap(({ dataset: { contacts } }, index) => {
      const measurements = measured[index] ?? []
      return measurements.length === 0 ? [] : [[contacts, costOf(measurements)]]
    })
  )
})

/**
 * Runs every case at each size in turn, and returns the time of one run in PostgreSQL
 * in microseconds: of all its statements in total. Reads `/proc`, so it works on
 * Linux only.
 */
export const compare = Effect.fnUntraced(function*(
  urls: Readonly<Record<number, string>>,
  { runs }: { readonly runs: number }
) {
  const databases = yield* Effect.forEach(
    Object.entries(urls),
    ([contacts, url]) => open(url, Number(contacts))
  )
  const results: Record<string, Record<string, Cost>> = {}
  for (const [name, make] of Object.entries(cases)) {
    results[name] = yield* Effect.tapError(
      compareCase(databases, make, runs),
      () => Effect.logError(`"${name}" failed`)
    )
  }
  return results
})
