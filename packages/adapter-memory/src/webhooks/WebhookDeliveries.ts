import { WebhookDeliveryRows, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { Layer, Option } from "effect"
import { EventRows } from "../work/EventRows.ts"
import { newest } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that reads deliveries in the in-memory world. */
export const layer = Layer.effect(
  WebhookDeliveryStore,
  World.useSync(({ read }) =>
    WebhookDeliveryStore.of({
      list: (organization_id, webhook_id, limit) =>
        read(({ tables }) =>
          newest(
            Table.all(tables, WebhookDeliveryRows, organization_id).filter((row) => row.webhook_id === webhook_id),
            limit
          ).map(Table.plain)
        ),
      load: (organization_id, id) =>
        read(({ tables }) =>
          Option.gen(function*() {
            const delivery = yield* Table.get(tables, WebhookDeliveryRows, organization_id, id)
            const { body } = yield* Table.get(tables, EventRows, organization_id, delivery.event_id)
            const webhook = yield* Table.get(tables, WebhookRows, organization_id, delivery.webhook_id)
            return { delivery, body, webhook }
          })
        )
    })
  )
)
