/**
 * Requests that share a statement, because most of the cost of a short one is that
 * of a statement.
 *
 * Requests of one turn of the event loop share one, and so do those that come while
 * as many statements run as may. Requests that write rows in common need
 * `CommitBatcher.ts`.
 */
import { Cause, Deferred, Effect, Exit, Option, Schema, Semaphore, Struct } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { rows } from "./Rows.ts"

/** The maximum of statements that run at once, and of requests in one. Several are under way, so that neither side waits idle. */
const [statements_max, requests_max] = [4, 16]

export type Some<Request> = readonly [Request, ...ReadonlyArray<Request>]

/** Runs the statement of some requests, and returns an answer for each, in their order. */
export type Statement<Request, Answer> = (requests: Some<Request>) => Effect.Effect<ReadonlyArray<Answer>>

/** The requests of one statement. */
interface Shared<Request, Answer> {
  readonly requests: [Request, ...Array<Request>]
  readonly answers: Deferred.Deferred<ReadonlyArray<Exit.Exit<Answer>>>
}

const isConnectionLost = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return SqlError.isSqlError(error) && error.reason._tag === "ConnectionError"
}

/**
 * Returns a function that answers one request, by a statement that it shares with
 * others. Inside a transaction of the caller, the request has a statement of its own.
 *
 * If the database refuses a statement, each of its requests gets one of its own, so
 * that none fails because of another.
 */
export const make = <Request, Answer>(sql: SqlClient.SqlClient, statement: Statement<Request, Answer>) => {
  const places = Semaphore.makeUnsafe(statements_max)
  /** The requests whose statement has not begun; null if the next request is the first one. */
  let next: Shared<Request, Answer> | null = null

  const alone = (request: Request): Effect.Effect<Answer> =>
    // There is one answer for each request.
    Effect.map(statement([request]), ([answer]) => answer as Answer)

  const answerAll = (requests: Some<Request>): Effect.Effect<ReadonlyArray<Exit.Exit<Answer>>> =>
    Effect.catchCause(
      Effect.map(statement(requests), (answers) => answers.map((answer): Exit.Exit<Answer> => Exit.succeed(answer))),
      (cause) =>
        requests.length === 1 || isConnectionLost(cause)
          ? Effect.succeed(requests.map((): Exit.Exit<Answer> => Exit.failCause(cause)))
          : Effect.forEach(requests, (request) => Effect.exit(alone(request)))
    )

  /** Runs a statement at the end of this turn, as soon as there is a place. In a fiber of its own, because it answers several. */
  const run = (shared: Shared<Request, Answer>) => {
    const begin = Effect.suspend(() => {
      if (next === shared) next = null
      return answerAll(shared.requests)
    })
    return Effect.forkDetach(
      Deferred.into(Semaphore.withPermit(places, Effect.andThen(Effect.yieldNow, begin)), shared.answers),
      { startImmediately: true }
    )
  }

  const answerAt = ({ answers }: Shared<Request, Answer>, index: number): Effect.Effect<Answer> =>
    Effect.flatMap(
      Deferred.await(answers),
      (exits) => exits[index] ?? Effect.die(new Error("A request has no answer."))
    )

  const lead = (request: Request): Effect.Effect<Answer> => {
    const shared: Shared<Request, Answer> = { requests: [request], answers: Deferred.makeUnsafe() }
    next = shared
    return Effect.andThen(run(shared), answerAt(shared, 0))
  }

  const share = (request: Request): Effect.Effect<Answer> => {
    if (next === null || next.requests.length === requests_max) return lead(request)
    return answerAt(next, next.requests.push(request) - 1)
  }

  return (request: Request): Effect.Effect<Answer> =>
    Effect.flatMap(
      Effect.serviceOption(sql.transactionService),
      (outer) => Option.isNone(outer) ? share(request) : alone(request)
    )
}

/** A lookup of one row by its key. */
export interface ByKey<Row, Column extends string> {
  /** The columns of the key, with their types. */
  readonly key: Readonly<Record<Column, "text" | "uuid">>
  /** The query for one row, whose key is in the columns of `k`. */
  readonly select: string
  /** Decodes the columns of the query. */
  readonly decode: (
    statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
  ) => Effect.Effect<ReadonlyArray<Row>>
}

/** The column with the number of the key that a row was found for. */
const Placed = rows(Schema.Struct({ place: Schema.Int }))

/** Makes a function that returns the row with a key. Inside a transaction of the caller, the look-up is part of it. */
export const makeByKey = <Row, Column extends string>(
  sql: SqlClient.SqlClient,
  { decode, key, select }: ByKey<Row, Column>
) => {
  type Key = Readonly<Record<Column, string>>
  const columns = Struct.keys(key)
  const arrays = columns.map((column, index) => `$${index + 1}::${key[column]}[]`)
  // Each key is looked up on its own (`LIMIT`), so the plan is that of one key, whatever the size of the tables.
  const text = `
    SELECT k.place::int AS place, found.*
    FROM unnest(${arrays.join(", ")}) WITH ORDINALITY AS k (${columns.join(", ")}, place)
    CROSS JOIN LATERAL (${select} LIMIT 1) AS found`

  const find = Effect.fnUntraced(function*(keys: Some<Key>) {
    const values = columns.map((column) => keys.map((each) => each[column]))
    const raw = yield* Effect.orDie(sql.unsafe(text, values))
    const places = yield* Placed(Effect.succeed(raw))
    const found = yield* decode(Effect.succeed(raw))
    const answers = keys.map((): Option.Option<Row> => Option.none())
    for (const [index, { place }] of places.entries()) answers[place - 1] = Option.fromUndefinedOr(found[index])
    return answers
  })

  return make(sql, find)
}
