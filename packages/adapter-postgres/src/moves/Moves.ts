/**
 * The state of a move, in each of the two databases.
 *
 * A command moves an organization step by step. Each transaction of a step locks the row of the move and checks that no other
 * command has taken the move over, so that a statement of a killed command cannot follow the steps of its successor. A step
 * can be repeated.
 *
 * | State in the old database | Writes there |
 * | --- | --- |
 * | `open` | continue |
 * | `draining` | continue, but no work is claimed |
 * | `closed` | are rejected |
 * | `departed` | are rejected; no API key is found. From here on, the new database can take over |
 *
 * | State in the new database | Meaning |
 * | --- | --- |
 * | `arriving` | rows are copied, or removed again; other writes are rejected |
 * | `arrived` | it has the organization |
 */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Data, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { unlimited } from "../database/TimeLimits.ts"

export type MoveState = "open" | "draining" | "closed" | "departed" | "arriving" | "arrived"

/** Whether a state is one of the old database. */
export const isLeaving = (state: MoveState): boolean => state !== "arriving" && state !== "arrived"

/** Whether a database in a state has rows of the organization which it does not have yet, or does not have any more. */
export const isElsewhere = (state: MoveState): boolean => state === "departed" || state === "arriving"

export interface Move {
  readonly organization_id: OrganizationId
  /** The name of the other database. */
  readonly other: string
  readonly state: MoveState
}

/** A command that runs a move. Each run of it has another ID. */
export interface Run {
  readonly organization_id: OrganizationId
  readonly run: string
}

/** Another command has taken the move over, or has ended it. */
export class MoveTakenOver extends Data.TaggedError("MoveTakenOver")<{}> {}

/** Returns the moves of a database. */
export const list = SqlClient.SqlClient.use((sql) =>
  sql<Move>`SELECT organization_id, other, state FROM organization_moves ORDER BY started_at, organization_id`
)

/** Returns the move of an organization. */
export const find = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<Move>`
    SELECT organization_id, other, state FROM organization_moves WHERE organization_id = ${organization_id}
  `
  return Option.fromUndefinedOr(found)
})

/** Runs reads on one snapshot. */
export const onSnapshot = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) =>
    unlimited(sql)(Effect.andThen(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`, effect))
  )

/** Runs a step of a move in one transaction, for which the triggers of the organization do nothing. */
export const asMover = <A, E, R>({ organization_id, run }: Run, step: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) =>
    unlimited(sql)(Effect.gen(function*() {
      yield* sql`SELECT set_config('messaging_crm.mover', ${organization_id}, true)`
      const found = yield* sql`
        SELECT FROM organization_moves WHERE organization_id = ${organization_id} AND run = ${run}::uuid FOR UPDATE
      `
      if (found.length === 0) return yield* new MoveTakenOver()
      return yield* step
    }))
  )

/** Begins a move, or takes over the one that another command has begun. Returns its state. */
export const begin = Effect.fnUntraced(
  function*({ organization_id, run }: Run, other: string, initial: "arriving" | "open") {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* sql<{ readonly state: MoveState }>`
      INSERT INTO organization_moves AS move (organization_id, other, state, run)
      VALUES (${organization_id}, ${other}, ${initial}, ${run}::uuid)
      ON CONFLICT (organization_id) DO UPDATE SET run = excluded.run WHERE move.other = excluded.other
      RETURNING state
    `
    return found === undefined ? yield* new MoveTakenOver() : found.state
  }
)

/** Changes the state inside a step. */
export const setState = ({ organization_id }: Run, state: MoveState) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      UPDATE organization_moves
      SET state = ${state}, closed_at = CASE WHEN ${state} IN ('closed', 'departed') THEN coalesce(closed_at, now()) END
      WHERE organization_id = ${organization_id}
    `
  )

/** Returns for how many milliseconds the organization has been closed for writes. */
export const closedTime = Effect.fnUntraced(function*({ organization_id }: Run) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly ms: number | null }>`
    SELECT round(extract(epoch FROM clock_timestamp() - closed_at) * 1000)::float8 AS ms
    FROM organization_moves
    WHERE organization_id = ${organization_id}
  `
  return found?.ms ?? null
})

/** Ends a move in a database. */
export const end = (run: Run) =>
  asMover(
    run,
    SqlClient.SqlClient.use((sql) => sql`DELETE FROM organization_moves WHERE organization_id = ${run.organization_id}`)
  )
