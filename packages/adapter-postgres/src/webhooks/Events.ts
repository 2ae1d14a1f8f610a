import { EventStore } from "@messaging-crm/core/Events"
import { Layer } from "effect"
import { SqlClient } from "effect/sql"
import { purge } from "../database/Rows.ts"

/** Layer that keeps events, with their deliveries, in PostgreSQL. */
export const layer = Layer.effect(
  EventStore,
  SqlClient.SqlClient.useSync((sql) => EventStore.of({ purge: purge(sql, "webhook_events", "created_at") }))
)
