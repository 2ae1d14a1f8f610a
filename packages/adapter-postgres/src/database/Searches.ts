/** Runs searches: as many concurrently as the connections allow, in turn by organization, each for a bounded time. */
import { SearchTimeout } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Duration, Effect, Fiber, Option, PartitionedSemaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { SearchConnections } from "./SearchConnections.ts"

/** How long a search waits for its turn. Its statement then has a second. */
const turn_wait = Duration.seconds(1)

const isTimeout = (error: SqlError.SqlError): boolean => error.reason._tag === "StatementTimeoutError"

type Search<A> = (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError.SqlError>

/**
 * Makes a function that runs searches on `SearchConnections`, if they are provided. Inside a transaction of the caller,
 * a search is part of it.
 */
export const make = Effect.fnUntraced(function*(own: SqlClient.SqlClient) {
  const searching = yield* Effect.serviceOption(SearchConnections)
  if (Option.isNone(searching)) return <A>(_: OrganizationId, search: Search<A>) => Effect.orDie(search(own))
  const { sql, statements } = searching.value
  const turns = PartitionedSemaphore.makeUnsafe<OrganizationId>({ permits: statements })

  const limited = <A>(search: Search<A>): Effect.Effect<A, SearchTimeout> =>
    Effect.catch(search(sql), (error) => isTimeout(error) ? Effect.fail(new SearchTimeout()) : Effect.die(error))

  /** Takes a turn: at once if there is one, which needs no timer. */
  const turn = (organization_id: OrganizationId): Effect.Effect<Option.Option<void>> =>
    Effect.flatMap(turns.available, (free) => {
      const taken = turns.take(organization_id, 1)
      return free > 0 ? Effect.asSome(taken) : Effect.timeoutOption(taken, turn_wait)
    })

  /**
   * Organizations that wait take turns, so that one of them cannot keep the others waiting. A statement that was sent keeps
   * its place until the database answers, because it runs on even if the client has hung up.
   */
  const run = <A>(organization_id: OrganizationId, search: Search<A>): Effect.Effect<A, SearchTimeout> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        restore(turn(organization_id)),
        Option.match({
          onNone: () => Effect.fail(new SearchTimeout()),
          onSome: () =>
            Effect.flatMap(
              Effect.forkDetach(Effect.ensuring(limited(search), turns.release(1)), { startImmediately: true }),
              (sent) => restore(Fiber.join(sent))
            )
        })
      )
    )

  return <A>(organization_id: OrganizationId, search: Search<A>): Effect.Effect<A, SearchTimeout> =>
    Effect.flatMap(
      Effect.serviceOption(own.transactionService),
      (outer) => Option.isNone(outer) ? run(organization_id, search) : Effect.orDie(search(own))
    )
})
