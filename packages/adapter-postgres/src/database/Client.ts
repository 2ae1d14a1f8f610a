import { PgClient, type PgConnection } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, type Statement } from "effect/sql"
import * as Connections from "./Client/Connections.ts"
import * as Hosts from "./Client/Hosts.ts"
import * as Types from "./Client/Types.ts"
import { CommitConnections } from "./CommitConnections.ts"
import { SearchConnections } from "./SearchConnections.ts"
import { time_limits } from "./TimeLimits.ts"

export interface Options {
  /** The URL. It may name several hosts: the service uses the one that accepts writes. */
  readonly url: Redacted.Redacted
  /** The maximum number of connections of a process, including those for commits. */
  readonly connections?: number
}

/**
 * The settings of every session. They end statements, transactions and clients
 * that hang, so that a lock is held at most 15 seconds after its process has died.
 */
const settings = {
  // An operator may have chosen other defaults, with which statements fail or return other values.
  array_nulls: "on",
  bytea_output: "hex",
  DateStyle: "ISO, MDY",
  default_transaction_isolation: "read committed",
  gin_fuzzy_search_limit: "0",
  IntervalStyle: "postgres",
  lock_timeout: "0",
  standard_conforming_strings: "on",
  TimeZone: "UTC",
  transform_null_equals: "off",
  ...time_limits,
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "2",
  client_connection_check_interval: "5s",
  synchronous_commit: "on",
  // Every statement is written so that one plan is right for all values: planning takes as long as a short read itself.
  plan_cache_mode: "force_generic_plan",
  // A plan that was made for a small table is kept while the table grows, so it must use the index from the start.
  enable_seqscan: "off",
  // Rows are read in the order of an index if one has the required order, and sorted only if none does.
  enable_sort: "off",
  // No statement reads enough rows for JIT compilation or parallel workers to save time.
  jit: "off",
  max_parallel_workers_per_gather: "0"
}

/** Commits wait for a row lock for at most 2 seconds, and join by index alone: their plans may be made while a table is empty. */
const committing_settings = { lock_timeout: "2s", enable_hashjoin: "off", enable_mergejoin: "off" }

/** A search that reads too many rows ends after a second, so that the next one gets its connection. */
const searching_settings = { statement_timeout: "1s" }

/** How many searches share a connection. A search waits for at most seven others. */
const searches_per_connection = 8

/** Returns how many connections to use for searches: none where there are fewer than four. */
const searchesOf = (connections: number): number => Math.floor(connections / 4)

/** Returns how many connections to use for commits. The others are multiplexed, so that a few of them are enough. */
const commitsOf = (connections: number): number => Math.min(Math.max(2, Math.floor(connections / 2)), connections - 1)

/** The attributes of a client's spans. Which of several hosts a statement goes to may change. */
const attributesOf = (
  [{ database, host, port }, ...others]: Hosts.Hosts
): ReadonlyArray<readonly [string, unknown]> => [
  ["db.namespace", database],
  ...(others.length === 0 ? [["server.address", host], ["server.port", port]] as const : [])
]

/** PostgreSQL responds to `COMMIT` with `ROLLBACK` if an earlier statement failed. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) => {
    // The cast is safe, because every connection here is one of the driver's.
    const { command } = result as PgConnection.Result
    const cause = new Error("COMMIT rolled back a transaction in which a statement had failed")
    return command === "COMMIT"
      ? Effect.void
      : Effect.fail(new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, operation: "commit" }) }))
  })

/**
 * Makes the driver's compiler, but returns complete texts, such as those of commits, without it. The compiler's `WeakMap`
 * keeps each statement with its parameters for a long time: 714 KB of the 26 MB that a test of updates made,
 * instead of 6 KB.
 */
const makeCompiler = (): Statement.Compiler => {
  const driver = PgClient.makeCompiler()
  return {
    dialect: driver.dialect,
    compile: (statement, withoutTransform) => {
      const [first, ...others] = statement.segments
      return first?._tag === "Literal" && others.length === 0
        ? [first.value, first.params ?? []]
        : driver.compile(statement, withoutTransform)
    },
    // Names are not transformed.
    get withoutTransform() {
      return this
    }
  }
}

type Shape = Omit<Connections.Config, "driver"> & {
  readonly settings: Readonly<Record<string, string>>
}

const make = Effect.fnUntraced(function*({ settings, ...shape }: Shape) {
  const { borrower, reserve } = yield* Connections.make({
    ...shape,
    driver: { applicationName: "messaging-crm", startupParameters: settings, types: Types.make() }
  })
  return yield* SqlClient.make({
    driver: "pg",
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    compiler: makeCompiler(),
    borrower,
    acquirer: reserve,
    transactionAcquirer: reserve,
    spanAttributes: [["db.system.name", "postgresql"], ...attributesOf(shape.hosts)]
  })
})

const clients = Effect.fnUntraced(function*({ connections = 10, url }: Options) {
  const hosts = Option.getOrThrowWith(
    Hosts.parse(Redacted.value(url)),
    () => new Error("The URL of the database is not of the form postgres://user:password@host:port,host:port/database")
  )
  const watch = yield* Connections.makeWatch
  const [commits, searches] = [commitsOf(connections), searchesOf(connections)]
  const shared = yield* make({
    name: "shared",
    hosts,
    watch,
    connections: connections - commits - searches,
    // More statements per connection would save system calls, but each would wait behind a slow one.
    statements_per_connection: 8,
    settings
  })
  // A single connection serves both.
  const committing = commits === 0 ? shared : yield* make({
    name: "commits",
    hosts,
    watch,
    connections: commits,
    statements_per_connection: 1,
    settings: { ...settings, ...committing_settings }
  })
  const [searching, statements] = searches === 0 ? [shared, 1] : [
    yield* make({
      name: "searches",
      hosts,
      watch,
      connections: searches,
      statements_per_connection: searches_per_connection,
      settings: { ...settings, ...searching_settings }
    }),
    searches * searches_per_connection
  ]
  return Context.make(SqlClient.SqlClient, shared).pipe(
    Context.add(CommitConnections, committing),
    Context.add(SearchConnections, { sql: searching, statements })
  )
})

/**
 * Layer for the driver, which returns a `timestamptz` as a `DateTime.Utc`. It connects
 * at the first statement, to the first host of the URL that accepts writes. Half of
 * the connections, if possible at least 2, are reserved for commits, and a quarter for searches.
 *
 * A connection on which a statement gets no response is replaced after 8 to 9
 * seconds, and its statements fail with a `ConnectionError`: see `StatementDeadline`.
 */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient | CommitConnections | SearchConnections> =>
  Layer.effectContext(clients(options)).pipe(Layer.provide(Reactivity.layer))
