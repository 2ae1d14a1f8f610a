import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Cause, Context, Effect, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"

/** How often a transaction is begun again after the database undid it for another's sake. */
const retries_max = 3

const isUndone = (defect: unknown): boolean =>
  SqlError.isSqlError(defect) && (defect.reason._tag === "DeadlockError" || defect.reason._tag === "SerializationError")

const wasUndone = <E>(cause: Cause.Cause<E>): boolean =>
  cause.reasons.some((reason) => Cause.isDieReason(reason) && isUndone(reason.defect))

/** Whether the current fiber is inside a transaction: only the outermost one can be begun again. */
const Inside = Context.Reference<boolean>("@messaging-crm/adapter-postgres/UnitOfWork/Inside", {
  defaultValue: () => false
})

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

    const outermost = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
      const attempt = (retries: number): Effect.Effect<A, E, R> =>
        Effect.catchCauseIf(
          once(Effect.provideService(effect, Inside, true)),
          (cause) => retries < retries_max && wasUndone(cause),
          () => attempt(retries + 1)
        )
      return attempt(0)
    }

    return UnitOfWork.of({
      transact: (effect) => Effect.flatMap(Inside, (inside) => inside ? once(effect) : outermost(effect))
    })
  })
)
