/** Events, their deliveries to webhooks, and the deliveries that a disabled webhook gives up. */
import type { Changes } from "@messaging-crm/core/Changes"
import { anyNumber, type Part, type Values } from "./Statement.ts"

export const abandoned = ({ json, parameter }: Values, { abandon = [], update = [] }: Changes): Part => ({
  name: "deliveries_abandoned",
  body: `
    UPDATE webhook_deliveries
    SET status = 'failed', failure_code = 'webhook_disabled', next_attempt_at = NULL, version = version + 1
    WHERE organization_id = $1::uuid
      AND id = ANY(ARRAY(
        SELECT d.id
        FROM jsonb_to_recordset(${json(abandon)}) AS w (webhook_id uuid, "limit" integer)
        CROSS JOIN LATERAL (
          SELECT id
          FROM webhook_deliveries
          WHERE organization_id = $1::uuid AND webhook_id = w.webhook_id AND status = 'pending'
            AND id <> ALL(${
    parameter(update.filter(({ table }) => table.name === "webhook_deliveries").map(({ key }) => key.id ?? ""))
  }::uuid[])
          ORDER BY created_at DESC, id DESC
          LIMIT w."limit"
        ) d
      ))
      AND status = 'pending'
    RETURNING 1`,
  requires: anyNumber("deliveries_abandoned")
})

export const raised = ({ json }: Values, events: NonNullable<Changes["raise"]>): ReadonlyArray<Part> => [{
  name: "events_raised",
  body: `
    SELECT e.id, e.type, e.body, e.created_at, w.id AS webhook_id, webhook_delivery_id(e.id, w.id) AS delivery_id
    FROM jsonb_to_recordset(${json(events)}) AS e (id uuid, type text, body text, created_at timestamptz)
    JOIN webhooks w ON w.organization_id = $1::uuid AND w.status = 'active' AND e.type = ANY(w.event_types)`,
  requires: anyNumber("events_raised")
}, {
  name: "events_inserted",
  body: `
    INSERT INTO webhook_events (organization_id, id, type, body, created_at)
    SELECT DISTINCT ON (id) $1::uuid, id, type, body, created_at FROM events_raised
    RETURNING 1`,
  requires: anyNumber("events_inserted")
}, {
  name: "deliveries_inserted",
  body: `
    INSERT INTO webhook_deliveries (
      organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at
    )
    SELECT $1::uuid, delivery_id, webhook_id, id, type, 'pending', 0, created_at, created_at
    FROM events_raised
    ORDER BY webhook_id, created_at, id
    RETURNING 1`,
  requires: anyNumber("deliveries_inserted")
}]
