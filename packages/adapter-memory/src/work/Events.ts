/** The events of a commit, with their deliveries, and the deliveries that it abandons. */
import * as Changes from "@messaging-crm/core/Changes"
import type { SubscribedEvent } from "@messaging-crm/core/Commit"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { fullBodyOf, type RaisedEvent } from "@messaging-crm/core/RaisedEvents"
import { DeliveryState, newDelivery, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { newest } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { EventRows, withoutResource } from "./PrivateTables.ts"

/** Returns the active webhooks that subscribe to an event and that the commit does not disable. */
const subscribersOf = (
  tables: Table.Tables,
  owner: OrganizationId,
  { abandon = [] }: Changes.Changes,
  event: RaisedEvent
) =>
  Table.all(tables, WebhookRows, owner).filter(({ event_types, id, status }) =>
    status === "active" && event_types.some((type) => type === event.type) &&
    !abandon.some(({ webhook_id }) => webhook_id === id)
  )

/** Returns the events of a commit that have deliveries. */
export const subscribedEvents = (
  tables: Table.Tables,
  owner: OrganizationId,
  changes: Changes.Changes
): ReadonlyArray<SubscribedEvent> =>
  (changes.raise ?? []).flatMap((event) => {
    const webhooks = subscribersOf(tables, owner, changes, event)
    const is_full = event.resource !== null && webhooks.some(({ include_resource }) => include_resource)
    return webhooks.length === 0 ? [] : [{ id: event.id, deliveries: webhooks.length, is_full }]
  })

/** Returns the inserts of an event, and of a delivery with its work for each webhook that gets it. */
export const eventInserts =
  (tables: Table.Tables, owner: OrganizationId, changes: Changes.Changes) => (raised: RaisedEvent): Changes.Changes => {
    const { resource, ...event } = raised
    const webhooks = subscribersOf(tables, owner, changes, raised)
    const isFull = webhooks.some(({ include_resource }) => include_resource)
    return Changes.all(
      EventRows.insert({
        ...event,
        ...(isFull && resource !== null
          ? { full_body: fullBodyOf(raised), contact_id: resource.contact_id, message_id: resource.message_id }
          : withoutResource)
      }),
      ...webhooks.map((webhook) => {
        const delivery = newDelivery(event, webhook.id)
        return Changes.all(
          WebhookDeliveryRows.insert(delivery),
          Changes.enqueue({ kind: "webhook_delivery", lane: webhook.id, ref: delivery.id, due_at: delivery.created_at })
        )
      })
    )
  }

/** Returns the updates that fail the pending deliveries of webhooks, except those that the same commit updates. */
export const abandonUpdates = (
  tables: Table.Tables,
  owner: OrganizationId,
  { abandon = [], update = [] }: Changes.Changes
) =>
  abandon.flatMap(({ limit, webhook_id }) => {
    const pending = Table.all(tables, WebhookDeliveryRows, owner).filter((delivery) =>
      delivery.webhook_id === webhook_id && delivery.status === "pending" &&
      !update.some(({ key }) => key.id === delivery.id)
    )
    return newest(pending, limit).map((row) =>
      WebhookDeliveryRows.update(row, DeliveryState.abandon("webhook_disabled"))
    )
  })
