import { type PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, Exit, Pool, type Scope, Stream } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import type { NetConnectOpts } from "node:net"
import { StatementDeadline } from "../StatementDeadline.ts"
import { discreet } from "./Discreet.ts"
import { endSilent, look_every, Place } from "./Place.ts"

export interface Config {
  readonly places: Array<Place>
  /** Where the database is. It is asked for each socket. */
  readonly address: () => NetConnectOpts
  /** What the driver is told about every connection. */
  readonly driver: Omit<PgPool.Config, "stream" | "maxConnections" | "multiplex" | "multiplexConcurrency">
  readonly connections: number
  /** How many statements share a connection. A transaction never shares its own. */
  readonly statements_per_connection: number
}

/** A connection of the driver that ends when it leaves a statement without an answer. Its client transforms no rows. */
class Connection implements SqlConnection.Connection {
  private readonly place: Place
  private readonly connection: PgConnection.PgConnection

  constructor(place: Place, connection: PgConnection.PgConnection) {
    this.place = place
    this.connection = connection
  }

  private inTime<A>(statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> {
    return Effect.withFiber((fiber) => {
      const asked = this.place.ask(fiber.getRef(StatementDeadline))
      const left = Effect.onExitPrimitive(statement, (exit) => {
        this.place.leave(asked, !Exit.hasInterrupts(exit))
        return undefined
      })
      return Effect.mapError(left, discreet)
    })
  }

  execute(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.inTime(this.connection.query(sql, params)), ({ rows }) => rows)
  }

  executeUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.inTime(this.connection.query(sql, params, false)), ({ rows }) => rows)
  }

  executeRaw(sql: string, params: ReadonlyArray<unknown>) {
    return this.inTime(this.connection.query(sql, params))
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return this.inTime(this.connection.queryValues(sql, params))
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return this.inTime(this.connection.queryValues(sql, params, false))
  }

  /** A stream is as slow as whoever reads it, so nothing here ends it. */
  executeStream(sql: string, params: ReadonlyArray<unknown>) {
    return Stream.mapError(this.connection.stream(sql, params), discreet)
  }
}

interface Seat {
  readonly place: Place
  readonly pool: PgPool.PgPool
}

/** A pool of the driver for one connection: who has its place can end it. */
const seat = Effect.fnUntraced(function*({ address, driver, statements_per_connection }: Config) {
  const place = new Place(address)
  const pool = yield* PgPool.make({
    ...driver,
    stream: () => place.open(),
    maxConnections: 1,
    multiplex: statements_per_connection > 1,
    multiplexConcurrency: statements_per_connection
  })
  return { place, pool } satisfies Seat
})

/** Lets the driver hear of a connection that has just ended, so that it gives us another. */
const heard = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const poolOf = ({ place, pool }: Seat): Effect.Effect<PgPool.PgPool> =>
  place.isEnding ? Effect.as(heard, pool) : Effect.succeed(pool)

/** Returns a list that is empty yet. Of the places that are put there, those that fall silent are ended. */
export const watched: Effect.Effect<Array<Place>, never, Scope.Scope> = Effect.gen(function*() {
  const places: Array<Place> = []
  // Its own timer: a clock that a test holds must not hold this.
  yield* Effect.acquireRelease(
    Effect.sync(() => setInterval(() => endSilent(places), look_every).unref()),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
  return places
})

/** Returns the ways to a connection: lent for one statement, or reserved until the scope closes. */
export const make = Effect.fnUntraced(function*(config: Config): Effect.fn.Return<
  {
    readonly borrower: SqlConnection.Borrower
    readonly reserve: SqlConnection.Acquirer
  },
  never,
  Scope.Scope
> {
  const seats = yield* Pool.make({
    acquire: Effect.tap(seat(config), ({ place }) => Effect.sync(() => config.places.push(place))),
    size: config.connections,
    concurrency: config.statements_per_connection
  })
  return {
    borrower: (use) =>
      Pool.use(
        seats,
        (seat) =>
          Effect.flatMap(poolOf(seat), (pool) => pool.use((connection) => use(new Connection(seat.place, connection))))
      ),
    reserve: Effect.gen(function*() {
      const seat = yield* Pool.get(seats)
      yield* Pool.reserve(seats, seat)
      yield* Effect.acquireRelease(
        Effect.sync(() => seat.place.reserve()),
        () => Effect.sync(() => seat.place.release())
      )
      const pool = yield* poolOf(seat)
      return new Connection(seat.place, yield* pool.reserve)
    })
  }
})
