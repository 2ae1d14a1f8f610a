/**
 * Batches of concurrent requests, because a statement costs more than a short request.
 *
 * Requests of one turn of the event loop share a statement, and so do requests that
 * arrive while `statements_max` statements run: their organizations take turns.
 * `work/BatchedCommit/Batcher.ts` batches commits, and lists the differences.
 */
import { CurrentTurn, insertInOrder, Order } from "@messaging-crm/core/Turns"
import { Cause, Context, Effect, Exit, Option, Struct } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { isRejection } from "./Writable.ts"

/** The maximum number of concurrent statements, and of requests in one. Several run at once, so that neither side waits idle. */
const [statements_max, requests_max] = [4, 16]

const server_errors: ReadonlySet<string> = new Set(["ConnectionError", "StatementTimeoutError"])

/** Runs the statement of some requests, and returns a result for each, in their order. */
export type Statement<Request, A> = (requests: ReadonlyArray<Request>) => Effect.Effect<ReadonlyArray<A>>

/** A request that waits for its statement. */
interface Waiting<Request, A> {
  readonly request: Request
  readonly context: Context.Context<never>
  readonly key: unknown
  readonly position: number
  readonly resume: (exit: Exit.Exit<A>) => void
}

/** Whether a statement failed because of the server, so that each of its requests would fail too. */
const isServerError = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return SqlError.isSqlError(error) && (server_errors.has(error.reason._tag) || isRejection(error))
}

const runSingle = <Request, A>(statement: Statement<Request, A>, request: Request): Effect.Effect<A> =>
  // There is one result for each request.
  Effect.map(statement([request]), ([result]) => result as A)

/** Runs requests with one statement, or each with its own if the database rejects that one, possibly because of one of them. */
const runAll = <Request, A>(
  statement: Statement<Request, A>,
  requests: ReadonlyArray<Request>
): Effect.Effect<ReadonlyArray<Exit.Exit<A>>> =>
  Effect.catchCause(
    Effect.map(statement(requests), (results) => results.map((result): Exit.Exit<A> => Exit.succeed(result))),
    (cause) =>
      requests.length === 1 || isServerError(cause)
        ? Effect.succeed(requests.map((): Exit.Exit<A> => Exit.failCause(cause)))
        : Effect.forEach(requests, (request) => Effect.exit(runSingle(statement, request)))
  )

/**
 * Returns a function that runs one request, in a statement that it shares with
 * others. Inside a transaction of the caller, the request has a statement of its own.
 *
 * If the database rejects a statement, each of its requests gets one of its own, so
 * that none fails because of another. All fail if the server is the cause: with a lost
 * connection, a timeout, or a full disk, more statements would make it worse.
 */
export const make = <Request, A>(sql: SqlClient.SqlClient, statement: Statement<Request, A>) => {
  const order = new Order<unknown>()
  /** The waiting requests, in the order of their turns. */
  const waiting: Array<Waiting<Request, A>> = []
  /** The number of statements, of which one can still collect requests. */
  let [statements, isCollecting] = [0, false]

  const takeBatch = (): ReadonlyArray<Waiting<Request, A>> => {
    const batch = waiting.splice(0, requests_max)
    for (const { key, position } of batch) order.serve(key, position)
    return batch
  }

  const runBatch = Effect.suspend(() => {
    const batch = takeBatch()
    isCollecting = false
    if (batch.length === 0) {
      statements--
      return Effect.void
    }
    startNext()
    return Effect.map(runAll(statement, batch.map(({ request }) => request)), (exits) => {
      statements--
      startNext()
      for (const [index, { resume }] of batch.entries()) {
        resume(exits[index] ?? Exit.die(new Error("A request has no result.")))
      }
    })
  })

  /** Starts a statement at the end of this turn. In a fiber of its own, because several requests wait for it. */
  const startNext = (): void => {
    const [first] = waiting
    if (first === undefined || isCollecting || statements === statements_max) return
    isCollecting = true
    statements++
    // The requests have different keys, so the statement has one of its own.
    const context = Context.add(first.context, CurrentTurn, statement)
    Effect.runForkWith(context)(Effect.andThen(Effect.yieldNow, runBatch))
  }

  /** Removes a request whose fiber was interrupted before its statement began. */
  const leave = (own: Waiting<Request, A>): void => {
    const index = waiting.indexOf(own)
    if (index < 0) return
    waiting.splice(index, 1)
    order.leave(own.key, own.position)
  }

  const join = (request: Request, context: Context.Context<never>): Effect.Effect<A> =>
    Effect.callback((resume) => {
      const key = Context.get(context, CurrentTurn)
      const own = { request, context, key, position: order.positionOf(key, 1), resume }
      insertInOrder(waiting, own)
      startNext()
      return Effect.sync(() => leave(own))
    })

  return (request: Request): Effect.Effect<A> =>
    Effect.withFiber(({ context }) =>
      Option.isNone(Context.getOption(context, sql.transactionService))
        ? join(request, context)
        : runSingle(statement, request)
    )
}

/** A lookup of one row by its key. */
interface ByKey<Row, Column extends string> {
  /** The columns of the key, with their types. */
  readonly key: Readonly<Record<Column, "text" | "uuid">>
  /** The query for one row, for the columns of `key`. */
  readonly select: string
  /** Decodes the columns of the query. */
  readonly decode: (
    statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
  ) => Effect.Effect<ReadonlyArray<Row>>
}

/** Makes a function that returns the row with a key. Inside a transaction of the caller, the lookup is part of it. */
export const makeByKey = <Row, Column extends string>(
  sql: SqlClient.SqlClient,
  { decode, key, select }: ByKey<Row, Column>
) => {
  type Key = Readonly<Record<Column, string>>
  const columns = Struct.keys(key)
  const arrays = columns.map((column, index) => `$${index + 1}::${key[column]}[]`)
  // Each key is looked up on its own (`LIMIT`), so the plan is that of one key, whatever the size of the tables.
  const text = `
    SELECT key.position::int AS position, found.*
    FROM unnest(${arrays.join(", ")}) WITH ORDINALITY AS key (${columns.join(", ")}, position)
    CROSS JOIN LATERAL (${select} LIMIT 1) AS found`

  const find = Effect.fnUntraced(function*(keys: ReadonlyArray<Key>) {
    const values = columns.map((column) => keys.map((each) => each[column]))
    const raw = yield* Effect.orDie(sql.unsafe<{ readonly position: number }>(text, values))
    const found = yield* decode(Effect.succeed(raw))
    const results = keys.map((): Option.Option<Row> => Option.none())
    for (const [index, { position }] of raw.entries()) {
      results[position - 1] = Option.fromUndefinedOr(found[index])
    }
    return results
  })

  return make(sql, find)
}
