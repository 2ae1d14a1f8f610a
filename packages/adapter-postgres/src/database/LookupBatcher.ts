/**
 * Requests that share a statement, because most of the cost of a short one is that
 * of a statement.
 *
 * Requests of one turn of the event loop share one, and so do those that come while
 * as many statements run as may. Requests that write rows in common need
 * `CommitBatcher.ts`.
 */
import { Cause, Deferred, Effect, Exit, Option, Semaphore } from "effect"
import { type SqlClient, SqlError } from "effect/sql"

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
