import { StorageUseStore } from "@messaging-crm/core/StorageUse"
import { DateTime, Layer } from "effect"
import { type StorageUseRow, World } from "../world/World.ts"

/** Layer that keeps the sums of stored bytes in the in-memory world. */
export const layer = Layer.effect(
  StorageUseStore,
  World.useSync(({ modify }) =>
    StorageUseStore.of({
      add: (organization_id, { bytes, expires_at }, now) =>
        modify((state) => {
          const isSame = (row: StorageUseRow) =>
            row.organization_id === organization_id && DateTime.Equivalence(row.expires_at, expires_at)
          const current = state.storage_use.find(isSame)
          const others = state.storage_use.filter((row) => !isSame(row))
          const storage_use = bytes === 0
            ? state.storage_use
            : [...others, { organization_id, expires_at, bytes: (current?.bytes ?? 0) + bytes }]
          const live = storage_use.filter((row) =>
            row.organization_id === organization_id && DateTime.isGreaterThan(row.expires_at, now)
          )
          return [live.reduce((sum, row) => sum + row.bytes, 0), { ...state, storage_use }]
        }),
      purge: (before, limit) =>
        modify((state) => {
          const isExpired = (row: StorageUseRow) => DateTime.isLessThan(row.expires_at, before)
          const oldest = state.storage_use.filter(isExpired).toSorted((a, b) =>
            DateTime.Order(a.expires_at, b.expires_at)
          )
          const expired = new Set(oldest.slice(0, limit))
          return [expired.size, { ...state, storage_use: state.storage_use.filter((row) => !expired.has(row)) }]
        })
    })
  )
)
