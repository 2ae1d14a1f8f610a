/** The connections for searches, which organizations use in turns. */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Context, Deferred, Duration, Effect, Fiber, Option, PartitionedSemaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/**
 * A client whose connections are used for searches only, and how many statements it runs at once.
 *
 * A search may read far more than any other statement. On connections of its own it
 * delays no authentication and no read of a row, and after a second it fails with a
 * `StatementTimeoutError`. It does not take part in transactions of the other clients.
 */
export class SearchConnections extends Context.Service<SearchConnections, {
  readonly sql: SqlClient.SqlClient
  readonly statements: number
}>()("@messaging-crm/adapter-postgres/SearchConnections") {}

/** How long a search waits for a slot. Its statement then has a second. */
const wait_max = Duration.seconds(1)

const isTimeout = (error: SqlError.SqlError): boolean => error.reason._tag === "StatementTimeoutError"

type Search<A> = (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError.SqlError>

/**
 * Makes a function that runs searches on `SearchConnections`, if they are provided, and fails with `timeout` if one takes
 * too long. Inside a transaction of the caller, a search is part of it.
 */
export const makeSearch = Effect.fnUntraced(function*<E>(own: SqlClient.SqlClient, timeout: () => E) {
  const connections = yield* Effect.serviceOption(SearchConnections)
  if (Option.isNone(connections)) return <A>(_: OrganizationId, search: Search<A>) => Effect.orDie(search(own))
  const { sql, statements } = connections.value
  const slots = PartitionedSemaphore.makeUnsafe<OrganizationId>({ permits: statements })

  const limited = <A>(search: Search<A>): Effect.Effect<A, E> =>
    Effect.catch(search(sql), (error) => isTimeout(error) ? Effect.fail(timeout()) : Effect.die(error))

  /**
   * Waiting organizations alternate, so that none delays the others. A search that waits can be interrupted. A sent statement
   * keeps its slot until it ends, because an interruption does not stop it, so it has a fiber of its own.
   */
  const run = <A>(organization_id: OrganizationId, search: Search<A>): Effect.Effect<A, E> => {
    const sent = Deferred.makeUnsafe<void>()
    const isSent = () => Deferred.isDoneUnsafe(sent)
    const send = Effect.andThen(Deferred.succeed(sent, undefined), Effect.uninterruptible(limited(search)))

    /** A free slot needs no timer. */
    const resultOf = (fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
      isSent()
        ? Fiber.join(fiber)
        : Effect.flatMap(
          Effect.timeoutOption(Deferred.await(sent), wait_max),
          () => isSent() ? Fiber.join(fiber) : Effect.andThen(Fiber.interrupt(fiber), Effect.fail(timeout()))
        )

    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        Effect.forkDetach(slots.withPermit(organization_id)(send), { startImmediately: true }),
        (fiber) =>
          Effect.onInterrupt(
            restore(Effect.suspend(() => resultOf(fiber))),
            () => isSent() ? Effect.void : Fiber.interrupt(fiber)
          )
      )
    )
  }

  return <A>(organization_id: OrganizationId, search: Search<A>): Effect.Effect<A, E> =>
    Effect.flatMap(
      Effect.serviceOption(own.transactionService),
      (outer) => Option.isNone(outer) ? run(organization_id, search) : Effect.orDie(search(own))
    )
})
