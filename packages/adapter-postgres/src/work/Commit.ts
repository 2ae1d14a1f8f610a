/**
 * Commits the changes of operations with one statement, which is its own
 * transaction. `Commit/Statement.ts` builds it, and `BatchedCommit.ts` lets
 * concurrent commits share one.
 *
 * Each part of the changes is one common table expression. The main query checks
 * that each part found the required number of rows. If one did not, it raises
 * `serialization_failure`, which rolls back the statement.
 *
 * Evaluating a condition of the main query runs its expression, in this order: claimed
 * item and callback, idempotency record, then rows in `lock_order`. So all statements
 * lock rows in the same order. PostgreSQL does not guarantee this; a deadlock would be a
 * `Conflict`. A commit with an idempotency record has no claimed item, so the second of
 * two equal requests waits at the record before it holds another lock.
 *
 * An update that waited for another transaction checks `version` again on the new
 * row, and matches nothing if it has changed.
 */
import { isNone } from "@messaging-crm/core/Changes"
import {
  Commit,
  type CommitFailure,
  Conflict,
  KeyUsed,
  LeaseLost,
  type SubscribedEvent,
  Unconfirmed
} from "@messaging-crm/core/Commit"
import * as Traces from "@messaging-crm/core/Traces"
import { Effect, Layer, Option } from "effect"
import type { SqlError } from "effect/sql"
import { SqlClient } from "effect/sql"
import { codeOf } from "../database/Client/Server.ts"
import * as ClosedOrganization from "../database/ClosedOrganization.ts"
import { commitClient } from "../database/CommitConnections.ts"
import type { CommitRequest } from "./Commit/Part.ts"
import { statementOf } from "./Commit/Statement.ts"

/** The SQLSTATE of `commit_requires.sql` if the lease of the claimed item has ended. */
const lease_lost = "MC001"

/** Translates a failure of the statement. After a lost connection the outcome is unknown. */
export const rejected = (error: SqlError.SqlError, hasKey: boolean): Effect.Effect<never, CommitFailure> => {
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
      return codeOf(error) === lease_lost ? Effect.fail(new LeaseLost()) : ClosedOrganization.die(error)
  }
}

/** Commits the changes of one operation. */
type CommitOne = (request: CommitRequest) => Effect.Effect<ReadonlyArray<SubscribedEvent>, CommitFailure>

/** The row that the statement returns, with `subscribed` if its commits raise or expand events. */
interface Returned {
  readonly subscribed?: ReadonlyArray<SubscribedEvent>
}

/** Runs the statement, and returns the subscribed events. */
export const runStatement = (
  client: SqlClient.SqlClient,
  { parameters, text }: ReturnType<typeof statementOf>
): Effect.Effect<ReadonlyArray<SubscribedEvent>, SqlError.SqlError> =>
  Effect.map(client.unsafe<Returned>(text, parameters), ([row]) => row?.subscribed ?? [])

/** Returns the commit of one operation on a client. */
const commitOn = (client: SqlClient.SqlClient): CommitOne => (request) =>
  Effect.catch(
    Effect.suspend(() => runStatement(client, statementOf([request], null))),
    (error) => rejected(error, request.changes.response !== undefined)
  )

/**
 * Makes `Commit` from a function that wraps the commit of one operation. Commits use `CommitConnections` if they are
 * provided. Inside a transaction of the caller, a commit is not wrapped and uses the transaction's connection.
 */
export const makeWith = (wrap: (commitOne: CommitOne, client: SqlClient.SqlClient) => CommitOne) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const client = yield* commitClient
    const commit = wrap(commitOn(client), client)
    const commitInside = commitOn(sql)

    return Commit.of({
      commit: Effect.fnUntraced(function*(organization_id, changes) {
        if (isNone(changes)) return []
        const hasWork = [changes.enqueue, changes.raise, changes.expand].some((work) => work !== undefined)
        const trace = hasWork ? yield* Traces.current : null
        const outer = yield* Effect.serviceOption(sql.transactionService)
        return yield* Option.isSome(outer)
          // A failed statement would end the caller's transaction.
          ? Effect.catchTag(commitInside({ organization_id, changes, trace }), "Conflict", Effect.die)
          : commit({ organization_id, changes, trace })
      })
    })
  })

/** Layer that commits each operation with a statement of its own. The service uses `BatchedCommit.ts` instead. */
export const layer = Layer.effect(Commit, makeWith((commitOne) => commitOne))
