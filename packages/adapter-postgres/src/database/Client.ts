import { PgClient, type PgConnection } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import type { NetConnectOpts } from "node:net"
import * as Connections from "./Client/Connections.ts"
import { CommitConnections } from "./CommitConnections.ts"

export interface Options {
  readonly url: Redacted.Redacted
  /** The maximum number of connections of a process, including those for commits. */
  readonly connections?: number
}

/**
 * The settings of every session. They end statements, transactions and clients
 * that hang, so that a lock is held at most 15 seconds after its process has died.
 */
const settings = {
  TimeZone: "UTC",
  statement_timeout: "5s",
  transaction_timeout: "10s",
  idle_in_transaction_session_timeout: "5s",
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "2",
  client_connection_check_interval: "5s",
  synchronous_commit: "on",
  // Every statement is written so that one plan is right for all values: planning takes as long as a short read itself.
  plan_cache_mode: "force_generic_plan",
  // A plan that was made while a table was small is kept while it grows, so it uses the index already then.
  enable_seqscan: "off",
  // No statement reads so much that compiling it, or starting further processes for it, would pay.
  jit: "off",
  max_parallel_workers_per_gather: "0"
}

/** Commits wait for a row lock for at most 2 seconds, and join by index alone: their plans may be made while a table is empty. */
const committing_settings = { lock_timeout: "2s", enable_hashjoin: "off", enable_mergejoin: "off" }

/** Returns how many connections to use for commits. The others are multiplexed, so that a few of them are enough. */
const commitsOf = (connections: number): number => Math.min(Math.max(2, Math.floor(connections / 2)), connections - 1)

interface Address {
  readonly host: string
  readonly port: number
  readonly database: string
}

/** Reads the address from a URL in the same way as the driver, which refuses an invalid URL before it opens a socket. */
const addressOf = (url: string): Address => {
  const { hostname, pathname, port, searchParams } = new URL(url)
  const host = searchParams.get("host") ?? decodeURIComponent(hostname.replace(/^\[|\]$/g, ""))
  return {
    host: host === "" ? "localhost" : host,
    port: Number(searchParams.get("port") ?? port) || 5432,
    database: searchParams.get("dbname") ?? decodeURIComponent(pathname.slice(1))
  }
}

const socketOf = ({ host, port }: Address): NetConnectOpts =>
  host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }

const attributesOf = (url: string): ReadonlyArray<readonly [string, unknown]> =>
  Option.match(Option.liftThrowable(addressOf)(url), {
    onNone: () => [],
    onSome: ({ database, host, port }) => [["db.namespace", database], ["server.address", host], ["server.port", port]]
  })

/** PostgreSQL answers `COMMIT` with `ROLLBACK` where a statement before it had failed. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) => {
    // The driver's connections return this, and there are no others here.
    const { command } = result as PgConnection.Result
    const cause = new Error("COMMIT rolled back a transaction in which a statement had failed")
    return command === "COMMIT"
      ? Effect.void
      : Effect.fail(new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, operation: "commit" }) }))
  })

/** How the driver's client speaks to PostgreSQL. */
const dialect = {
  driver: "pg",
  prepareTransactionControls: true,
  commit,
  releaseSavepoint: (name: string) => `RELEASE SAVEPOINT ${name}`
}

type Shape = Pick<Connections.Config, "watchdogs" | "connections" | "statements_per_connection"> & {
  readonly url: Redacted.Redacted
  readonly settings: Readonly<Record<string, string>>
}

const make = Effect.fnUntraced(function*({ settings, url, ...shape }: Shape) {
  const text = Redacted.value(url)
  const { borrower, reserve } = yield* Connections.make({
    ...shape,
    address: () => socketOf(addressOf(text)),
    driver: {
      url,
      applicationName: "messaging-crm",
      connectTimeout: Duration.seconds(5),
      startupParameters: settings
    }
  })
  return yield* SqlClient.make({
    ...dialect,
    compiler: PgClient.makeCompiler(),
    borrower,
    acquirer: reserve,
    transactionAcquirer: reserve,
    spanAttributes: [["db.system.name", "postgresql"], ...attributesOf(text)]
  })
})

/** Returns a client whose statements and transactions all go over one connection. */
export const session = (connection: SqlConnection.Connection): Effect.Effect<SqlClient.SqlClient> =>
  SqlClient.make({
    ...dialect,
    compiler: PgClient.makeCompiler(),
    borrower: (use) => use(connection),
    acquirer: Effect.succeed(connection),
    spanAttributes: []
  }).pipe(Effect.provide(Reactivity.layer))

const clients = Effect.fnUntraced(function*({ connections = 10, url }: Options) {
  const watchdogs = yield* Connections.checked
  const commits = commitsOf(connections)
  const shared = yield* make({
    url,
    watchdogs,
    connections: connections - commits,
    statements_per_connection: 32,
    settings
  })
  // A single connection serves both.
  const committing = commits === 0 ? shared : yield* make({
    url,
    watchdogs,
    connections: commits,
    statements_per_connection: 1,
    settings: { ...settings, ...committing_settings }
  })
  return Context.make(SqlClient.SqlClient, shared).pipe(Context.add(CommitConnections, committing))
})

/**
 * Layer for the driver. It connects at the first statement. Half of the
 * connections, but at least 2, are reserved for commits.
 *
 * A connection on which a statement is not answered is replaced after 8 to 9
 * seconds, and its statements fail with a `ConnectionError`: see `StatementDeadline`.
 */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient | CommitConnections> =>
  Layer.effectContext(clients(options)).pipe(Layer.provide(Reactivity.layer))
