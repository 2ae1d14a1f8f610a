import { AnyEventType, EventStore } from "@messaging-crm/core/Events"
import { EventId, type OrganizationId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { At, columnsOf, date, first, purge, rows, startOf } from "../database/RowCodecs.ts"

const Listed = Schema.Struct({ id: EventId, type: AnyEventType, body: Schema.String, created_at: At })
const Stored = Schema.Struct({ ...Listed.fields, full_body: Schema.NullOr(Schema.String) })

const Committed = Schema.Struct({ ...Listed.fields, commit: Schema.String })

const nextEvents = rows(Schema.Struct({ has_next: Schema.Boolean }))
const committedEvents = rows(Committed)
const lastCommittedEvent = first(Committed)
const listedEvents = rows(Listed)
const listedEvent = first(Listed)
const storedEvents = rows(Stored)

/** Removes the resources of events, whose rows are locked by ID, so that two removals do not deadlock. */
export const withoutResources = (sql: SqlClient.SqlClient, condition: Statement.Fragment) =>
  sql`
    UPDATE webhook_events
    SET full_body = NULL, contact_id = NULL, message_id = NULL
    WHERE (organization_id, id) IN (
      SELECT organization_id, id FROM webhook_events WHERE ${condition} ORDER BY organization_id, id FOR NO KEY UPDATE
    )
  `

/**
 * Selects events between two bounds: one scan of the index for each type, so that a rare type is found without
 * reading the others. The bounds and the order include the type, so that the planner can use no other index.
 */
const selectBetween = (
  sql: SqlClient.SqlClient,
  schema: typeof Listed | typeof Stored,
  organization_id: OrganizationId,
  types: ReadonlyArray<string>,
  bounds: Statement.Fragment,
  [order, size]: readonly ["ASC" | "DESC", number]
) =>
  sql`
    SELECT event.*
    FROM unnest(${types}::text[]) AS wanted (type)
    CROSS JOIN LATERAL (
      SELECT ${sql.literal(columnsOf(schema))}
      FROM webhook_events
      WHERE organization_id = ${organization_id} AND ${bounds}
      ORDER BY webhook_events.type ${sql.literal(order)}, created_at ${sql.literal(order)}, id ${sql.literal(order)}
      LIMIT ${size}
    ) event
    ORDER BY event.created_at ${sql.literal(order)}, event.id ${sql.literal(order)}
    LIMIT ${size}
  `

/**
 * Selects events in the order of the transactions that committed them, up to the first transaction that is still in progress
 * in this server: its events, and those of later transactions, follow once it has ended.
 */
const selectCommitted = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  from: Statement.Fragment,
  [order, size]: readonly ["ASC" | "DESC", number],
  commit: Statement.Fragment = sql`committed_in::text`
) =>
  sql`
    SELECT ${sql.literal(columnsOf(Listed))}, ${commit} AS commit
    FROM webhook_events
    WHERE organization_id = ${organization_id} AND ${from}
      AND committed_in < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY committed_in ${sql.literal(order)}, id ${sql.literal(order)}
    LIMIT ${size}
  `

/**
 * The number of an event of which a follower knows a number. It is another one if the organization has moved from another
 * database since. If the event is not stored, or was renumbered without keeping its number, it is the known one.
 */
const currentNumber = (
  sql: SqlClient.SqlClient,
  organization_id: Statement.Fragment,
  id: Statement.Fragment,
  known: Statement.Fragment
) =>
  sql`
    coalesce(
      (
        SELECT moved.committed_in
        FROM webhook_events moved
        WHERE moved.organization_id = ${organization_id} AND moved.id = ${id} AND ${known} = ANY(moved.earlier_commits)
      ),
      ${known}
    )
  `

/** Layer that keeps events, with their deliveries, in PostgreSQL. */
export const layer = Layer.effect(
  EventStore,
  SqlClient.SqlClient.useSync((sql) => {
    return EventStore.of({
      find: (organization_id, id) =>
        listedEvent(sql`
          SELECT ${sql.literal(columnsOf(Listed))}
          FROM webhook_events
          WHERE organization_id = ${organization_id} AND id = ${id}
        `),
      list: (organization_id, { since, types }, page) => {
        const { at, id } = startOf(page)
        // No event is older than 1970, and PostgreSQL has no times before 4713 BC.
        const first = since === null || DateTime.toEpochMillis(since) < 0 ? "-infinity" : date(since)
        const bounds = sql.and([
          sql`(webhook_events.type, created_at, id) < (wanted.type, ${at}::timestamptz, ${id}::uuid)`,
          sql`(webhook_events.type, created_at) >= (wanted.type, ${first}::timestamptz)`
        ])
        return listedEvents(selectBetween(sql, Listed, organization_id, types, bounds, ["DESC", page.size]))
      },
      next: (organization_id, { types, until }, { after: { at, id }, size }) => {
        const bounds = sql.and([
          sql`(webhook_events.type, created_at, id) > (wanted.type, ${date(at)}::timestamptz, ${id}::uuid)`,
          sql`(webhook_events.type, created_at) < (wanted.type, ${date(until)}::timestamptz)`
        ])
        return storedEvents(selectBetween(sql, Stored, organization_id, types, bounds, ["ASC", size]))
      },
      committed: (organization_id, { from: { commit, id }, size }) => {
        const from = sql`
          (committed_in, id) >= (
            ${currentNumber(sql, sql`${organization_id}::uuid`, sql`${id}::uuid`, sql`${commit}::text::xid8`)},
            ${id}::uuid
          )
        `
        // The event of the position keeps the number by which it is known.
        const number = sql`
          CASE
            WHEN id = ${id}::uuid AND ${commit}::text::xid8 = ANY(earlier_commits) THEN ${commit}::text
            ELSE committed_in::text
          END
        `
        return committedEvents(selectCommitted(sql, organization_id, from, ["ASC", size], number))
      },
      haveNext: (positions) =>
        Effect.map(
          nextEvents(sql`
            SELECT EXISTS (
              SELECT FROM webhook_events event
              WHERE event.organization_id = position.organization_id
                AND (event.committed_in, event.id) > (
                  ${currentNumber(sql, sql`position.organization_id`, sql`position.id`, sql`position.commit::xid8`)},
                  position.id
                )
                AND event.committed_in < pg_snapshot_xmin(pg_current_snapshot())
            ) AS has_next
            FROM unnest(
              ${positions.map(({ organization_id }) => organization_id)}::uuid[],
              ${positions.map(({ commit }) => commit)}::text[],
              ${positions.map(({ id }) => id)}::uuid[]
            ) WITH ORDINALITY AS position (organization_id, commit, id, place)
            ORDER BY position.place
          `),
          (found) => found.map(({ has_next }) => has_next)
        ),
      lastCommitted: (organization_id) =>
        lastCommittedEvent(selectCommitted(sql, organization_id, sql`true`, ["DESC", 1])),
      purge: purge(sql, "webhook_events", "created_at")
    })
  })
)
