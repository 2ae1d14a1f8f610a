/** Webhooks, events, and deliveries. */
import * as Changes from "@messaging-crm/core/Changes"
import { deliveryIdOf, fullBodyOf, type RaisedEvent } from "@messaging-crm/core/Changes"
import {
  type AnyEventType,
  type CommitPosition,
  EventStore,
  type EventType,
  type ListedEvent,
  type StoredEvent
} from "@messaging-crm/core/Events"
import { EventId, nil, type OrganizationId, WebhookId } from "@messaging-crm/core/Ids"
import { type WebhookDelivery, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { healthy, type WebhookColumns, WebhookRows } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect } from "effect"
import { afterNoon, mustCommit, noon, uuid } from "./Base.ts"

/** An active webhook. */
export const webhook = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  fields: Partial<WebhookColumns> = {}
) {
  const row: WebhookColumns = {
    id: WebhookId.make(yield* uuid),
    url: "https://shop.example/crm",
    event_types: ["message.sent", "send.failed"],
    include_resource: false,
    status: "active",
    created_at: noon,
    disabled_at: null,
    sealed_secret: "v1.old.secret",
    ...healthy,
    ...fields
  }
  yield* mustCommit(organization_id, WebhookRows.insert(row))
  return row
})

/** An event that is not stored yet. */
export const newEvent = Effect.fnUntraced(function*(fields: Partial<RaisedEvent> = {}) {
  const row: RaisedEvent = {
    id: EventId.make(yield* uuid),
    type: "message.sent",
    body: `{"data":{"message_id":"1"}}`,
    created_at: noon,
    resource: null,
    ...fields
  }
  return row
})

/** Returns an event as the list contains it. */
export const listedEvent = ({ resource: _, ...event }: RaisedEvent): ListedEvent => event

/** Returns an event as it is stored. */
export const storedEvent = (event: RaisedEvent, isAsked = false): StoredEvent => ({
  ...listedEvent(event),
  full_body: isAsked ? fullBodyOf(event) : null
})

/** The delivery to a webhook that the expansion of an event adds. */
export const deliveryOf = (
  { created_at, id: event_id }: RaisedEvent,
  { id: webhook_id }: Pick<WebhookColumns, "id">,
  event_type: EventType = "message.sent"
): WebhookDelivery => ({
  id: deliveryIdOf(event_id, webhook_id),
  webhook_id,
  event_id,
  event_type,
  status: "pending",
  attempt_count: 0,
  response_status: null,
  response_body: null,
  failure_code: null,
  duration_ms: null,
  last_attempt_at: null,
  next_attempt_at: created_at,
  created_at
})

/** Returns the deliveries to a webhook. */
export const deliveriesOf = (organization_id: OrganizationId, { id }: Pick<WebhookColumns, "id">) =>
  WebhookDeliveryStore.use((store) => store.list(organization_id, id, 99))

/** Raises an event, and returns the delivery to the webhook that a read must return. */
export const raisedDelivery = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  to: Pick<WebhookColumns, "id">,
  millis = 0
) {
  const row = yield* newEvent({ created_at: afterNoon(millis) })
  yield* mustCommit(organization_id, Changes.raise(row))
  yield* mustCommit(organization_id, Changes.expand(row.id))
  return deliveryOf(row, to)
})

/** Removes the events of other tests that were raised before a time. */
export const withoutEvents = Effect.fnUntraced(function*(before: DateTime.Utc) {
  const store = yield* EventStore
  while ((yield* store.purge(before, 1000)) > 0) continue
  return store
})

/** The position before every event in the order of commits. */
export const beforeCommits: CommitPosition = { commit: "0", id: EventId.make(nil) }

/** Returns the events in the order of commits, once there are as many: other transactions of the database can delay them. */
export const committedEvents = (organization_id: OrganizationId, count: number) =>
  EventStore.use((store) =>
    Effect.repeat(store.committed(organization_id, { from: beforeCommits, size: 1000 }), {
      until: (events) => events.length === count
    })
  )

/** Returns the stored events of a type, the oldest first. */
export const storedEvents = (organization_id: OrganizationId, type: AnyEventType) =>
  EventStore.use((store) =>
    store.next(
      organization_id,
      { types: [type], until: DateTime.makeUnsafe("9999-12-31T00:00:00.000Z") },
      { after: { at: DateTime.makeUnsafe(0), id: nil }, size: 100 }
    )
  )
