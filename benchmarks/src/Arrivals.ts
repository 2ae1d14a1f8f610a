/** How soon events arrive at their webhooks. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { summaryOf } from "./Percentiles.ts"

/** The ID of an event, and the time in milliseconds at which it arrived at a webhook for the first time. */
export type Arrival = readonly [event_id: string, at_ms: number]

/**
 * Returns how many milliseconds after it was made, which is before its commit, each event arrived. Events that were made before
 * `since_ms` are left out. Dies if one was never made.
 */
export const delaysOf = Effect.fnUntraced(function*(arrivals: ReadonlyArray<Arrival>, since_ms = 0) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly id: string; readonly made_at: number }>`
    SELECT id, (extract(epoch FROM created_at) * 1000)::float8 AS made_at
    FROM webhook_events
  `
  const made = new Map(rows.map(({ id, made_at }) => [id, made_at]))
  const delays = arrivals.flatMap(([event_id, at_ms]) => {
    const made_at = made.get(event_id)
    if (made_at === undefined) throw new Error(`No event has the ID ${event_id}.`)
    return made_at < since_ms ? [] : [at_ms - made_at]
  })
  return summaryOf(delays)
})
