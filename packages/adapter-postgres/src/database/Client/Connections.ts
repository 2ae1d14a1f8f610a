import { type PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, Exit, Pool, type Scope, Stream } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import type { NetConnectOpts } from "node:net"
import { StatementDeadline } from "../StatementDeadline.ts"
import { check_interval, closeUnresponsive, Watchdog } from "./Watchdog.ts"
import { withoutValues } from "./WithoutValues.ts"

export interface Config {
  readonly watchdogs: Array<Watchdog>
  /** Returns the database's address. Called for each socket. */
  readonly address: () => NetConnectOpts
  /** The driver's settings for every connection. */
  readonly driver: Omit<PgPool.Config, "stream" | "maxConnections" | "multiplex" | "multiplexConcurrency">
  readonly connections: number
  /** How many statements share a connection. A transaction never shares its own. */
  readonly statements_per_connection: number
}

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
      return Effect.mapError(watched, withoutValues)
    })
  }

  execute(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.watch(this.connection.query(sql, params)), ({ rows }) => rows)
  }

  executeUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.watch(this.connection.query(sql, params, false)), ({ rows }) => rows)
  }

  executeRaw(sql: string, params: ReadonlyArray<unknown>) {
    return this.watch(this.connection.query(sql, params))
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return this.watch(this.connection.queryValues(sql, params))
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return this.watch(this.connection.queryValues(sql, params, false))
  }

  /** A stream may be slow because its reader is, so it is not watched. */
  executeStream(sql: string, params: ReadonlyArray<unknown>) {
    return Stream.mapError(this.connection.stream(sql, params), withoutValues)
  }
}

interface Slot {
  readonly watchdog: Watchdog
  readonly pool: PgPool.PgPool
}

/** Makes a pool of the driver with one connection, and the watchdog that can close it. */
const slot = Effect.fnUntraced(function*({ address, driver, statements_per_connection }: Config) {
  const watchdog = new Watchdog(address)
  const pool = yield* PgPool.make({
    ...driver,
    stream: () => watchdog.open(),
    maxConnections: 1,
    multiplex: statements_per_connection > 1,
    multiplexConcurrency: statements_per_connection
  })
  return { watchdog, pool } satisfies Slot
})

/** Waits for the event loop's next turn, after which the driver knows of a closed socket and opens another connection. */
const socketsClosed = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const poolOf = ({ watchdog, pool }: Slot): Effect.Effect<PgPool.PgPool> =>
  watchdog.isClosing ? Effect.as(socketsClosed, pool) : Effect.succeed(pool)

/** Returns an empty list and checks the watchdogs that are added to it, for as long as the scope is open. */
export const checked: Effect.Effect<Array<Watchdog>, never, Scope.Scope> = Effect.gen(function*() {
  const watchdogs: Array<Watchdog> = []
  // A plain timer: a test's clock must not stop it.
  yield* Effect.acquireRelease(
    Effect.sync(() => setInterval(() => closeUnresponsive(watchdogs), check_interval).unref()),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
  return watchdogs
})

/** Makes a pool. A connection is borrowed for one statement, or reserved until the scope closes. */
export const make = Effect.fnUntraced(function*(config: Config): Effect.fn.Return<
  {
    readonly borrower: SqlConnection.Borrower
    readonly reserve: SqlConnection.Acquirer
  },
  never,
  Scope.Scope
> {
  const slots = yield* Pool.make({
    acquire: Effect.tap(slot(config), ({ watchdog }) => Effect.sync(() => config.watchdogs.push(watchdog))),
    size: config.connections,
    concurrency: config.statements_per_connection
  })
  return {
    borrower: (use) =>
      Pool.use(
        slots,
        (slot) =>
          Effect.flatMap(
            poolOf(slot),
            (pool) => pool.use((connection) => use(new Connection(slot.watchdog, connection)))
          )
      ),
    reserve: Effect.gen(function*() {
      const slot = yield* Pool.get(slots)
      yield* Pool.reserve(slots, slot)
      yield* Effect.acquireRelease(
        Effect.sync(() => slot.watchdog.reserve()),
        () => Effect.sync(() => slot.watchdog.release())
      )
      const pool = yield* poolOf(slot)
      return new Connection(slot.watchdog, yield* pool.reserve)
    })
  }
})
