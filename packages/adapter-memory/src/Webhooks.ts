import { OrganizationId } from "@messaging-crm/core/Ids"
import { abandoned } from "@messaging-crm/core/WebhookDeliveries"
import { type WebhookRow, WebhookStore } from "@messaging-crm/core/Webhooks"
import { Effect, HashMap, Layer, Option } from "effect"
import { byAge } from "./Order.ts"
import * as Table from "./Table.ts"
import { type Rows, World } from "./World.ts"

const put = (rows: Rows, organization_id: string, row: WebhookRow): Rows => ({
  ...rows,
  webhooks: Table.set(rows.webhooks, organization_id, row.webhook.id, row)
})

/** Layer that keeps webhooks in the in-memory world. */
export const layer = Layer.effect(
  WebhookStore,
  Effect.gen(function*() {
    const world = yield* World

    return WebhookStore.of({
      insert: (organization_id, row) => world.modify((rows) => [undefined, put(rows, organization_id, row)]),
      list: (organization_id, limit) =>
        world.read((rows) =>
          Table.all(rows.webhooks, organization_id)
            .map(({ webhook }) => webhook)
            .toSorted((a, b) => byAge(b, a))
            .slice(0, limit)
        ),
      find: (organization_id, id) => world.read((rows) => Table.get(rows.webhooks, organization_id, id)),
      // A unit of work has the turn to itself, so reading is locking.
      lock: (organization_id, id) => world.read((rows) => Table.get(rows.webhooks, organization_id, id)),
      update: (organization_id, { consecutive_failures, first_failure_at, webhook }) =>
        world.modify((rows) => {
          const found = Table.get(rows.webhooks, organization_id, webhook.id)
          if (Option.isNone(found)) return [undefined, rows]
          const { disabled_at, status } = webhook
          const changed = { ...found.value, consecutive_failures, first_failure_at }
          return [
            undefined,
            put(rows, organization_id, { ...changed, webhook: { ...found.value.webhook, disabled_at, status } })
          ]
        }),
      abandon: (organization_id, id, limit) =>
        world.modify((rows) => {
          const deliveries = Table.all(rows.webhook_deliveries, `${organization_id}|${id}`)
            .flatMap((delivery_id) => Option.toArray(Table.get(rows.deliveries, organization_id, delivery_id)))
            .filter(({ status }) => status === "pending")
            .toSorted((a, b) => byAge(b, a))
            .slice(0, limit)
            .reduce(
              (all, delivery) => Table.set(all, organization_id, delivery.id, abandoned(delivery)),
              rows.deliveries
            )
          return [undefined, { ...rows, deliveries }]
        }),
      sealedOtherwise: (prefix, limit) =>
        world.read((rows) =>
          Array.from(rows.webhooks).flatMap(([organization_id, webhooks]) =>
            Array.from(HashMap.values(webhooks))
              .filter(({ sealed_secret, webhook }) => webhook.status === "active" && !sealed_secret.startsWith(prefix))
              .map(({ sealed_secret, webhook }) => ({
                organization_id: OrganizationId.make(organization_id),
                id: webhook.id,
                sealed_secret
              }))
          ).slice(0, limit)
        ),
      reseal: (organization_id, id, before, sealed_secret) =>
        world.modify((rows) => {
          const found = Table.get(rows.webhooks, organization_id, id)
          if (Option.isNone(found) || found.value.sealed_secret !== before) return [undefined, rows]
          return [undefined, put(rows, organization_id, { ...found.value, sealed_secret })]
        })
    })
  })
)
