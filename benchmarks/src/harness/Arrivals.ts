/** The delay until events arrive at their webhooks. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { summaryOf } from "./Percentiles.ts"

/** The ID of an event, and the time in milliseconds at which it arrived at a webhook for the first time. */
export type Arrival = readonly [event_id: string, at_ms: number]

/** Returns the first arrival of each event. */
export const firstArrivals = (
  posts: ReadonlyArray<{ readonly event_id: string; readonly at: number }>
): ReadonlyArray<Arrival> => Array.from(new Map(posts.toReversed().map(({ at, event_id }) => [event_id, at])))

/**
 * Summarizes the milliseconds between the creation of each event, which precedes its commit, and its arrival. Omits events
 * that were created before `since_ms`. Dies if an event does not exist.
 */
export const delaysOf = Effect.fnUntraced(function*(arrivals: ReadonlyArray<Arrival>, since_ms = 0) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly id: string; readonly created_at_ms: number }>`
    SELECT id, (extract(epoch FROM created_at) * 1000)::float8 AS created_at_ms
    FROM webhook_events
  `
  const creationTimes = new Map(rows.map(({ created_at_ms, id }) => [id, created_at_ms]))
  const delays = arrivals.flatMap(([event_id, at_ms]) => {
    const created_at_ms = creationTimes.get(event_id)
    if (created_at_ms === undefined) throw new Error(`No event has the ID ${event_id}.`)
    return created_at_ms < since_ms ? [] : [at_ms - created_at_ms]
  })
  return summaryOf(delays)
})
