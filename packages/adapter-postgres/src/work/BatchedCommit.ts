/**
 * Batches concurrent commits of the same shape into one statement, because most of the cost is that of the statement.
 *
 * If the statement cannot apply all of them, each is committed by a statement of its own, with its own outcome.
 */
import { Commit, type CommitFailure, Conflict, type SubscribedEvent } from "@messaging-crm/core/Commit"
import { CurrentWriteTime, type WriteTime } from "@messaging-crm/core/WriteTime"
import { Array, Effect, Exit, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import * as Batcher from "./BatchedCommit/Batcher.ts"
import { countWrites, exclusiveKeysOf, shapeOf, sharedKeysOf } from "./BatchedCommit/Compatibility.ts"
import { makeWith, rejected, runStatement } from "./Commit.ts"
import type { CommitRequest, CommitRequests } from "./Commit/Part.ts"
import { statementOf } from "./Commit/Statement.ts"

/** The maximum number of concurrent statements, and of commits in one statement. */
const [statements_max, commits_max] = [3, 64]

/** How long a statement of several commits waits for a lock, so that one locked row does not delay the others for long. */
const shared_lock_timeout = "100ms"

type Outcome = Exit.Exit<ReadonlyArray<SubscribedEvent>, CommitFailure>

/** A commit, and the time of its write; null without a limit. */
interface TimedRequest extends CommitRequest {
  readonly time: WriteTime | null
}

const late: Outcome = Exit.fail(new Conflict())

/** Whether a commit that has waited can still be sent. */
const canBeSent = ({ time }: TimedRequest): boolean => time === null || time.resume()

/** Commits several requests with one statement, and returns their outcomes; null if the statement applied none of them. */
const commitTogether = (
  client: SqlClient.SqlClient,
  requests: CommitRequests
): Effect.Effect<ReadonlyArray<Outcome> | null> =>
  Effect.try(() => statementOf(requests, shared_lock_timeout)).pipe(
    Effect.flatMap((statement) => runStatement(client, statement)),
    Effect.map((subscribed) =>
      requests.map(({ changes: { expand = [], raise = [] } }): Outcome => {
        const ids = new Set([...raise.map(({ id }) => id), ...expand.map(({ event_id }) => event_id)])
        return Exit.succeed(subscribed.filter(({ id }) => ids.has(id)))
      })
    ),
    Effect.catch((error) =>
      // The outcome of all is unknown. What follows depends on whether a commit has an idempotency key.
      error._tag === "SqlError" && error.reason._tag === "ConnectionError"
        ? Effect.forEach(requests, ({ changes }) => Effect.exit(rejected(error, changes.response !== undefined)))
        : Effect.succeed(null)
    )
  )

/** The same without the requests that can no longer be sent. */
const commitInTime = (
  client: SqlClient.SqlClient,
  requests: ReadonlyArray<TimedRequest>
): Effect.Effect<ReadonlyArray<Outcome> | null> =>
  Effect.suspend(() => {
    const sent = requests.filter(canBeSent)
    if (!Array.isReadonlyArrayNonEmpty(sent)) return Effect.succeed(requests.map(() => late))
    return Effect.map(commitTogether(client, sent), (outcomes) => {
      if (outcomes !== null) return requests.map((request) => outcomes[sent.indexOf(request)] ?? late)
      for (const { time } of requests) time?.wait()
      return null
    })
  })

/** Layer that commits to PostgreSQL in batches. It wraps the commit of one operation, as `Commit.ts` makes it. */
export const layer = Layer.effect(
  Commit,
  makeWith((commitOne, client) => {
    const commitInBatch = Batcher.make<TimedRequest, ReadonlyArray<SubscribedEvent>, CommitFailure>({
      concurrency: statements_max,
      size: commits_max,
      ownerOf: ({ organization_id }) => organization_id,
      weightOf: ({ changes }) => countWrites(changes),
      groupOf: shapeOf,
      exclusiveKeysOf,
      sharedKeysOf,
      runSingle: (request) => Effect.suspend(() => canBeSent(request) ? commitOne(request) : late),
      runAsOne: (requests) => commitInTime(client, requests)
    })
    return (request) =>
      Effect.withFiber((fiber) => {
        const time = fiber.getRef(CurrentWriteTime)
        time?.wait()
        return commitInBatch({ ...request, time })
      })
  })
)
