import { type PgConnection, PgPool } from "@effect/sql-pg"
import { CurrentTurn, Turns } from "@messaging-crm/core/Turns"
import { Effect, Exit, Pool, type Scope, Stream } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import type { NetConnectOpts } from "node:net"
import * as PoolUsage from "../PoolUsage.ts"
import { StatementDeadline } from "../StatementDeadline.ts"
import type { Host, Hosts } from "./Hosts.ts"
import { redacted } from "./RedactedErrors.ts"
import * as Server from "./Server.ts"
import { check_interval, closeUnresponsive, Watchdog } from "./Watchdog.ts"

export interface Config {
  /** The name of the pool in metrics. */
  readonly name: string
  /** Adds the watchdog of a connection to those that are checked. */
  readonly watch: (watchdog: Watchdog) => void
  readonly hosts: Hosts
  /** The driver's settings for every connection. */
  readonly driver: Omit<PgPool.Config, "url" | "stream" | "maxConnections" | "multiplex" | "multiplexConcurrency">
  readonly connections: number
  /** How many statements share a connection. A transaction never shares its own. */
  readonly statements_per_connection: number
}

/**
 * Removes and returns the rows of the driver's list, which the driver keeps while any statement of the connection runs. Under
 * load, that is long after the response: removing them saves searches a tenth of the time that freeing memory takes.
 */
const drained = <Row>(rows: ReadonlyArray<Row>): ReadonlyArray<Row> => (rows as Array<Row>).splice(0)

/** A connection of the driver whose statements are watched. It returns rows untransformed. */
class Connection implements SqlConnection.Connection {
  private readonly watchdog: Watchdog
  private readonly connection: PgConnection.PgConnection

  constructor(watchdog: Watchdog, connection: PgConnection.PgConnection) {
    this.watchdog = watchdog
    this.connection = connection
  }

  private watch<A>(statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> {
    return Effect.withFiber((fiber) => {
      const pending = this.watchdog.begin(fiber.getRef(StatementDeadline))
      const watched = Effect.onExitPrimitive(statement, (exit) => {
        this.watchdog.end(pending, !Exit.hasInterrupts(exit))
        return undefined
      })
      return Effect.mapError(watched, (error) => {
        // The next statement looks for the server that accepts writes now.
        if (Server.isReadOnly(error)) this.watchdog.retire()
        return redacted(error)
      })
    })
  }

  execute(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.watch(this.connection.query(sql, params)), ({ rows }) => drained(rows))
  }

  executeUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.watch(this.connection.query(sql, params, false)), ({ rows }) => drained(rows))
  }

  executeRaw(sql: string, params: ReadonlyArray<unknown>) {
    return this.watch(this.connection.query(sql, params))
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.watch(this.connection.queryValues(sql, params)), drained)
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.watch(this.connection.queryValues(sql, params, false)), drained)
  }

  /** A stream may be slow because its reader is, so it is not watched. */
  executeStream(sql: string, params: ReadonlyArray<unknown>) {
    return Stream.mapError(this.connection.stream(sql, params), redacted)
  }
}

/** A connection to one host, which is open only if it is used. */
interface HostConnection {
  readonly host: Host
  readonly watchdog: Watchdog
  readonly pool: PgPool.PgPool
}

/** One connection of the pool: to each host, of which at most one accepts writes. */
type Slot = ReadonlyArray<HostConnection>

/** Returns how to open a socket to a host. */
const socketOf = ({ host, port }: Host): NetConnectOpts =>
  host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }

/** Makes a pool of the driver with one connection to a host, and the watchdog that can close it. */
const hostConnection = Effect.fnUntraced(function*({ driver, statements_per_connection, watch }: Config, host: Host) {
  const watchdog = new Watchdog(() => socketOf(host))
  const pool = yield* PgPool.make({
    ...driver,
    url: host.url,
    stream: () => watchdog.open(),
    maxConnections: 1,
    multiplex: statements_per_connection > 1,
    multiplexConcurrency: statements_per_connection
  })
  watch(watchdog)
  return { host, watchdog, pool } satisfies HostConnection
})

