import { type CommittedEvent, EventStore, type ListedEvent, type StoredEvent } from "@messaging-crm/core/Events"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { Array, DateTime, Layer, Order, Struct } from "effect"
import { type EventColumns, EventRows } from "../work/PrivateTables.ts"
import { byAge, first, page, positionOf } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

const toListed = (row: EventColumns): ListedEvent => Struct.pick(row, ["id", "type", "body", "created_at"])
const toStored = (row: EventColumns): StoredEvent => ({ ...toListed(row), full_body: row.full_body })

const toCommitted = (row: EventColumns): CommittedEvent => ({ ...toListed(row), commit: String(row.committed_in) })

const byCommit = Order.Struct({ committed_in: Order.Number, id: Order.String })
const isBefore = Order.isLessThan(byCommit)

/** Layer that keeps events in the in-memory world. */
export const layer = Layer.effect(
  EventStore,
  World.useSync(({ modify, read }) =>
    EventStore.of({
      list: (organization_id, { since, types }, request) =>
        read(({ tables }) =>
          page(
            Table.all(tables, EventRows, organization_id).filter(({ created_at, type }) =>
              types.some((listed) => listed === type) &&
              (since === null || DateTime.isGreaterThanOrEqualTo(created_at, since))
            ),
            request,
            positionOf
          ).map(toListed)
        ),
      next: (organization_id, { types, until }, { after, size }) =>
        read(({ tables }) =>
          Table.all(tables, EventRows, organization_id)
            .filter(({ created_at, id, type }) =>
              types.some((listed) => listed === type) && DateTime.isLessThan(created_at, until) &&
              (DateTime.isGreaterThan(created_at, after.at) ||
                (DateTime.Equivalence(created_at, after.at) && id > after.id))
            )
            .toSorted(byAge)
            .slice(0, size)
            .map(toStored)
        ),
      committed: (organization_id, { from: { commit, id }, size }) =>
        read(({ tables }) =>
          first(
            Table.all(tables, EventRows, organization_id).filter((row) =>
              !isBefore(row, { committed_in: Number(commit), id })
            ),
            size,
            byCommit
          ).map(toCommitted)
        ),
      haveNext: (positions) =>
        read(({ tables }) =>
          positions.map(({ commit, id, organization_id }) =>
            Table.all(tables, EventRows, organization_id).some((row) =>
              isBefore({ committed_in: Number(commit), id }, row)
            )
          )
        ),
      lastCommitted: (organization_id) =>
        read(({ tables }) =>
          Array.head(first(Table.all(tables, EventRows, organization_id), 1, Order.flip(byCommit)).map(toCommitted))
        ),
      purge: (before, limit) =>
        modify((state) => {
          const [old, remaining] = Table.purge(state.tables, EventRows, ({ created_at }) => created_at, before, limit)
          const event_ids = new Set<string>(old.map(({ id }) => id))
          const deliveries = Table.allOfEveryOwner(remaining, WebhookDeliveryRows)
            .filter(({ row }) => event_ids.has(row.event_id))
          return [old.length, { ...state, tables: Table.removeAll(remaining, WebhookDeliveryRows, deliveries) }]
        })
    })
  )
)
