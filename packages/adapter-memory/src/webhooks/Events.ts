import type { RaisedEvent } from "@messaging-crm/core/Changes"
import { EventStore } from "@messaging-crm/core/Events"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { DateTime, Layer } from "effect"
import { EventRows } from "../work/EventRows.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps events in the in-memory world. */
export const layer = Layer.effect(
  EventStore,
  World.useSync(({ modify }) =>
    EventStore.of({
      purge: (before, limit) =>
        modify((rows) => {
          const isOld = ({ created_at }: RaisedEvent) => DateTime.isLessThan(created_at, before)
          const [old, left] = Table.purge(rows.tables, EventRows, isOld, limit)
          const gone = new Set<string>(old.map(({ id }) => id))
          const [, tables] = Table.purge(left, WebhookDeliveryRows, ({ event_id }) => gone.has(event_id), Infinity)
          return [old.length, { ...rows, tables }]
        })
    })
  )
)
