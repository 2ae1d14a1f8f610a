import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Cause, Effect, Layer, Option } from "effect"
import { SqlClient, SqlError } from "effect/sql"

/** How often a transaction is begun again after the database undid it for another's sake. */
const retries_max = 3

const isUndone = (defect: unknown): boolean =>
  SqlError.isSqlError(defect) && (defect.reason._tag === "DeadlockError" || defect.reason._tag === "SerializationError")

const wasUndone = <E>(cause: Cause.Cause<E>): boolean =>
  cause.reasons.some((reason) => Cause.isDieReason(reason) && isUndone(reason.defect))

/**
 * Layer that maps a unit of work to a transaction, and a nested one to a savepoint.
 *
 * A database failure is not a domain fact, so it becomes a defect.
 */
export const layer = Layer.effect(
  UnitOfWork,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const once = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      sql.withTransaction(effect).pipe(
        Effect.catch((error): Effect.Effect<never, E> =>
          // The cast says what the check cannot: an error that is not the database's is the caller's own.
          SqlError.isSqlError(error) ? Effect.die(error) : Effect.fail(error as E)
        )
      )

    const again = <A, E, R>(effect: Effect.Effect<A, E, R>, retries: number): Effect.Effect<A, E, R> =>
      Effect.catchCauseIf(
        once(effect),
        (cause) => retries < retries_max && wasUndone(cause),
        () => again(effect, retries + 1)
      )

    return UnitOfWork.of({
      // A nested one is not begun again: what was undone is the transaction around it.
      transact: (effect) =>
        Effect.flatMap(
          Effect.serviceOption(sql.transactionService),
          (outer) => Option.isSome(outer) ? once(effect) : again(effect, 0)
        )
    })
  })
)
