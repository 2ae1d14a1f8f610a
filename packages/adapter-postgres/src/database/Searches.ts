/** Runs as many searches concurrently as the connections allow, alternating between organizations, with a time limit. */
import { SearchTimeout } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Duration, Effect, Fiber, Option, PartitionedSemaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { SearchConnections } from "./SearchConnections.ts"

/** How long a search waits for a slot. Its statement then has a second. */
const wait_max = Duration.seconds(1)

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
  const slots = PartitionedSemaphore.makeUnsafe<OrganizationId>({ permits: statements })

  const limited = <A>(search: Search<A>): Effect.Effect<A, SearchTimeout> =>
    Effect.catch(search(sql), (error) => isTimeout(error) ? Effect.fail(new SearchTimeout()) : Effect.die(error))

  /** Acquires a slot: at once if one is free, which needs no timer. */
  const acquire = (organization_id: OrganizationId): Effect.Effect<Option.Option<void>> =>
    Effect.flatMap(slots.available, (free) => {
      const acquired = slots.take(organization_id, 1)
      return free > 0 ? Effect.asSome(acquired) : Effect.timeoutOption(acquired, wait_max)
    })

  /**
   * Waiting organizations alternate, so that none delays the others. A sent statement keeps its slot until it ends,
   * because an interruption does not stop it.
   */
  const run = <A>(organization_id: OrganizationId, search: Search<A>): Effect.Effect<A, SearchTimeout> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        restore(acquire(organization_id)),
        Option.match({
          onNone: () => Effect.fail(new SearchTimeout()),
          onSome: () =>
            Effect.flatMap(
              Effect.forkDetach(Effect.ensuring(limited(search), slots.release(1)), { startImmediately: true }),
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
