/**
 * The changes of operations as one statement, which is its own transaction.
 *
 * Each part of the changes is one common table expression. The main query
 * requires of each that it found as many rows as it must, and raises
 * `serialization_failure` when one did not, which undoes the statement.
 *
 * Its conditions stand in the order of the parts and are evaluated one after
 * the other, each running its expression: so statements take their rows in one
 * order. PostgreSQL does not promise this; where it should not hold, a deadlock
 * is a `Conflict`. The idempotency record comes first: the loser of two equal
 * requests waits there, and not in the middle.
 *
 * An update that waited for a rival checks `version` again on the row as the
 * rival left it, and finds nothing.
 *
 * Commits that come at the same time and write the same tables share a statement
 * (`Gathering.ts`): most of what one costs is the statement. Where it cannot apply
 * all of them, each is committed on its own, and succeeds or fails as it would have.
 */
import { isNone } from "@messaging-crm/core/Changes"
import { Commit, Conflict, KeyUsed, LeaseLost } from "@messaging-crm/core/Commit"
import * as Traces from "@messaging-crm/core/Traces"
import { Effect, Exit, Layer, Option } from "effect"
import type { SqlError } from "effect/sql"
import { SqlClient } from "effect/sql"
import { CommitConnections } from "../database/CommitConnections.ts"
import * as Gathering from "../database/Gathering.ts"
import { lanesOf, rowsOf, shapeOf, statementOf } from "./Commit/Batch.ts"
import type { Commission } from "./Commit/Statement.ts"

/** How many statements commit at once, and how many commits share one, at most. */
const [statements_max, commits_max] = [3, 64]

/** How long a statement of several commits waits for a row, so that one that somebody holds delays the others little. */
const shared_lock_timeout = "100ms"

type Refusal = Conflict | KeyUsed | LeaseLost

/** Returns the code of a state that no class of the driver knows. */
const stateOf = ({ reason }: SqlError.SqlError): unknown =>
  // The driver's own error is the cause, as it came from the server.
  (reason.cause as { readonly code?: unknown } | undefined)?.code

/** With a key, an outcome that is not known is decided again: the repetition finds the record, or takes effect. */
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
      return hasKey ? Effect.fail(new Conflict()) : Effect.die(error)
    default:
      return stateOf(error) === "MC001" ? Effect.fail(new LeaseLost()) : Effect.die(error)
  }
}

/** Layer that commits to PostgreSQL: over connections of its own where there are some, or as a part of the caller's transaction. */
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
          (error) => refused(error, commission.changes.remember !== undefined)
        ))
      })

    const commitAlone = (commissions: ReadonlyArray<Commission>) =>
      Effect.forEach(commissions, (commission) => Effect.exit(commitOne(commission)), { concurrency: "unbounded" })

    const commitTogether = (commissions: Gathering.Some<Commission>) =>
      commissions.length === 1
        ? commitAlone(commissions)
        : Effect.try(() => statementOf(commissions, shared_lock_timeout)).pipe(
          Effect.flatMap(({ parameters, text }) => own.unsafe(text, parameters)),
          Effect.as(commissions.map((): Exit.Exit<void, Refusal> => Exit.void)),
          Effect.catch((error) =>
            // What became of them is not known, and what follows from that is for each.
            error._tag === "SqlError" && error.reason._tag === "ConnectionError"
              ? Effect.forEach(
                commissions,
                ({ changes }) => Effect.exit(refused(error, changes.remember !== undefined))
              )
              : commitAlone(commissions)
          )
        )

    const commit = Gathering.make<Commission, void, Refusal, never>({
      concurrency: statements_max,
      size: commits_max,
      groupOf: ({ changes }) => shapeOf(changes),
      rowsOf,
      lanesOf,
      run: commitTogether
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
