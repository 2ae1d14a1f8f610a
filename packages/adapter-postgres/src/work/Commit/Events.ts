/** Events and their deliveries to webhooks, and the failed deliveries of disabled webhooks. */
import { fullBodyOf, type RaisedEvent } from "@messaging-crm/core/Changes"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { anyNumber, type CommitRequest, type Owned, type Part, type Traced, type Values } from "./Part.ts"

/** Fails the newest pending deliveries of disabled webhooks, up to a limit for each. */
export const abandonDeliveries = ({ json, parameter }: Values, { changes, organization_id }: CommitRequest): Part => ({
  name: "deliveries_abandoned",
  body: `
    UPDATE webhook_deliveries
    SET status = 'failed', failure_code = 'webhook_disabled', next_attempt_at = NULL, version = version + 1
    WHERE organization_id = ${parameter(organization_id)}::uuid
      AND id = ANY(ARRAY(
        SELECT d.id
        FROM jsonb_to_recordset(${json(changes.abandon ?? [])}) AS w (webhook_id uuid, "limit" integer)
        CROSS JOIN LATERAL (
          SELECT id
          FROM webhook_deliveries
          WHERE organization_id = ${parameter(organization_id)}::uuid AND webhook_id = w.webhook_id
            AND status = 'pending'
            AND id <> ALL(${
    parameter(
      (changes.update ?? []).filter(({ table }) => table === WebhookDeliveryRows.table).map(({ key }) => key.id ?? "")
    )
  }::uuid[])
          ORDER BY created_at DESC, id DESC
          LIMIT w."limit"
        ) d
      ))
      AND status = 'pending'
    RETURNING 1`,
  requires: anyNumber("deliveries_abandoned")
})

const distinct = (values: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(values))

/** The ids of the events that `raised` stores with their resources, as JSON. */
export const full_ids = "to_jsonb(ARRAY(SELECT full_id FROM events_inserted WHERE full_id IS NOT NULL))"

/** Events that no webhook subscribes to. */
export const insertUnsubscribedEvents = (
  { json, parameter }: Values,
  events: ReadonlyArray<Owned<RaisedEvent>>
): Part => ({
  name: "events_inserted",
  body: `
    INSERT INTO webhook_events (organization_id, id, type, body, created_at)
    SELECT *
    FROM jsonb_to_recordset(${
    json(
      events.map(({ body, created_at, id, organization_id, type }) => ({ organization_id, id, type, body, created_at }))
    )
  }) AS e (organization_id uuid, id uuid, type text, body text, created_at timestamptz)
    RETURNING organization_id, type`,
  // The organizations are named twice, so that no plan reads all webhooks.
  requires: `NOT EXISTS (
    SELECT FROM events_inserted e
    JOIN webhooks w ON w.organization_id = e.organization_id AND w.status = 'active' AND e.type = ANY(w.event_types)
    WHERE w.organization_id = ANY(${parameter(distinct(events.map(({ organization_id }) => organization_id)))}::uuid[])
  )`,
  failure: "subscribed"
})

/** Events and their deliveries, except to webhooks that the same commit disables. */
export const insertEvents = (
  { json, parameter }: Values,
  events: ReadonlyArray<Owned<RaisedEvent> & Traced>,
  disabled: ReadonlyArray<{ readonly webhook_id: string }>
): ReadonlyArray<Part> => [{
  name: "events_raised",
  body: `
    SELECT *
    FROM jsonb_to_recordset(${
    json(events.map(({ resource, ...event }) => ({
      ...event,
      resource: resource === null
        ? null
        : { body: fullBodyOf({ ...event, resource }), contact_id: resource.contact_id, message_id: resource.message_id }
    })))
  }) AS e (organization_id uuid, id uuid, type text, body text, created_at timestamptz, resource jsonb, trace text)`,
  requires: anyNumber("events_raised")
}, {
  name: "deliveries_raised",
  body: `
    SELECT e.organization_id, e.id, e.type, e.created_at, e.trace, w.id AS webhook_id, w.include_resource,
      webhook_delivery_id(e.id, w.id) AS delivery_id
    FROM events_raised e
    JOIN webhooks w ON w.organization_id = e.organization_id AND w.status = 'active' AND e.type = ANY(w.event_types)
    ${
    disabled.length === 0 ? "" : `AND w.id <> ALL(${parameter(disabled.map(({ webhook_id }) => webhook_id))}::uuid[])`
  }`,
  requires: anyNumber("deliveries_raised")
}, {
  name: "events_inserted",
  body: `
    INSERT INTO webhook_events (organization_id, id, type, body, created_at, full_body, contact_id, message_id)
    SELECT organization_id, id, type, body, created_at,
      stored ->> 'body', (stored ->> 'contact_id')::uuid, (stored ->> 'message_id')::uuid
    FROM (
      SELECT *, CASE WHEN id = ANY(ARRAY(SELECT id FROM deliveries_raised WHERE include_resource)) THEN resource END AS stored
      FROM events_raised
    ) e
    RETURNING CASE WHEN full_body IS NOT NULL THEN id END AS full_id`,
  requires: anyNumber("events_inserted")
}, {
  name: "deliveries_inserted",
  body: `
    INSERT INTO webhook_deliveries (
      organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at
    )
    SELECT organization_id, delivery_id, webhook_id, id, type, 'pending', 0, created_at, created_at
    FROM deliveries_raised
    ORDER BY webhook_id, created_at, id
    RETURNING 1`,
  requires: anyNumber("deliveries_inserted")
}]
