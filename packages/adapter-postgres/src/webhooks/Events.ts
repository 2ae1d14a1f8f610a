import { EventStore } from "@messaging-crm/core/Events"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { date } from "../database/Columns.ts"
import { count } from "../database/Rows.ts"

/** Layer that keeps events, with their deliveries, in PostgreSQL. */
export const layer = Layer.effect(
  EventStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return EventStore.of({
      purge: (before, limit) =>
        count(sql`
          DELETE FROM webhook_events
          WHERE ctid = ANY(ARRAY(
            SELECT ctid
            FROM webhook_events
            WHERE created_at < ${date(before)}
            ORDER BY created_at
            LIMIT ${limit}
          ))
          RETURNING id
        `)
    })
  })
)
