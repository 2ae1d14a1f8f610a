/**
 * Batches concurrent commits of the same shape into one statement, because most of the cost is that of the statement.
 *
 * If the statement cannot apply all of them, each is committed by a statement of its own, with its own outcome.
 */
import { Commit } from "@messaging-crm/core/Commit"
import type { EventId } from "@messaging-crm/core/Ids"
import { Effect, Exit, Layer } from "effect"
import * as CommitBatcher from "../database/CommitBatcher.ts"
import { makeWith, rejected, type Rejection, runStatement } from "./Commit.ts"
import { exclusiveKeysOf, shapeOf, sharedKeysOf } from "./Commit/Batch.ts"
import type { CommitRequest } from "./Commit/Part.ts"
import { statementOf } from "./Commit/Statement.ts"

/** The maximum number of concurrent statements, and of commits in one statement. */
const [statements_max, commits_max] = [3, 64]

/** How long a statement of several commits waits for a lock, so that one locked row does not delay the others for long. */
const shared_lock_timeout = "100ms"

/** Layer that commits to PostgreSQL in batches. It wraps the commit of one operation, as `Commit.ts` makes it. */
export const layer = Layer.effect(
  Commit,
  makeWith((one, client) =>
    CommitBatcher.make<CommitRequest, ReadonlyArray<EventId>, Rejection>({
      concurrency: statements_max,
      size: commits_max,
      groupOf: shapeOf,
      exclusiveKeysOf,
      sharedKeysOf,
      runSingle: one,
      runBatch: (requests) =>
        Effect.try(() => statementOf(requests, shared_lock_timeout)).pipe(
          Effect.flatMap((statement) => runStatement(client, statement)),
          Effect.map((full): ReadonlyArray<Exit.Exit<ReadonlyArray<EventId>, Rejection>> =>
            requests.map(({ changes: { raise = [] } }) =>
              Exit.succeed(full.filter((id) => raise.some((event) => event.id === id)))
            )
          ),
          Effect.catch((error) =>
            // The outcome of all is unknown. What follows depends on whether a commit has an idempotency key.
            error._tag === "SqlError" && error.reason._tag === "ConnectionError"
              ? Effect.forEach(
                requests,
                ({ changes }) => Effect.exit(rejected(error, changes.response !== undefined))
              )
              : Effect.succeed(null)
          )
        )
    })
  )
)
