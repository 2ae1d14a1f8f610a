import { IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { Layer, Option, Struct } from "effect"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"
import { IdempotencyRows } from "./PrivateTables.ts"

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
        modify((state) => {
          const [old, tables] = Table.purge(
            state.tables,
            IdempotencyRows,
            ({ created_at }) => created_at,
            before,
            limit
          )
          return [old.length, { ...state, tables }]
        })
    })
  )
)
