/** Events, their deliveries to webhooks, and the failed deliveries of disabled webhooks. */
import { fullBodyOf, type RaisedEvent } from "@messaging-crm/core/Changes"
import type { EventId } from "@messaging-crm/core/Ids"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import type { CommitRequest, Owned, Part, Traced, Values } from "./Part.ts"

/** Fails the newest pending deliveries of disabled webhooks, up to a limit for each. */
export const abandonDeliveries = ({ json, parameter }: Values, { changes, organization_id }: CommitRequest): Part => {
  const { abandon = [], update = [] } = changes
  const organization = parameter(organization_id)
  const webhooks = json(abandon)
  // One statement cannot update a row twice.
  const updated = parameter(
    update.filter(({ table }) => table === WebhookDeliveryRows.table).map(({ key }) => key.id ?? "")
  )
  return {
    name: "deliveries_abandoned",
    body: `
    UPDATE webhook_deliveries
    SET status = 'failed', failure_code = 'webhook_disabled', next_attempt_at = NULL, version = version + 1
    WHERE organization_id = ${organization}::uuid
      AND id = ANY(ARRAY(
        SELECT delivery.id
        FROM jsonb_to_recordset(${webhooks}) AS webhook (webhook_id uuid, "limit" integer)
        CROSS JOIN LATERAL (
          SELECT id
          FROM webhook_deliveries
          WHERE organization_id = ${organization}::uuid AND webhook_id = webhook.webhook_id
            AND status = 'pending' AND id <> ALL(${updated}::uuid[])
          ORDER BY created_at DESC, id DESC
          LIMIT webhook."limit"
        ) delivery
      ))
      AND status = 'pending'
    RETURNING 1`
  }
}

/** The condition that a `webhook` subscribes to an `event`. */
const subscribes =
  "webhook.organization_id = event.organization_id AND webhook.status = 'active' AND event.type = ANY(webhook.event_types)"

/**
 * Gathers events, each with the bytes and the IDs that are stored if a webhook asks for its resource. `asks` is whether one
 * does, and null if no webhook subscribes.
 */
const raiseEvents = ({ json }: Values, events: ReadonlyArray<Owned<RaisedEvent> & Traced>): Part => {
  const raised = json(events.map(({ resource, ...event }) => ({
    ...event,
    resource: resource === null
      ? null
      : { body: fullBodyOf({ ...event, resource }), contact_id: resource.contact_id, message_id: resource.message_id }
  })))
  return {
    name: "events_raised",
    body: `
    SELECT *, (
      SELECT webhook.include_resource FROM webhooks webhook
      WHERE ${subscribes}
      ORDER BY webhook.include_resource DESC
      LIMIT 1
    ) AS asks
    FROM jsonb_to_recordset(${raised}) AS event (
      organization_id uuid, id uuid, type text, body text, created_at timestamptz, resource jsonb, trace text
    )`
  }
}

const events_inserted: Part = {
  name: "events_inserted",
  body: `
    INSERT INTO webhook_events (organization_id, id, type, body, created_at, full_body, contact_id, message_id)
    SELECT organization_id, id, type, body, created_at,
      stored ->> 'body', (stored ->> 'contact_id')::uuid, (stored ->> 'message_id')::uuid
    FROM (SELECT *, CASE WHEN asks THEN nullif(resource, 'null') END AS stored FROM events_raised) event
    RETURNING id, full_body IS NOT NULL AS is_full`
}

/** Inserts events. */
export const insertEvents = (
  values: Values,
  events: ReadonlyArray<Owned<RaisedEvent> & Traced>
): ReadonlyArray<Part> => [raiseEvents(values, events), events_inserted]

/** The work that expands the raised events. */
export const raised_work = `
      SELECT organization_id, 'webhook_event' AS kind, organization_id AS lane, id AS ref, created_at AS due_at, trace
      FROM events_raised
      WHERE asks IS NOT NULL`

/** Inserts the deliveries of stored events that do not exist yet. */
export const expandEvents = (
  { json }: Values,
  events: ReadonlyArray<Owned<{ readonly event_id: EventId }> & Traced>
): ReadonlyArray<Part> => [{
  name: "events_expanded",
  body: `
    SELECT * FROM jsonb_to_recordset(${json(events)}) AS event (organization_id uuid, event_id uuid, trace text)`
}, deliveries_inserted]

const deliveries_inserted: Part = {
  name: "deliveries_inserted",
  body: `
    INSERT INTO webhook_deliveries (
      organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at
    )
    SELECT event.organization_id, webhook_delivery_id(event.id, webhook.id), webhook.id, event.id, event.type,
      'pending', 0, event.created_at, event.created_at
    FROM events_expanded expanded
    JOIN webhook_events event ON event.organization_id = expanded.organization_id AND event.id = expanded.event_id
    JOIN webhooks webhook ON ${subscribes} AND webhook.created_at <= event.created_at
    ORDER BY webhook.id, event.created_at, event.id
    ON CONFLICT (organization_id, id) DO NOTHING
    RETURNING organization_id, id, webhook_id, event_id, created_at`
}

/** The work of the inserted deliveries. */
export const expanded_work = `
      SELECT organization_id, 'webhook_delivery' AS kind, webhook_id AS lane, id AS ref, created_at AS due_at, trace
      FROM deliveries_inserted
      JOIN events_expanded USING (organization_id, event_id)`

/** The raised events to which webhooks subscribe, as JSON. */
export const raised_events = `(
    SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'deliveries', 0, 'is_full', is_full)), '[]')
    FROM events_inserted
    JOIN events_raised USING (id)
    WHERE asks IS NOT NULL
  )`

/** The expanded events with new deliveries, as JSON. */
export const expanded_events = `(
    SELECT coalesce(jsonb_agg(event), '[]')
    FROM (
      SELECT event_id AS id, count(*)::integer AS deliveries, false AS is_full
      FROM deliveries_inserted
      GROUP BY event_id
    ) event
  )`
