/**
 * Commits the changes of operations with one statement, which is its own
 * transaction.
 *
 * Each part of the changes is one common table expression. The main query checks
 * that each part found the required number of rows. If one did not, it raises
 * `serialization_failure`, which rolls back the statement.
 *
 * The conditions of the main query are in the order of the parts, and evaluating a
 * condition runs its expression. So all statements lock rows in the same order.
 * PostgreSQL does not guarantee this; a deadlock would be a `Conflict`. The
 * idempotency record is first, so that the second of two equal requests waits there
 * before it holds any other lock.
 *
 * An update that waited for another transaction checks `version` again on the new
 * row, and matches nothing if it has changed.
 *
 * Concurrent commits that write the same tables share a statement (`CommitBatcher.ts`),
 * because most of the cost is that of the statement. If it cannot apply all of them,
 * each is committed by a statement of its own, with its own outcome.
 */
import { isNone } from "@messaging-crm/core/Changes"
import { Commit, Conflict, KeyUsed, LeaseLost, Unconfirmed } from "@messaging-crm/core/Commit"
import * as Traces from "@messaging-crm/core/Traces"
import { Effect, Exit, Layer, Option } from "effect"
import type { SqlError } from "effect/sql"
import { SqlClient } from "effect/sql"
import * as CommitBatcher from "../database/CommitBatcher.ts"
import { CommitConnections } from "../database/CommitConnections.ts"
import { lanesOf, rowsOf, shapeOf, statementOf } from "./Commit/Batch.ts"
import type { Commission } from "./Commit/Statement.ts"

/** The maximum of concurrent statements, and of commits in one statement. */
const [statements_max, commits_max] = [3, 64]

/** How long a statement of several commits waits for a lock, so that one locked row does not delay the others for long. */
const shared_lock_timeout = "100ms"

type Refusal = Conflict | KeyUsed | LeaseLost | Unconfirmed

/** Returns the SQLSTATE of an error that the driver has no class for. */
const stateOf = ({ reason }: SqlError.SqlError): unknown =>
  // The cause is the driver's own error, which holds the server's code.
  (reason.cause as { readonly code?: unknown } | undefined)?.code

/** Translates a failure of the statement. After a lost connection the outcome is unknown. */
const refused = (error: SqlError.SqlError, hasKey: boolean): Effect.Effect<never, Refusal> => {
  const { reason } = error
  switch (reason._tag) {
    case "UniqueViolation":
      return Effect.fail(reason.constraint === "idempotency_keys_pkey" ? new KeyUsed() : new Conflict())
    case "DeadlockError":
    case "LockTimeoutError":
    case "SerializationError":
      return Effect.fail(new Conflict())
    case "ConnectionError":
      return hasKey ? Effect.fail(new Unconfirmed()) : Effect.die(error)
    default:
      return stateOf(error) === "MC001" ? Effect.fail(new LeaseLost()) : Effect.die(error)
  }
}

/**
 * Layer that commits to PostgreSQL: on `CommitConnections` if they are provided, but
 * inside a transaction of the caller on its connection.
 */
export const layer = Layer.effect(
  Commit,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const own = Option.getOrElse(yield* Effect.serviceOption(CommitConnections), () => sql)

    const commitOne = (commission: Commission, client = own): Effect.Effect<void, Refusal> =>
      Effect.suspend(() => {
        const { parameters, text } = statementOf([commission], null)
        return Effect.asVoid(Effect.catch(
          client.unsafe(text, parameters),
          (error) => refused(error, commission.changes.response !== undefined)
        ))
      })

    const commitTogether = (commissions: CommitBatcher.Some<Commission>) =>
      Effect.try(() => statementOf(commissions, shared_lock_timeout)).pipe(
        Effect.flatMap(({ parameters, text }) => own.unsafe(text, parameters)),
        Effect.as(commissions.map((): Exit.Exit<void, Refusal> => Exit.void)),
        Effect.catch((error) =>
          // The outcome of all is unknown. What follows depends on whether a commit has an idempotency key.
          error._tag === "SqlError" && error.reason._tag === "ConnectionError"
            ? Effect.forEach(commissions, ({ changes }) => Effect.exit(refused(error, changes.response !== undefined)))
            : Effect.succeed(null)
        )
      )

    const commit = CommitBatcher.make<Commission, void, Refusal, never>({
      concurrency: statements_max,
      size: commits_max,
      groupOf: ({ changes }) => shapeOf(changes),
      rowsOf,
      lanesOf,
      runSingle: commitOne,
      runBatch: commitTogether
    })

    return Commit.of({
      commit: Effect.fnUntraced(function*(organization_id, changes) {
        if (isNone(changes)) return
        const hasWork = changes.enqueue !== undefined || changes.raise !== undefined
        const commission = { organization_id, changes, trace: hasWork ? yield* Traces.current : null }
        const outer = yield* Effect.serviceOption(sql.transactionService)
        yield* Option.isSome(outer)
          ? Effect.catchTag(commitOne(commission, sql), "Conflict", Effect.die)
          : commit(commission)
      })
    })
  })
)
