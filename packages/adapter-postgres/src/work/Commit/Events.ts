/** Events and their deliveries to webhooks, and the failed deliveries of disabled webhooks. */
import type { Changes } from "@messaging-crm/core/Changes"
import { fullBodyOf, type RaisedEvent } from "@messaging-crm/core/RaisedEvents"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { type CommitRequest, isAmong, type Owned, type Part, type Traced, type Values } from "./Part.ts"

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

const distinct = (values: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(values))

/** The stored events that have deliveries, as JSON. */
export const subscribed = `(
    SELECT coalesce(jsonb_agg(event), '[]')
    FROM (
      SELECT id, is_full, count(*)::integer AS deliveries
      FROM events_inserted
      JOIN deliveries_raised USING (id)
      GROUP BY id, is_full
    ) event
  )`

/** The condition that a `webhook` subscribes to an `event`. */
const subscribes =
  "webhook.organization_id = event.organization_id AND webhook.status = 'active' AND event.type = ANY(webhook.event_types)"

/** Inserts events that no webhook subscribes to. */
export const insertUnsubscribedEvents = (
  { json, parameter }: Values,
  events: ReadonlyArray<Owned<RaisedEvent>>
): Part => {
  const stored = json(
    events.map(({ body, created_at, id, organization_id, type }) => ({ organization_id, id, type, body, created_at }))
  )
  const organizations = parameter(distinct(events.map(({ organization_id }) => organization_id)))
  return {
    name: "events_inserted",
    body: `
    INSERT INTO webhook_events (organization_id, id, type, body, created_at)
    SELECT *
    FROM jsonb_to_recordset(${stored}) AS event (
      organization_id uuid, id uuid, type text, body text, created_at timestamptz
    )
    RETURNING organization_id, type`,
    requires: `NOT EXISTS (
    SELECT FROM events_inserted event
    JOIN webhooks webhook ON ${subscribes}
    WHERE ${isAmong("webhook.organization_id", `${organizations}::uuid[]`)}
  )`,
    failure: "subscribed"
  }
}

/** Gathers events, each with the bytes and the IDs that are stored if a webhook asks for its resource. */
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
    SELECT *
    FROM jsonb_to_recordset(${raised}) AS event (
      organization_id uuid, id uuid, type text, body text, created_at timestamptz, resource jsonb, trace text
    )`
  }
}

/** Finds the webhooks that the events are delivered to, except those that the same commit disables. */
const raiseDeliveries = ({ parameter }: Values, disabled: NonNullable<Changes["abandon"]>): Part => {
  const except = disabled.length === 0
    ? ""
    : `
    WHERE webhook.id <> ALL(${parameter(disabled.map(({ webhook_id }) => webhook_id))}::uuid[])`
  return {
    name: "deliveries_raised",
    body: `
    SELECT event.organization_id, event.id, event.type, event.created_at, event.trace,
      webhook.id AS webhook_id, webhook.include_resource, webhook_delivery_id(event.id, webhook.id) AS delivery_id
    FROM events_raised event
    JOIN webhooks webhook ON ${subscribes}${except}`
  }
}

const events_inserted: Part = {
  name: "events_inserted",
  body: `
    INSERT INTO webhook_events (organization_id, id, type, body, created_at, full_body, contact_id, message_id)
    SELECT organization_id, id, type, body, created_at,
      stored ->> 'body', (stored ->> 'contact_id')::uuid, (stored ->> 'message_id')::uuid
    FROM (
      SELECT *, CASE WHEN id = ANY(ARRAY(SELECT id FROM deliveries_raised WHERE include_resource)) THEN resource END AS stored
      FROM events_raised
    ) event
    RETURNING id, full_body IS NOT NULL AS is_full`
}

const deliveries_inserted: Part = {
  name: "deliveries_inserted",
  body: `
    INSERT INTO webhook_deliveries (
      organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at
    )
    SELECT organization_id, delivery_id, webhook_id, id, type, 'pending', 0, created_at, created_at
    FROM deliveries_raised
    ORDER BY webhook_id, created_at, id
    RETURNING 1`
}

/** Inserts events and their deliveries. */
export const insertEvents = (
  values: Values,
  events: ReadonlyArray<Owned<RaisedEvent> & Traced>,
  disabled: NonNullable<Changes["abandon"]>
): ReadonlyArray<Part> => [
  raiseEvents(values, events),
  raiseDeliveries(values, disabled),
  events_inserted,
  deliveries_inserted
]
