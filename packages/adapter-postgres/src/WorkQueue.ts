/**
 * The work queue in PostgreSQL.
 *
 * A lane's row is the lock under which its items are given out and settled, so
 * what it says of them (`inflight`, `next_due`) is exact. It is locked by a
 * statement of its own before the items are looked at: a statement's snapshot
 * predates the locks that it waits for.
 *
 * A lane that was served comes after those that wait (`served_at`), so that one
 * with a long backlog does not keep the others out.
 */
import { OrganizationId, WorkId } from "@messaging-crm/core/Ids"
import * as Traces from "@messaging-crm/core/Traces"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { type ClaimedWork, lanes, type Work, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date, OptionalAt, optionalDate } from "./Columns.ts"

const Row = Schema.Struct({
  id: WorkId,
  organization_id: OrganizationId,
  kind: WorkKind,
  lane: Schema.String,
  ref: Schema.String,
  attempt: Schema.Int,
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

type Claim = Parameters<WorkQueue["Service"]["claim"]>[0]

const laneName = ({ kind, lane }: Pick<Work, "kind" | "lane">): string => `${kind}:${lane}`

const namesOf = (rows: ReadonlyArray<{ readonly name: string }>): ReadonlyArray<string> => rows.map(({ name }) => name)

/** Layer that keeps work in PostgreSQL. */
export const layer = Layer.effect(
  WorkQueue,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { transact } = yield* UnitOfWork

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
            SELECT l.name, item.id, 1 AS round, l.next_due
            FROM work_lanes l
            CROSS JOIN LATERAL (
              SELECT id, due_at, leased_until
              FROM work
              WHERE lane_name = l.name
              ORDER BY seq
              LIMIT 1
            ) item
            WHERE l.name = ANY(${names}::text[]) AND l.fifo AND item.leased_until IS NULL AND item.due_at <= ${now}
            UNION ALL
            SELECT l.name, item.id, item.round, l.next_due
            FROM work_lanes l
            CROSS JOIN LATERAL (
              SELECT id, row_number() OVER (ORDER BY due_at, seq) AS round
              FROM work
              WHERE lane_name = l.name AND leased_until IS NULL AND due_at <= ${now}
              ORDER BY due_at, seq
              LIMIT l.allowed - l.inflight
            ) item
            WHERE l.name = ANY(${names}::text[]) AND NOT l.fifo
            ORDER BY round, next_due
            LIMIT ${limit}
          ), served AS (
            UPDATE work_lanes
            SET served_at = ${now}
            WHERE name IN (SELECT name FROM due)
          )
          UPDATE work
          SET leased_until = ${lease_until}, token = ${token}, attempt = work.attempt + 1
          FROM due
          WHERE work.id = due.id
          RETURNING work.id, work.organization_id, work.kind, work.lane, work.ref, work.attempt, work.token,
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
     * Brings what locked lanes say of their items up to date, and removes the lanes that have none.
     *
     * Each subquery has an index of its own to begin at: what a lane costs must not grow with its items, whatever the
     * planner believes of a table that is never analyzed at the right moment.
     */
    const refresh = (names: ReadonlyArray<string>) =>
      sql`
        WITH emptied AS (
          DELETE FROM work_lanes
          WHERE name = ANY(${names}::text[])
            AND (SELECT seq FROM work WHERE lane_name = work_lanes.name ORDER BY seq LIMIT 1) IS NULL
        )
        UPDATE work_lanes l
        SET
          inflight = (SELECT count(*) FROM work WHERE lane_name = l.name AND leased_until IS NOT NULL),
          next_due = greatest(l.paused_until, l.served_at, coalesce(
            CASE
              WHEN l.fifo THEN (SELECT due_at FROM work WHERE lane_name = l.name ORDER BY seq LIMIT 1)
              ELSE (
                SELECT due_at
                FROM work
                WHERE lane_name = l.name AND leased_until IS NULL
                ORDER BY due_at
                LIMIT 1
              )
            END,
            'infinity'
          ))
        WHERE name = ANY(${names}::text[])
          AND (SELECT seq FROM work WHERE lane_name = l.name ORDER BY seq LIMIT 1) IS NOT NULL
      `

    /** Joins the transaction that is open, without a savepoint: what fails here is a defect, which undoes all of it. */
    const joined = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
      Effect.flatMap(
        Effect.serviceOption(sql.transactionService),
        (open) => Option.isSome(open) ? effect : transact(effect)
      )

    /** Changes an item that the claim still holds, under its lane's lock, and answers whether it did. */
    const settle = (
      claimed: ClaimedWork,
      change: (held: { readonly id: string; readonly token: string }) => Effect.Effect<ReadonlyArray<unknown>, unknown>
    ) => {
      const name = laneName(claimed)
      return Effect.gen(function*() {
        yield* sql`
          SELECT name
          FROM work_lanes
          WHERE name = ${name}
          FOR UPDATE
        `
        const changed = yield* change(claimed)
        if (changed.length === 0) return false
        yield* refresh([name])
        return true
      }).pipe(Effect.orDie, joined)
    }

    /** The lanes that have something to give, those that have waited longest first. */
    const waitingLanes = ({ kind, now }: Claim) =>
      sql`
        SELECT name
        FROM work_lanes
        WHERE kind = ${kind} AND next_due <= ${date(now)} AND inflight < allowed
        ORDER BY next_due
      `

    /** Most looks find nothing: they are not worth a transaction. */
    const isAnyWaiting = (options: Claim) =>
      Effect.map(sql`${waitingLanes(options)} LIMIT 1`, (found) => found.length > 0)

    const claim = (options: Claim) =>
      Effect.gen(function*() {
        const due = yield* sql<{ readonly name: string }>`
          ${waitingLanes(options)}
          LIMIT ${options.limit}
          FOR UPDATE SKIP LOCKED
        `
        if (due.length === 0) return []
        const names = namesOf(due)
        const claimed = yield* take({ ...options, names })
        yield* refresh(names)
        return claimed
      }).pipe(Effect.orDie, transact)

    return WorkQueue.of({
      // The lane is always updated, which locks it: a worker that finds it without items at this moment would remove it.
      // If one just did, the insertion is begun anew. What comes behind the first of a fifo lane does not make it due.
      enqueue: Effect.fnUntraced(function*(organization_id, work, due_at) {
        const trace = yield* Traces.current
        const { cap, fifo } = lanes[work.kind]
        const due = date(due_at)
        const name = laneName(work)
        yield* sql`
          WITH item AS (
            INSERT INTO work ${sql.insert({ ...work, organization_id, lane_name: name, due_at: due, trace })}
            ON CONFLICT ON CONSTRAINT work_ref_unique DO NOTHING
            RETURNING id
          )
          INSERT INTO work_lanes AS l (name, cap, allowed, fifo, next_due)
          SELECT ${name}, ${cap}, ${cap}, ${fifo}, ${due}
          FROM item
          ON CONFLICT (name) DO UPDATE SET
            next_due = CASE
              WHEN l.fifo THEN l.next_due
              ELSE greatest(l.paused_until, l.served_at, least(l.next_due, excluded.next_due))
            END
        `
      }, Effect.orDie),
      claim: (options) =>
        Effect.flatMap(isAnyWaiting(options), (isAny) => isAny ? claim(options) : Effect.succeed([])).pipe(
          Effect.orDie
        ),
      finish: (claimed) =>
        settle(claimed, ({ id, token }) =>
          sql`
            DELETE FROM work
            WHERE id = ${id} AND token = ${token}
            RETURNING id
          `),
      postpone: (claimed, due_at) =>
        settle(claimed, ({ id, token }) =>
          sql`
            UPDATE work
            SET due_at = ${date(due_at)}, leased_until = NULL, token = NULL
            WHERE id = ${id} AND token = ${token}
            RETURNING id
          `),
      release: (claimed) =>
        settle(claimed, ({ id, token }) =>
          sql`
            UPDATE work
            SET attempt = attempt - 1, leased_until = NULL, token = NULL
            WHERE id = ${id} AND token = ${token}
            RETURNING id
          `),
      throttle: (lane, { cap, until }) => {
        const name = laneName(lane)
        return sql`
          UPDATE work_lanes
          SET allowed = least(cap, ${cap}), paused_until = ${optionalDate(until)}
          WHERE name = ${name}
        `.pipe(Effect.andThen(refresh([name])), Effect.orDie, joined, Effect.asVoid)
      },
      sweep: (now) =>
        Effect.gen(function*() {
          const ended = yield* sql<{ readonly name: string }>`
            SELECT name
            FROM work_lanes
            WHERE name IN (SELECT lane_name FROM work WHERE leased_until <= ${date(now)})
            FOR UPDATE SKIP LOCKED
          `
          if (ended.length === 0) return
          const names = namesOf(ended)
          yield* sql`
            UPDATE work
            SET leased_until = NULL, token = NULL
            WHERE lane_name = ANY(${names}::text[]) AND leased_until <= ${date(now)}
          `
          yield* refresh(names)
        }).pipe(Effect.orDie, transact),
      backlog: (now) => Effect.orDie(backlog(now))
    })
  })
)
