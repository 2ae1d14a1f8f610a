import { type ReadTable, Rows } from "@messaging-crm/core/Rows"
import { byCodePoint } from "@messaging-crm/core/Text"
import { DateTime, Layer, Order } from "effect"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Compares two times, or two texts by code point. */
const compare: Order.Order<unknown> = (a, b) =>
  DateTime.isDateTime(a) && DateTime.isDateTime(b) ? DateTime.Order(a, b) : byCodePoint(String(a), String(b))

const orderOf = ({ reading }: ReadTable): Order.Order<object> =>
  Order.combineAll(
    reading.order.map((column) => Order.mapInput(compare, (row: object) => Table.columnsOf(row)[column]))
  )

const isListed = ({ reading: { while_null } }: ReadTable) => (row: object): boolean =>
  while_null === undefined || Table.columnsOf(row)[while_null] === null

/** Layer that reads rows of the in-memory world. */
export const layer = Layer.effect(
  Rows,
  World.useSync(({ read }) =>
    Rows.of({
      find: (rows, organization_id, id) => read(({ tables }) => Table.get(tables, rows, organization_id, String(id))),
      findMany: (rows, organization_id, ids) =>
        read(({ tables }) => {
          const wanted = new Set(ids.map(String))
          return Table.all(tables, rows, organization_id)
            .filter((row) => wanted.has(Table.keyOf(rows, row)))
            .toSorted(orderOf(rows.table))
        }),
      list: (rows, organization_id) =>
        read(({ tables }) =>
          Table.all(tables, rows, organization_id).filter(isListed(rows.table)).toSorted(orderOf(rows.table))
        ),
      locate: (rows, id) => read(({ tables }) => Table.locateByKey(tables, rows, String(id)))
    })
  )
)
