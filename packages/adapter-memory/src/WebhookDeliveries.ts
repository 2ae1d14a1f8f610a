import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { Effect, Layer, Option } from "effect"
import { byAge } from "./Order.ts"
import * as Table from "./Table.ts"
import { World } from "./World.ts"

/** Layer that keeps deliveries in the in-memory world. Attempts are counted and the last is kept: nobody asks for the others. */
export const layer = Layer.effect(
  WebhookDeliveryStore,
  Effect.gen(function*() {
    const world = yield* World

    return WebhookDeliveryStore.of({
      list: (organization_id, webhook_id, limit) =>
        world.read((rows) =>
          Table.all(rows.webhook_deliveries, `${organization_id}|${webhook_id}`)
            .flatMap((id) => Option.toArray(Table.get(rows.deliveries, organization_id, id)))
            .toSorted((a, b) => byAge(b, a))
            .slice(0, limit)
        ),
      load: (organization_id, id) =>
        world.read((rows) =>
          Option.gen(function*() {
            const delivery = yield* Table.get(rows.deliveries, organization_id, id)
            const event = yield* Table.get(rows.events, organization_id, delivery.event_id)
            const webhook = yield* Table.get(rows.webhooks, organization_id, delivery.webhook_id)
            return { delivery, body: event.body, webhook }
          })
        ),
      // A unit of work has the turn to itself, so reading is locking.
      lock: (organization_id, id) => world.read((rows) => Table.get(rows.deliveries, organization_id, id)),
      update: (organization_id, delivery) =>
        world.modify((rows) => [
          undefined,
          Table.has(rows.deliveries, organization_id, delivery.id)
            ? { ...rows, deliveries: Table.set(rows.deliveries, organization_id, delivery.id, delivery) }
            : rows
        ])
    })
  })
)
