import {
  type CommitPosition,
  type CommittedEvent,
  EventStore,
  type ListedEvent,
  type StoredEvent
} from "@messaging-crm/core/Events"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { Array, DateTime, HashMap, Layer, Option, Struct } from "effect"
import { type EventColumns, EventRows } from "../work/PrivateTables.ts"
import * as Log from "../world/Log.ts"
import { byAge, page, positionOf } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { type CommittedId, World, type WorldState } from "../world/World.ts"

const toListed = (row: EventColumns): ListedEvent => Struct.pick(row, ["id", "type", "body", "created_at"])
const toStored = (row: EventColumns): StoredEvent => ({ ...toListed(row), full_body: row.full_body })

const toCommitted = (row: EventColumns): CommittedEvent => ({ ...toListed(row), commit: String(row.committed_in) })

const isBefore = (one: CommittedId, { commit, id }: CommitPosition): boolean =>
  one.committed_in === Number(commit) ? one.id < id : one.committed_in < Number(commit)

const orderOf = ({ event_order }: WorldState, owner: OrganizationId) =>
  Option.getOrElse(HashMap.get(event_order, owner), Log.empty<CommittedId>)

/** Returns the stored events with some IDs. */
const stored = ({ tables }: WorldState, owner: OrganizationId, ids: ReadonlyArray<CommittedId>) =>
  ids.flatMap(({ id }) => Option.toArray(Option.map(Table.get(tables, EventRows, owner, id), toCommitted)))

/** Layer that keeps events in the in-memory world. */
export const layer = Layer.effect(
  EventStore,
  World.useSync(({ modify, read }) =>
    EventStore.of({
      find: (organization_id, id) =>
        read(({ tables }) => Option.map(Table.get(tables, EventRows, organization_id, id), toListed)),
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
      committed: (organization_id, { from, size }) =>
        read((state) =>
          stored(
            state,
            organization_id,
            Log.from(orderOf(state, organization_id), (each) => isBefore(each, from), size)
          )
        ),
      haveNext: (positions) =>
        read((state) =>
          positions.map((position) => {
            const last = Log.last(orderOf(state, position.organization_id))
            return last !== undefined && last.id !== position.id && !isBefore(last, position)
          })
        ),
      lastCommitted: (organization_id) =>
        read((state) => {
          const last = Log.last(orderOf(state, organization_id))
          return Array.head(stored(state, organization_id, last === undefined ? [] : [last]))
        }),
      purge: (before, limit) =>
        modify((state) => {
          const [old, remaining] = Table.purge(state.tables, EventRows, ({ created_at }) => created_at, before, limit)
          const event_ids = new Set<string>(old.map(({ id }) => id))
          const deliveries = Table.allOfEveryOwner(remaining, WebhookDeliveryRows)
            .filter(({ row }) => event_ids.has(row.event_id))
          const event_order = old.length === 0
            ? state.event_order
            : HashMap.map(state.event_order, (log) => Log.filter(log, ({ id }) => !event_ids.has(id)))
          const tables = Table.removeAll(remaining, WebhookDeliveryRows, deliveries)
          return [old.length, { ...state, event_order, tables }]
        })
    })
  )
)
