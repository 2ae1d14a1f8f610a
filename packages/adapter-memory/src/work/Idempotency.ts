import type * as Changes from "@messaging-crm/core/Changes"
import { IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { DateTime, Layer, Option, Struct } from "effect"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

export const IdempotencyRows = Table.own<Changes.RecordedResponse>("idempotency")("key")

/** Layer that keeps idempotency records in the in-memory world. */
export const layer = Layer.effect(
  IdempotencyStore,
  World.useSync(({ modify, read }) =>
    IdempotencyStore.of({
      find: (organization_id, key) =>
        read(({ tables }) =>
          Option.map(
            Table.get(tables, IdempotencyRows, organization_id, key),
            Struct.omit(["created_at", "key", "version"])
          )
        ),
      purge: (before, limit) =>
        modify((rows) => {
          const isOld = ({ created_at }: Changes.RecordedResponse) => DateTime.isLessThan(created_at, before)
          const [old, tables] = Table.purge(rows.tables, IdempotencyRows, isOld, limit)
          return [old.length, { ...rows, tables }]
        })
    })
  )
)
