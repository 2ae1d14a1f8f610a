import { MediaRows, MediaStore } from "@messaging-crm/core/Media"
import { DateTime, Layer, Option } from "effect"
import { BytesRows, type StoredBytes } from "../work/PrivateTables.ts"
import * as Table from "../world/Table.ts"
import { World, type WorldState } from "../world/World.ts"

/** Removes the bytes of files without a row. */
const discardBytes = (tables: Table.Tables, stored: ReadonlyArray<Table.Owned<StoredBytes>>) => {
  const unfinished = stored.filter(({ organization_id, row }) => !Table.has(tables, MediaRows, organization_id, row.id))
  return [
    unfinished.length,
    unfinished.reduce(
      (remaining, { organization_id, row }) => Table.remove(remaining, BytesRows, organization_id, row.id),
      tables
    )
  ] as const
}

/** Layer that keeps the files of messages in the in-memory world. */
export const layer = Layer.effect(
  MediaStore,
  World.useSync(({ modify, read }) => {
    const changeTables = (change: (tables: Table.Tables) => Table.Tables) =>
      modify((state: WorldState) => [undefined, { ...state, tables: change(state.tables) }])

    return MediaStore.of({
      find: (organization_id, id) =>
        read(({ tables }) => Option.map(Table.get(tables, MediaRows, organization_id, id), Table.plain)),
      read: (organization_id, id, { length, start }) =>
        read(({ tables }) =>
          Option.gen(function*() {
            yield* Table.get(tables, MediaRows, organization_id, id)
            const { slices } = yield* Table.get(tables, BytesRows, organization_id, id)
            const slice = yield* Option.fromUndefinedOr(slices.findLast((slice) => slice.start <= start))
            const bytes = slice.bytes.subarray(start - slice.start, start - slice.start + length)
            return yield* bytes.byteLength === 0 ? Option.none() : Option.some(bytes)
          })
        ),
      begin: (organization_id, id, begun_at) =>
        changeTables((tables) =>
          Option.getOrThrow(Table.put(tables, BytesRows, organization_id, { id, begun_at, slices: [], version: 1 }))
        ),
      append: (organization_id, id, slice) =>
        changeTables((tables) =>
          Table.change(tables, BytesRows, organization_id, id, (row) => ({ ...row, slices: [...row.slices, slice] }))
        ),
      discard: (organization_id, id) =>
        changeTables((tables) =>
          Option.match(Table.get(tables, BytesRows, organization_id, id), {
            onNone: () => tables,
            onSome: (row) => discardBytes(tables, [{ organization_id, row }])[1]
          })
        ),
      purgeUnfinished: (before, limit) =>
        modify((state) => {
          const old = Table.allOfEveryOwner(state.tables, BytesRows)
            .filter(({ row }) => DateTime.isLessThan(row.begun_at, before))
            .filter(({ organization_id, row }) => !Table.has(state.tables, MediaRows, organization_id, row.id))
          const [count, tables] = discardBytes(state.tables, old.slice(0, limit))
          return [count, { ...state, tables }]
        })
    })
  })
)
