/**
 * Batches concurrent commits of the same shape into one statement, because most of the cost is that of the statement.
 *
 * If the statement cannot apply all of them, each is committed by a statement of its own, with its own outcome.
 */
import { Commit } from "@messaging-crm/core/Commit"
import type { EventId } from "@messaging-crm/core/Ids"
import { Effect, Exit, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import * as Batcher from "./BatchedCommit/Batcher.ts"
import { exclusiveKeysOf, shapeOf, sharedKeysOf } from "./BatchedCommit/Compatibility.ts"
import { makeWith, rejected, type Rejection, runStatement } from "./Commit.ts"
import type { CommitRequest, CommitRequests } from "./Commit/Part.ts"
import { statementOf } from "./Commit/Statement.ts"

/** The maximum number of concurrent statements, and of commits in one statement. */
const [statements_max, commits_max] = [3, 64]

/** How long a statement of several commits waits for a lock, so that one locked row does not delay the others for long. */
const shared_lock_timeout = "100ms"

type Outcome = Exit.Exit<ReadonlyArray<EventId>, Rejection>

/** Commits several requests with one statement, and returns their outcomes; null if the statement applied none of them. */
const commitTogether = (
  client: SqlClient.SqlClient,
  requests: CommitRequests
): Effect.Effect<ReadonlyArray<Outcome> | null> =>
  Effect.try(() => statementOf(requests, shared_lock_timeout)).pipe(
    Effect.flatMap((statement) => runStatement(client, statement)),
    Effect.map((full_ids) =>
      requests.map(({ changes: { raise = [] } }): Outcome =>
        Exit.succeed(full_ids.filter((id) => raise.some((event) => event.id === id)))
      )
    ),
    Effect.catch((error) =>
      // The outcome of all is unknown. What follows depends on whether a commit has an idempotency key.
      error._tag === "SqlError" && error.reason._tag === "ConnectionError"
        ? Effect.forEach(requests, ({ changes }) => Effect.exit(rejected(error, changes.response !== undefined)))
        : Effect.succeed(null)
    )
  )

/** Layer that commits to PostgreSQL in batches. It wraps the commit of one operation, as `Commit.ts` makes it. */
export const layer = Layer.effect(
  Commit,
  makeWith((commitOne, client) =>
    Batcher.make<CommitRequest, ReadonlyArray<EventId>, Rejection>({
      concurrency: statements_max,
      size: commits_max,
      groupOf: shapeOf,
      exclusiveKeysOf,
      sharedKeysOf,
      runSingle: commitOne,
      runAsOne: (requests) => commitTogether(client, requests)
    })
  )
)
