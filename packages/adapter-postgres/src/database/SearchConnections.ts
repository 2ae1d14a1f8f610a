/** The connections for searches, which organizations use in turns. */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Turns } from "@messaging-crm/core/Turns"
import { Context, Deferred, Duration, Effect, Fiber, Option } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/**
 * A client whose connections are used for searches only, and how many statements it runs at once.
 *
 * A search may read far more than any other statement. On connections of its own it
 * delays no authentication and no read of a row. PostgreSQL ends each of its statements after a
 * second with a `StatementTimeoutError`. It does not take part in transactions of the other clients.
 */
export class SearchConnections extends Context.Service<SearchConnections, {
  readonly sql: SqlClient.SqlClient
  readonly statements: number
}>()("@messaging-crm/adapter-postgres/SearchConnections") {}

/** How long a search waits for a slot, and how long its statements then take, including their wait for the connection. */
const step_max = Duration.seconds(1)

const isTimeout = (error: SqlError.SqlError): boolean => error.reason._tag === "StatementTimeoutError"

/** The statements of a search. One of several runs `proceed` before each but the first, which ends a search that was given up. */
type Search<A> = (sql: SqlClient.SqlClient, proceed: Effect.Effect<void>) => Effect.Effect<A, SqlError.SqlError>

/**
 * Makes a function that runs searches on `SearchConnections`, if they are provided, and fails with `timeout` if one takes
 * too long. Inside a transaction of the caller, a search is part of it.
 */
export const makeSearch = Effect.fnUntraced(function*<E>(own: SqlClient.SqlClient, timeout: () => E) {
  const connections = yield* Effect.serviceOption(SearchConnections)
  const runOwn = <A>(search: Search<A>): Effect.Effect<A> => Effect.orDie(search(own, Effect.void))
  if (Option.isNone(connections)) return <A>(_: OrganizationId, search: Search<A>) => runOwn(search)
  const { sql, statements } = connections.value
  const turns = new Turns<OrganizationId>({ places: statements })

  /** A statement that was given up keeps its slot until it ends, because an interruption does not stop it. */
  const inSlot = <A>(search: Search<A>): Effect.Effect<A, E> =>
    Effect.uninterruptible(
      Effect.catch(
        search(sql, Effect.interruptible(Effect.void)),
        (error) => isTimeout(error) ? Effect.fail(timeout()) : Effect.die(error)
      )
    )

  const within = <A>(step: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.timeoutOrElse(step, { duration: step_max, orElse: () => Effect.fail(timeout()) })

  /**
   * Waiting organizations alternate, so that none delays the others. The search has a fiber of its own, because its caller does
   * not wait for one that is given up: after the time of a step, or if the caller is interrupted.
   */
  const run = <A>(organization_id: OrganizationId, search: Search<A>): Effect.Effect<A, E> => {
    const admitted = Deferred.makeUnsafe<void>()
    const searching = Effect.andThen(Deferred.succeed(admitted, undefined), inSlot(search))

    const resultOf = (fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> => {
      const result = within(Fiber.join(fiber))
      // A free slot needs no timer.
      return Deferred.isDoneUnsafe(admitted) ? result : Effect.andThen(within(Deferred.await(admitted)), result)
    }

    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        Effect.forkDetach(turns.run(organization_id, searching), { startImmediately: true }),
        (fiber) =>
          Effect.ensuring(restore(Effect.suspend(() => resultOf(fiber))), Effect.sync(() => fiber.interruptUnsafe()))
      )
    )
  }

  return <A>(organization_id: OrganizationId, search: Search<A>): Effect.Effect<A, E> =>
    Effect.flatMap(
      Effect.serviceOption(own.transactionService),
      (outer) => Option.isNone(outer) ? run(organization_id, search) : runOwn(search)
    )
})
