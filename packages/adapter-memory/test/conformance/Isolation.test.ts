import { layer } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import { isolationSuite, StoredRows } from "@messaging-crm/conformance/Isolation"
import { Effect, HashMap, Layer, Predicate } from "effect"

const isContainer = (value: object) => Object.values(value).some(HashMap.isHashMap)

/** Returns every row of a part of the world. The rows of an organization in a table get its ID. */
const rowsOf = (
  table: string,
  value: unknown,
  keys: ReadonlyArray<unknown> = []
): ReadonlyArray<{ readonly table: string; readonly row: Readonly<Record<string, unknown>> }> => {
  if (HashMap.isHashMap(value)) {
    const entries = HashMap.toEntries(value)
    return entries.flatMap(([key, child]) =>
      HashMap.isHashMap(child) && keys.length === 0
        ? rowsOf(String(key), child, [key])
        : rowsOf(table, child, [...keys, key])
    )
  }
  if (Array.isArray(value)) return value.flatMap((child) => rowsOf(table, child, keys))
  if (Predicate.isObject(value) && isContainer(value)) {
    return Object.entries(value).flatMap(([name, child]) => rowsOf(name, child))
  }
  return [{ table, row: Predicate.isObject(value) ? { keys, ...value } : { keys, value } }]
}

const storedRows = Layer.effect(
  StoredRows,
  World.useSync(({ modify, read }) =>
    StoredRows.of({
      all: read((state) => rowsOf("world", state)),
      // Each organization has tables of its own.
      copy: () => Effect.void,
      save: Effect.map(read((state) => state), (state) => modify(() => [undefined, state]))
    })
  )
)

isolationSuite("memory", Layer.provideMerge(storedRows, layer))
