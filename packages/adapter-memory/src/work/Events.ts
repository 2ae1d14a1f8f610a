/** The events of a commit, and the deliveries that it adds and abandons. */
import * as Changes from "@messaging-crm/core/Changes"
import { fullBodyOf, type RaisedEvent } from "@messaging-crm/core/Changes"
import type { SubscribedEvent } from "@messaging-crm/core/Commit"
import type { EventId, OrganizationId } from "@messaging-crm/core/Ids"
import {
  DeliveryState,
  newDelivery,
  type WebhookDelivery,
  WebhookDeliveryRows
} from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { DateTime, HashMap, Option } from "effect"
import * as Log from "../world/Log.ts"
import { newest } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import type { CommittedId, WorldState } from "../world/World.ts"
import { EventRows, withoutResource } from "./PrivateTables.ts"

/** Returns the active webhooks that subscribe to an event. */
const subscribersOf = (tables: Table.Tables, owner: OrganizationId, event: Pick<RaisedEvent, "type">) =>
  Table.all(tables, WebhookRows, owner).filter(({ event_types, status }) =>
    status === "active" && event_types.some((type) => type === event.type)
  )

/** Returns the deliveries of an event that do not exist yet. */
const newDeliveries =
  (tables: Table.Tables, owner: OrganizationId) =>
  ({ event_id }: { readonly event_id: EventId }): ReadonlyArray<WebhookDelivery> =>
    Option.match(Table.get(tables, EventRows, owner, event_id), {
      onNone: () => [],
      onSome: (event) =>
        subscribersOf(tables, owner, event)
          .filter(({ created_at }) => DateTime.isLessThanOrEqualTo(created_at, event.created_at))
          .map(({ id }) => newDelivery(event, id))
          .filter(({ id }) => !Table.has(tables, WebhookDeliveryRows, owner, id))
    })

/** Returns the events of a commit to which webhooks subscribe, and those that it adds deliveries of. */
export const subscribedEvents = (
  tables: Table.Tables,
  owner: OrganizationId,
  { expand = [], raise = [] }: Changes.Changes
): ReadonlyArray<SubscribedEvent> => [
  ...raise.flatMap((event) => {
    const webhooks = subscribersOf(tables, owner, event)
    const is_full = event.resource !== null && webhooks.some(({ include_resource }) => include_resource)
    return webhooks.length === 0 ? [] : [{ id: event.id, deliveries: 0, is_full }]
  }),
  ...expand.flatMap((event) => {
    const deliveries = newDeliveries(tables, owner)(event).length
    return deliveries === 0 ? [] : [{ id: event.event_id, deliveries, is_full: false }]
  })
]

/** Returns the inserts of an event of a commit, and of the work that expands it. */
export const eventInserts =
  ({ commits, tables }: Pick<WorldState, "commits" | "tables">, owner: OrganizationId) =>
  (raised: RaisedEvent): Changes.Changes => {
    const { resource, ...event } = raised
    const webhooks = subscribersOf(tables, owner, raised)
    const isFull = webhooks.some(({ include_resource }) => include_resource)
    return Changes.all(
      EventRows.insert({
        ...event,
        committed_in: commits,
        ...(isFull && resource !== null
          ? { full_body: fullBodyOf(raised), contact_id: resource.contact_id, message_id: resource.message_id }
          : withoutResource)
      }),
      webhooks.length === 0
        ? Changes.none
        : Changes.enqueue({ kind: "webhook_event", lane: owner, ref: event.id, due_at: event.created_at })
    )
  }

/** Returns the order of the events of every organization, with those of a commit. */
export const inCommitOrder = (
  { commits, event_order }: Pick<WorldState, "commits" | "event_order">,
  owner: OrganizationId,
  raised: ReadonlyArray<RaisedEvent>
): WorldState["event_order"] => {
  if (raised.length === 0) return event_order
  const ids = raised.map(({ id }) => id).toSorted()
  return HashMap.modifyAt(
    event_order,
    owner,
    (log) =>
      Option.some(
        Log.append(Option.getOrElse(log, Log.empty<CommittedId>), ids.map((id) => ({ committed_in: commits, id })))
      )
  )
}

/** Returns the inserts of the deliveries of events, and of their work. */
export const deliveryInserts = (
  tables: Table.Tables,
  owner: OrganizationId,
  { expand = [] }: Changes.Changes
): Changes.Changes =>
  Changes.all(
    ...expand.flatMap(newDeliveries(tables, owner)).map((delivery) =>
      Changes.all(
        WebhookDeliveryRows.insert(delivery),
        Changes.enqueue({
          kind: "webhook_delivery",
          lane: delivery.webhook_id,
          ref: delivery.id,
          due_at: delivery.created_at
        })
      )
    )
  )

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
