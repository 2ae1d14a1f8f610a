/**
 * The work queue in PostgreSQL: how items are claimed and settled.
 *
 * The row of a lane is the lock under which its items are claimed (`claim_work` of
 * `schema/functions/claim_work.sql`), so a cap is never exceeded. `Lanes.ts` describes how
 * writers wake lanes without that lock.
 *
 * Organizations take turns, and so do the lanes of each: one that was just served is
 * served again only after those that wait (`served_at`).
 */
import { OrganizationId } from "@messaging-crm/core/Ids"
import { type Claim, type ClaimedWork, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { date, OptionalAt } from "../database/Columns.ts"
import { CommitConnections } from "../database/CommitConnections.ts"
import { rows } from "../database/Rows.ts"
import * as Lanes from "./Lanes.ts"

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
  kind: WorkKind,
  due: Schema.Int,
  later: Schema.Int,
  leased: Schema.Int,
  oldest_due_at: OptionalAt
}))

/** How long a lane must have been empty before it is deleted: longer than any statement that may add to it runs. */
const empty_seconds = 15

const namesOf = (rows: ReadonlyArray<{ readonly name: string }>): ReadonlyArray<string> => rows.map(({ name }) => name)

/** The call of the function that claims items and returns their rows. */
export const claimWork = (
  sql: SqlClient.SqlClient,
  { leased = new Map(), kind, lease_until, limit, now, organization_max = limit, token }: Claim
): Statement.Fragment =>
  sql`
    claim_work(
      ${kind}, ${limit}, ${date(now)}, ${date(lease_until)}, ${token},
      ${Array.from(leased.keys())}::uuid[], ${Array.from(leased.values())}::integer[], ${organization_max}
    )
  `

/** The client for claims: that with connections of their own, but inside a transaction of the caller its connection. */
export const claimClient = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const own = Option.getOrElse(yield* Effect.serviceOption(CommitConnections), () => sql)
  return Effect.map(Effect.serviceOption(sql.transactionService), (outer) => Option.isSome(outer) ? sql : own)
})

/** Layer that keeps work in PostgreSQL. */
export const layer = Layer.effect(
  WorkQueue,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const client = yield* claimClient

    const backlog = (now: DateTime.Utc) =>
      backlogs(sql`
          SELECT
            kind,
            count(*) FILTER (WHERE NOT leased AND is_due)::int AS due,
            count(*) FILTER (WHERE NOT leased AND NOT is_due)::int AS later,
            count(*) FILTER (WHERE leased)::int AS leased,
            min(due_at) FILTER (WHERE NOT leased AND is_due) AS oldest_due_at
          FROM (
            SELECT
              w.kind,
              w.due_at,
              w.leased_until IS NOT NULL AS leased,
              w.due_at <= ${date(now)} AND coalesce(l.paused_until <= ${date(now)}, true) AS is_due
            FROM work w
            JOIN work_lanes l ON l.name = w.lane_name
          ) items
          GROUP BY kind
        `)

    /** Changes an item that the claim still holds, opens its lane, and returns the rows of the change. */
    const settle = (
      claimed: ClaimedWork,
      change: string,
      due_at: DateTime.Utc | null
    ): Effect.Effect<ReadonlyArray<{ readonly answer: number }>> => {
      const parameters: Array<unknown> = [claimed.kind, claimed.ref, claimed.token]
      const parameter = (value: unknown) => `$${parameters.push(value)}`
      const text = change.replace("$due_at", () => parameter(due_at === null ? null : date(due_at)))
      const lanes = Lanes.writeLanes(
        false,
        [Lanes.settled(claimed, due_at === null ? null : DateTime.formatIso(due_at))],
        parameter
      )
      const ctes = [{ name: "settled", body: text }, ...lanes].map(({ body, name }) => `${name} AS (${body})`).join(
        ", "
      )
      // The lane is opened even if the claim no longer held the item. That costs one check of the lane.
      return Effect.orDie(sql.unsafe(`WITH ${ctes} SELECT answer FROM settled`, parameters))
    }

    const isLeased = "kind = $1 AND ref = $2::uuid AND token = $3::uuid"
    const wasLeased = Effect.map((rows: ReadonlyArray<unknown>) => rows.length > 0)

    return WorkQueue.of({
      claim: (claim) =>
        Effect.flatMap(client, (sql) =>
          items(sql`
            SELECT organization_id, kind, lane, lane_cap, ref, attempt, defects, token, trace
            FROM ${claimWork(sql, claim)}
          `)),
      finish: (claimed) => wasLeased(settle(claimed, `DELETE FROM work WHERE ${isLeased} RETURNING 1 AS answer`, null)),
      postpone: (claimed, due_at) =>
        wasLeased(settle(
          claimed,
          `UPDATE work SET due_at = $due_at, leased_until = NULL, token = NULL WHERE ${isLeased} RETURNING 1 AS answer`,
          due_at
        )),
      release: (claimed) =>
        wasLeased(settle(
          claimed,
          `UPDATE work SET attempt = attempt - 1, leased_until = NULL, token = NULL WHERE ${isLeased} RETURNING 1 AS answer`,
          null
        )),
      recordDefect: (claimed, due_at) =>
        Effect.map(
          settle(
            claimed,
            `UPDATE work SET defects = defects + 1, due_at = $due_at, leased_until = NULL, token = NULL
            WHERE ${isLeased} RETURNING defects AS answer`,
            due_at
          ),
          ([row]) => row?.answer ?? 0
        ),
      sweep: (now) =>
        sql.withTransaction(Effect.gen(function*() {
          const emptied_before = date(DateTime.subtract(now, { seconds: empty_seconds }))
          const ended = yield* sql<{ readonly name: string }>`
            SELECT name
            FROM work_lanes
            WHERE name = ANY(ARRAY(
              SELECT lane_name FROM work WHERE leased_until <= ${date(now)}
              UNION
              SELECT name FROM work_lanes WHERE emptied_at <= ${emptied_before}
            ))
            ORDER BY name
            FOR UPDATE SKIP LOCKED
          `
          if (ended.length === 0) return
          const names = namesOf(ended)
          // SKIP LOCKED: a concurrent settlement has locked its item, and waits for the lane that is locked here.
          yield* sql`
            UPDATE work
            SET leased_until = NULL, token = NULL
            WHERE (kind, ref) IN (
              SELECT kind, ref
              FROM work
              WHERE lane_name = ANY(${names}::text[]) AND leased_until <= ${date(now)}
              FOR UPDATE SKIP LOCKED
            )
          `
          yield* sql`
            WITH removed AS (
              DELETE FROM work_lanes l
              WHERE name = ANY(${names}::text[]) AND emptied_at <= ${emptied_before}
                AND NOT EXISTS (SELECT FROM work WHERE lane_name = l.name)
            )
            UPDATE work_lanes l
            SET closed = false, emptied_at = NULL, next_due = greatest(paused_until, served_at, '-infinity')
            WHERE name = ANY(${names}::text[])
              AND EXISTS (SELECT FROM work WHERE lane_name = l.name)
          `
        })).pipe(Effect.orDie),
      backlog
    })
  })
)
