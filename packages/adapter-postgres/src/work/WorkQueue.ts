/**
 * The work queue in PostgreSQL: how items are given out and settled.
 *
 * A lane's row is the lock under which its items are given out, so no cap is
 * ever exceeded. It is locked by a statement of its own before the items are
 * looked at: a statement's snapshot predates the locks that it waits for.
 * `Lanes.ts` says how writers wake lanes without that lock.
 *
 * A lane that was served comes after those that wait (`served_at`), so that one
 * with a long backlog does not keep the others out.
 */
import { OrganizationId } from "@messaging-crm/core/Ids"
import { type ClaimedWork, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date, OptionalAt } from "../database/Columns.ts"
import * as Lanes from "./Lanes.ts"

const Row = Schema.Struct({
  organization_id: OrganizationId,
  kind: WorkKind,
  lane: Schema.String,
  ref: Schema.String,
  attempt: Schema.Int,
  defects: Schema.Int,
  token: Schema.String,
  trace: Schema.NullOr(Schema.String)
})

const BacklogRow = Schema.Struct({
  kind: WorkKind,
  due: Schema.Int,
  later: Schema.Int,
  held: Schema.Int,
  oldest_due_at: OptionalAt
})

/** How long a lane must have been empty before it is removed: longer than any statement that may add to it. */
const empty_seconds = 15

type Claim = Parameters<WorkQueue["Service"]["claim"]>[0]

const namesOf = (rows: ReadonlyArray<{ readonly name: string }>): ReadonlyArray<string> => rows.map(({ name }) => name)

