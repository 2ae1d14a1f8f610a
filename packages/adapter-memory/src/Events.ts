import { type EventRow, EventStore } from "@messaging-crm/core/Events"
import type { WebhookDelivery } from "@messaging-crm/core/WebhookDeliveries"
import { DateTime, Effect, HashMap, Layer } from "effect"
import * as Table from "./Table.ts"
import { type Rows, World } from "./World.ts"

const shelfOf = (organization_id: string, { webhook_id }: Pick<WebhookDelivery, "webhook_id">): string =>
  `${organization_id}|${webhook_id}`

/** The rows without an event and its deliveries. */
const forget = (rows: Rows, organization_id: string, event_id: string): Rows => {
  const gone = Table.all(rows.deliveries, organization_id).filter((delivery) => delivery.event_id === event_id)
  return {
    ...rows,
    events: Table.remove(rows.events, organization_id, event_id),
    deliveries: gone.reduce((left, { id }) => Table.remove(left, organization_id, id), rows.deliveries),
    webhook_deliveries: gone.reduce(
      (left, delivery) => Table.remove(left, shelfOf(organization_id, delivery), delivery.id),
      rows.webhook_deliveries
    )
  }
}

/** A delivery that is due as soon as its event is there. */
const deliveryOf = (
  { created_at, id: event_id, type: event_type }: EventRow,
  names: Pick<WebhookDelivery, "id" | "webhook_id">
): WebhookDelivery => ({
  ...names,
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

/** Layer that keeps events, with their deliveries, in the in-memory world. */
export const layer = Layer.effect(
  EventStore,
  Effect.gen(function*() {
    const world = yield* World

    return EventStore.of({
      subscribers: (organization_id, type) =>
        world.read((rows) =>
          Table.all(rows.webhooks, organization_id)
            .filter(({ webhook }) => webhook.status === "active" && webhook.event_types.includes(type))
            .map(({ webhook }) => webhook.id)
            .toSorted()
        ),
      append: (organization_id, event, deliveries) =>
        world.modify((rows) => [undefined, {
          ...rows,
          events: Table.set(rows.events, organization_id, event.id, event),
          deliveries: deliveries.reduce(
            (all, names) => Table.set(all, organization_id, names.id, deliveryOf(event, names)),
            rows.deliveries
          ),
          webhook_deliveries: deliveries.reduce(
            (all, names) => Table.set(all, shelfOf(organization_id, names), names.id, names.id),
            rows.webhook_deliveries
          )
        }]),
      purge: (before, limit) =>
        world.modify((rows) => {
          const old = Array.from(rows.events).flatMap(([organization_id, events]) =>
            Array.from(HashMap.values(events))
              .filter(({ created_at }) => DateTime.isLessThan(created_at, before))
              .map(({ id }) => ({ organization_id, id }))
          ).slice(0, limit)
          return [old.length, old.reduce((left, { id, organization_id }) => forget(left, organization_id, id), rows)]
        })
    })
  })
)
