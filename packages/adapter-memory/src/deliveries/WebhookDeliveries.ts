import { type OrganizationId, WebhookDeliveryId } from "@messaging-crm/core/Ids"
import { type Outgoing, WebhookDeliveryRows, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { Layer, Option } from "effect"
import { claimWork } from "../work/Claims.ts"
import { EventRows } from "../work/PrivateTables.ts"
import { newest } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

const load = (
  tables: Table.Tables,
  organization_id: OrganizationId,
  id: WebhookDeliveryId
): Option.Option<Outgoing> =>
  Option.gen(function*() {
    const delivery = yield* Table.get(tables, WebhookDeliveryRows, organization_id, id)
    const { body, full_body } = yield* Table.get(tables, EventRows, organization_id, delivery.event_id)
    const webhook = yield* Table.get(tables, WebhookRows, organization_id, delivery.webhook_id)
    return { delivery, body, full_body, webhook }
  })

/** Layer that reads deliveries in the in-memory world. */
export const layer = Layer.effect(
  WebhookDeliveryStore,
  World.useSync(({ modify, read }) =>
    WebhookDeliveryStore.of({
      list: (organization_id, webhook_id, limit) =>
        read(({ tables }) =>
          newest(
            Table.all(tables, WebhookDeliveryRows, organization_id).filter((row) => row.webhook_id === webhook_id),
            limit
          ).map(Table.plain)
        ),
      load: (organization_id, id) => read(({ tables }) => load(tables, organization_id, id)),
      claim: (claim) =>
        modify((state) => {
          const [items, queue] = claimWork(state.queue, claim)
          const deliveries = items.map((item) => ({
            claimed: item,
            outgoing: Option.getOrNull(load(state.tables, item.organization_id, WebhookDeliveryId.make(item.ref)))
          }))
          return [deliveries, { ...state, queue }]
        })
    })
  )
)