/** Layer that keeps work in PostgreSQL. */
export const layer = Layer.effect(
  WorkQueue,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    // Who settles an item whose lease has ended locks it before its lane, even where it no longer holds it: it is passed over.
    const take = SqlSchema.findAll({
      Request: Schema.Struct({
        names: Schema.Array(Schema.String),
        limit: Schema.Int,
        now: At,
        lease_until: At,
        token: Schema.String
      }),
      Result: Row,
      execute: ({ lease_until, limit, names, now, token }) =>
        sql`
          WITH due AS (
            SELECT item.kind, item.ref, 1 AS round, l.next_due
            FROM work_lanes l
            CROSS JOIN LATERAL (
              SELECT kind, ref, due_at, leased_until
              FROM work
              WHERE lane_name = l.name
              ORDER BY seq
              LIMIT 1
            ) item
            WHERE l.name = ANY(${names}::text[]) AND coalesce(l.paused_until <= ${now}, true)
              AND l.fifo AND item.leased_until IS NULL AND item.due_at <= ${now}
              AND NOT EXISTS (SELECT FROM work WHERE lane_name = l.name AND leased_until IS NOT NULL)
            UNION ALL
            SELECT item.kind, item.ref, item.round, l.next_due
            FROM work_lanes l
            CROSS JOIN LATERAL (
              SELECT kind, ref, row_number() OVER (ORDER BY due_at, seq) AS round
              FROM work
              WHERE lane_name = l.name AND leased_until IS NULL AND due_at <= ${now}
              ORDER BY due_at, seq
              LIMIT greatest(
                0,
                l.allowed - (SELECT count(*) FROM work WHERE lane_name = l.name AND leased_until IS NOT NULL)
              )
            ) item
            WHERE l.name = ANY(${names}::text[]) AND coalesce(l.paused_until <= ${now}, true) AND NOT l.fifo
            ORDER BY round, next_due
            LIMIT ${limit}
          ), free AS (
            SELECT work.kind, work.ref
            FROM due
            JOIN work ON work.kind = due.kind AND work.ref = due.ref
            WHERE work.leased_until IS NULL
            FOR UPDATE OF work SKIP LOCKED
          )
          UPDATE work
          SET leased_until = ${lease_until}, token = ${token}, attempt = work.attempt + 1
          FROM free
          WHERE work.kind = free.kind AND work.ref = free.ref
          RETURNING work.organization_id, work.kind, work.lane, work.ref, work.attempt, work.defects, work.token,
            work.trace
        `
    })

    const backlog = SqlSchema.findAll({
      Request: At,
      Result: BacklogRow,
      execute: (now) =>
        sql`
          SELECT
            kind,
            count(*) FILTER (WHERE NOT held AND is_due)::int AS due,
            count(*) FILTER (WHERE NOT held AND NOT is_due)::int AS later,
            count(*) FILTER (WHERE held)::int AS held,
            min(due_at) FILTER (WHERE NOT held AND is_due) AS oldest_due_at
          FROM (
            SELECT
              w.kind,
              w.due_at,
              w.leased_until IS NOT NULL AS held,
              w.due_at <= ${now} AND coalesce(l.paused_until <= ${now}, true) AS is_due
            FROM work w
            JOIN work_lanes l ON l.name = w.lane_name
          ) items
          GROUP BY kind
        `
    })

    /**
     * Writes when locked lanes are to be looked at again.
     *
     * A lane is `closed` where one of its items will say so: the first of a fifo
     * lane, or those that were just given out and fill it. One without items that
     * wait is looked at twice more before it sleeps, since its writers may not
     * have committed yet; who adds to it from now on wakes it (`emptied_at`).
     */
    const schedule = (names: ReadonlyArray<string>, served: ReadonlyArray<string>, now: DateTime.Utc) =>
      sql`
        UPDATE work_lanes l
        SET
          closed = s.closed,
          -- Throttles last for as long as the lane has items.
          allowed = CASE WHEN s.head_due IS NULL AND s.held = 0 THEN l.cap ELSE l.allowed END,
          paused_until = CASE WHEN s.head_due IS NULL AND s.held = 0 THEN NULL ELSE l.paused_until END,
          served_at = CASE WHEN s.served THEN ${date(now)} ELSE l.served_at END,
          emptied_at = CASE
            WHEN s.head_due IS NULL AND NOT s.served AND NOT s.closed THEN coalesce(l.emptied_at, ${date(now)})
          END,
          next_due = CASE
            WHEN s.closed AND NOT s.waits THEN greatest(s.lease_end, ${date(DateTime.add(now, { seconds: 1 }))})
            WHEN s.head_due IS NOT NULL AND s.held >= l.allowed THEN ${date(DateTime.add(now, { seconds: 1 }))}
            WHEN s.head_due IS NOT NULL THEN greatest(
              l.paused_until,
              CASE WHEN s.served THEN ${date(now)} ELSE l.served_at END,
              s.head_due
            )
            WHEN s.held > 0 AND s.served THEN ${date(now)}
            WHEN l.emptied_at IS NULL THEN ${date(DateTime.add(now, { milliseconds: 100 }))}
            WHEN l.emptied_at > ${date(DateTime.subtract(now, { seconds: 1 }))} THEN ${
        date(DateTime.add(now, { seconds: 1 }))
      }
            WHEN s.held > 0 THEN greatest(s.lease_end, ${date(DateTime.add(now, { seconds: 1 }))})
            ELSE 'infinity'
          END
        FROM (
          SELECT
            l.name,
            l.name = ANY(${served}::text[]) AS served,
            held.count AS held,
            held.lease_end,
            head.due_at AS head_due,
            l.fifo AND held.count = 0 AS waits,
            CASE
              WHEN l.fifo THEN head.due_at IS NOT NULL OR held.count > 0
              ELSE held.count >= l.allowed AND l.name = ANY(${served}::text[])
            END AS closed
          FROM work_lanes l
          CROSS JOIN LATERAL (
            SELECT count(*) AS count, min(leased_until) AS lease_end
            FROM work
            WHERE lane_name = l.name AND leased_until IS NOT NULL
          ) held
          LEFT JOIN LATERAL (
            SELECT due_at
            FROM work
            WHERE lane_name = l.name AND leased_until IS NULL
            ORDER BY CASE WHEN l.fifo THEN NULL ELSE due_at END, seq
            LIMIT 1
          ) head ON true
          WHERE l.name = ANY(${names}::text[])
        ) s
        WHERE l.name = s.name
      `

    /** The lanes that have something to give, those that have waited longest first. */
    const waitingLanes = ({ kind, now }: Claim) =>
      sql`
        SELECT name
        FROM work_lanes
        WHERE kind = ${kind} AND next_due <= ${date(now)}
        ORDER BY next_due
      `

    /** Most looks find nothing: they are not worth a transaction. */
    const isAnyWaiting = (options: Claim) =>
      Effect.map(sql`${waitingLanes(options)} LIMIT 1`, (found) => found.length > 0)

    const claim = (options: Claim) =>
      sql.withTransaction(Effect.gen(function*() {
        const due = yield* sql<{ readonly name: string }>`
          ${waitingLanes(options)}
          LIMIT ${options.limit}
          FOR UPDATE SKIP LOCKED
        `
        if (due.length === 0) return { claimed: [], names: [] }
        const names = namesOf(due)
        const claimed = yield* take({ ...options, names })
        yield* schedule(names, Array.from(new Set(claimed.map(Lanes.laneName))), options.now)
        return { claimed, names }
      }))

    /** Claims until something is given out or only lanes are left that were looked at: lanes that turn out to have nothing do not hide others. */
    const claimAny = Effect.fnUntraced(function*(options: Claim) {
      const seen = new Set<string>()
      while (true) {
        const { claimed, names } = yield* claim(options)
        const isLast = names.length < options.limit || names.every((name) => seen.has(name))
        if (claimed.length > 0 || isLast) return claimed
        for (const name of names) seen.add(name)
      }
    })

    /** Changes an item that the claim still holds and opens its lane; answers with what the change returns. */
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
      // The lane is written whether the claim held the item or not: that opens it for one look more.
      return Effect.orDie(sql.unsafe(`WITH ${ctes} SELECT answer FROM settled`, parameters))
    }

    const isHeld = "kind = $1 AND ref = $2::uuid AND token = $3::uuid"
    const wasHeld = Effect.map((rows: ReadonlyArray<unknown>) => rows.length > 0)

    return WorkQueue.of({
      claim: (options) =>
        Effect.flatMap(isAnyWaiting(options), (isAny) => isAny ? claimAny(options) : Effect.succeed([])).pipe(
          Effect.orDie
        ),
      finish: (claimed) => wasHeld(settle(claimed, `DELETE FROM work WHERE ${isHeld} RETURNING 1 AS answer`, null)),
      postpone: (claimed, due_at) =>
        wasHeld(settle(
          claimed,
          `UPDATE work SET due_at = $due_at, leased_until = NULL, token = NULL WHERE ${isHeld} RETURNING 1 AS answer`,
          due_at
        )),
      release: (claimed) =>
        wasHeld(settle(
          claimed,
          `UPDATE work SET attempt = attempt - 1, leased_until = NULL, token = NULL WHERE ${isHeld} RETURNING 1 AS answer`,
          null
        )),
      recordDefect: (claimed, due_at) =>
        Effect.map(
          settle(
            claimed,
            `UPDATE work SET defects = defects + 1, due_at = $due_at, leased_until = NULL, token = NULL
            WHERE ${isHeld} RETURNING defects AS answer`,
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
          // Who settles one of them this moment has it locked, and waits for its lane.
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
      backlog: (now) => Effect.orDie(backlog(now))
    })
  })
)