/** Waits for the event loop's next turn, after which the driver has noticed a closed socket and opens another connection. */
const socketsClosed = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const poolOf = ({ watchdog, pool }: HostConnection): Effect.Effect<PgPool.PgPool> =>
  watchdog.isClosing ? Effect.as(socketsClosed, pool) : Effect.succeed(pool)

/** Returns a function that adds a watchdog to those that are checked for as long as the scope is open. */
export const makeWatch: Effect.Effect<Config["watch"], never, Scope.Scope> = Effect.gen(function*() {
  const watchdogs: Array<Watchdog> = []
  // A plain timer: a test's clock must not stop it.
  yield* Effect.acquireRelease(
    Effect.sync(() => setInterval(() => closeUnresponsive(watchdogs), check_interval).unref()),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
  return (watchdog: Watchdog) => void watchdogs.push(watchdog)
})

/** Opens a connection, and checks the server behind it. */
const open = (chosen: HostConnection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(
    poolOf(chosen),
    (pool) =>
      pool.use((connection) =>
        Server.check(new Connection(chosen.watchdog, connection), connection.processId, chosen.host)
      )
  ).pipe(Effect.mapError(Server.explain(chosen.host)))

/**
 * Makes a function that returns the connection of a slot whose server accepts writes. It begins with the host that was found
 * last, and tries each host once.
 */
const finder = (hosts: Hosts) => {
  let current = 0
  const find = (slot: Slot, tries: number): Effect.Effect<HostConnection, SqlError.SqlError> => {
    const tried = current
    const chosen = slot[tried] as HostConnection // a slot has one for each host
    if (chosen.watchdog.isAccepted) return Effect.succeed(chosen)
    return Effect.matchEffect(open(chosen), {
      onFailure: (error) => {
        chosen.watchdog.close()
        if (current === tried) current = (tried + 1) % hosts.length
        return tries > 1 ? find(slot, tries - 1) : Effect.fail(error)
      },
      onSuccess: () => {
        chosen.watchdog.accept()
        return Effect.succeed(chosen)
      }
    })
  }
  return (slot: Slot) => Effect.suspend(() => find(slot, hosts.length))
}

/**
 * Makes a pool. A connection is borrowed for one statement, for which organizations take turns, or reserved until the scope
 * closes.
 */
export const make = Effect.fnUntraced(function*(config: Config): Effect.fn.Return<
  {
    readonly borrower: SqlConnection.Borrower
    readonly reserve: SqlConnection.Acquirer
  },
  never,
  Scope.Scope
> {
  const slots = yield* Pool.make({
    acquire: Effect.forEach(config.hosts, (host) => hostConnection(config, host)),
    size: config.connections,
    concurrency: config.statements_per_connection
  })
  const find = finder(config.hosts)
  const turns = new Turns({ places: config.connections * config.statements_per_connection })
  yield* PoolUsage.register(config.name, slots, turns)
  const borrower: SqlConnection.Borrower = (use) => {
    const statement = Pool.use(slots, (slot) =>
      Effect.flatMap(
        find(slot),
        ({ pool, watchdog }) => pool.use((connection) => use(new Connection(watchdog, connection)))
      ))
    return Effect.withFiber((fiber) => turns.run(fiber.getRef(CurrentTurn), statement))
  }
  return {
    // A statement that was rejected has changed nothing, so it is repeated where writes are accepted.
    borrower: (use) => Effect.catchIf(borrower(use), Server.isReadOnly, () => borrower(use)),
    reserve: Effect.gen(function*() {
      const slot = yield* Pool.get(slots)
      yield* Pool.reserve(slots, slot)
      yield* Effect.acquireRelease(
        Effect.sync(() => slot.forEach(({ watchdog }) => watchdog.reserve())),
        () => Effect.sync(() => slot.forEach(({ watchdog }) => watchdog.release()))
      )
      const { pool, watchdog } = yield* find(slot)
      return new Connection(watchdog, yield* pool.reserve)
    })
  }
})
