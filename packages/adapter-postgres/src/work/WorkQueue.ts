/**
 * The work queue in PostgreSQL.
 *
 * A lane is a queue of its own: the sends of a conversation, or the deliveries of a
 * webhook. Its row in `work_lanes` is the lock under which its items are claimed, so
 * that its cap is never exceeded.
 *
 * The last three columns list what each of the three writers of a lane writes, and when.
 *
 * | Column of `work_lanes` | Meaning | Commits: `Commit/Work.ts` | Claims: `schedule_lanes.sql` | Sweeps: `sweep_lanes.sql` |
 * | --- | --- | --- | --- | --- |
 * | `cap`, `fifo` | the properties of its kind (core's `kind_rules`) | a new lane; `cap` also a throttle | – | – |
 * | `allowed` | how many items can be leased at once: `cap`, or fewer in a throttled lane; a claim returns it as `lane_cap` | a throttle | – | – |
 * | `paused_until` | until when no item is claimed; null without a pause | a throttle | – | – |
 * | `closed` | the next item must wait until another one is settled | cleared by a settlement or a throttle | set or cleared | cleared |
 * | `emptied_at` | since when claims have found no due item; null for a lane that is not idle | cleared for a new, released, or expedited item | set or cleared | cleared |
 * | `served_at` | when an item was last claimed | – | if items were claimed | – |
 * | `next_due` | when a claim checks the lane next; `infinity` after the last check of a lane without waiting items | every change | every claim | every opened lane |
 *
 * | Column of `work` | Written by | Meaning |
 * | --- | --- | --- |
 * | `seq` | the insertion | the order of the items of a fifo lane |
 * | `due_at` | the insertion, the settlement of an item that is due again, and a commit that expedites it | from when the item can be claimed |
 * | `leased_until`, `token` | set by claims, cleared by settlements and sweeps | the end of the lease, and the claim that has it; null for a waiting item |
 * | `attempt` | claims; decreased by a release | the number of claims |
 * | `defects` | settlements | how many of these claims ended with a defect |
 *
 * | State | Event | Next state |
 * | --- | --- | --- |
 * | none | a commit adds an item, or throttles the lane | open |
 * | any | a claim finds the lane at `next_due` | open, closed, or idle |
 * | closed (`closed`) | an item is settled, a commit throttles the lane, or a sweep ends a lease | open |
 * | idle (`emptied_at`) | a commit adds or expedites an item | open |
 * | idle for 15 seconds | a sweep | open if an item is due before `next_due`, deleted if the lane has no item and no throttle |
 *
 * A claim closes a fifo lane that has items, and another lane that is full. Only a
 * settlement whose snapshot has `closed` opens a lane that is not fifo, so a claim closes
 * such a lane only if it has also claimed items of it: their settlements come later. A
 * lane that is not closed becomes idle when a claim finds no due item and claims none:
 * the lane is empty, or all its items are claimed or due later.
 *
 * Only `claim_work.sql` claims items. Commits (`Commit/Work.ts`) lock a lane only to
 * open or throttle it: one that is checked before a new item is due needs no lock.
 *
 * A commit decides this by its snapshot, while a concurrent claim may make the lane
 * idle. So an idle lane is checked again after 100 ms and after one second. A
 * settlement of a fifo lane always locks it, because a concurrent claim may be about
 * to close the lane because of the settled item.
 *
 * Organizations take turns, and so do the lanes of each: one that was just served is
 * served again only after those that wait (`served_at`). A lane that holds its share goes behind the others too, so that a
 * claim finds those that hold less.
 */
import { OrganizationId } from "@messaging-crm/core/Ids"
import { type Claim, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Effect, Layer, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { makeCommitOrTransactionClient } from "../database/CommitConnections.ts"
import { date, OptionalAt, rows, run } from "../database/RowCodecs.ts"

/** The row of a claimed item. */
export const Item = Schema.Struct({
  organization_id: OrganizationId,
  kind: WorkKind,
  lane: Schema.String,
  lane_cap: Schema.Int,
  ref: Schema.String,
  attempt: Schema.Int,
  defects: Schema.Int,
  token: Schema.String,
  trace: Schema.NullOr(Schema.String)
})

const items = rows(Item)

const backlogs = rows(Schema.Struct({
  kind: Schema.String,
  due: Schema.Int,
  later: Schema.Int,
  leased: Schema.Int,
  oldest_due_at: OptionalAt
}))

/** Stands for no limit. */
const unlimited = 1_000_000

/** The call of the function that claims items and returns their rows. */
export const claimWork = (
  sql: SqlClient.SqlClient,
  { free = unlimited, leased = new Map(), kind, lease_until, limit, now, token }: Claim
): Statement.Fragment =>
  sql`
    claim_work(
      ${kind}, ${limit}, ${date(now)}, ${date(lease_until)}, ${token},
      ${Array.from(leased.keys())}::uuid[], ${Array.from(leased.values())}::integer[], ${free}
    )
  `

const backlogWith = (sql: SqlClient.SqlClient): WorkQueue["Service"]["backlog"] => (now) =>
  backlogs(sql`
    SELECT
      kind,
      count(*) FILTER (WHERE NOT leased AND is_due)::int AS due,
      count(*) FILTER (WHERE NOT leased AND NOT is_due)::int AS later,
      count(*) FILTER (WHERE leased)::int AS leased,
      min(due_at) FILTER (WHERE NOT leased AND is_due) AS oldest_due_at
    FROM (
      SELECT
        item.kind,
        item.due_at,
        item.leased_until IS NOT NULL AS leased,
        item.due_at <= ${date(now)} AND coalesce(lane.paused_until <= ${date(now)}, true) AS is_due
      FROM work item
      JOIN work_lanes lane ON lane.name = item.lane_name
    ) items
    GROUP BY kind
  `)

/** Layer that keeps work in PostgreSQL. */
export const layer = Layer.effect(
  WorkQueue,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const committing = yield* makeCommitOrTransactionClient
    return WorkQueue.of({
      claim: (claim) =>
        Effect.flatMap(committing, (client) =>
          items(client`
            SELECT organization_id, kind, lane, lane_cap, ref, attempt, defects, token, trace
            FROM ${claimWork(client, claim)}
          `)),
      sweep: (now) => Effect.flatMap(committing, (client) => run(client`SELECT sweep_lanes(${date(now)})`)),
      backlog: backlogWith(sql)
    })
  })
)
