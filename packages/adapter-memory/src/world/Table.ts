/**
 * The rows of every table that core declares, by table, owner and key. The
 * owner comes before the key in every call, so that a row of one organization
 * cannot be reached with the ID of another.
 */
import * as Changes from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type * as Declared from "@messaging-crm/core/Table"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, HashMap, Option } from "effect"

interface Stored {
  readonly version: Changes.Version
}

/** A declaration of a table, such as `TagRows`: its name and key, and through `insert` the type of its rows. */
export interface TableRef<Columns> {
  readonly table: Declared.Table
  readonly insert?: (row: Columns) => Changes.Changes
}

export type Row<Columns> = Columns & Stored

/** Declares a table that only this store has, and that no change of core writes. */
export const privateTable =
  <Columns extends object>(name: string) => <const KeyColumn extends keyof Columns & string>(key: KeyColumn) =>
    Changes.tableChanges<Columns, KeyColumn>({
      name,
      key: { [key]: "text" },
      columns: [],
      unique: null,
      activity: null,
      owner: "organization_id",
      reading: null
    })

/** A row with the organization that owns it. */
export interface Owned<Columns> {
  readonly organization_id: OrganizationId
  readonly row: Row<Columns>
}

/** Returns a row without its version. */
export const plain = <Columns extends object>({ version: _version, ...columns }: Row<Columns>) => columns

type RowsByKey<Columns> = HashMap.HashMap<string, Row<Columns>>

export interface Tables {
  readonly rows: HashMap.HashMap<string, HashMap.HashMap<OrganizationId, RowsByKey<object>>>
  /** The unique index: from the values that must be unique to the key of the row that has them. */
  readonly unique: HashMap.HashMap<string, { readonly organization_id: OrganizationId; readonly key: string }>
}

export const empty: Tables = { rows: HashMap.empty(), unique: HashMap.empty() }

// Every row is an object of columns, whatever its static type.
export const columnsOf = (row: object) => row as Readonly<Record<string, unknown>>

/** Returns the unique values of a row as one text; null if none of its values have to be unique. */
const uniqueOf = ({ table: { name, unique } }: TableRef<never>, owner: OrganizationId, row: object): string | null => {
  if (unique === null) return null
  const values = columnsOf(row)
  if (unique.while_null !== undefined && values[unique.while_null] !== null) return null
  const within = unique.within === "organization" ? [owner] : []
  return [name, ...within, ...unique.columns.map((column) => values[column])].join("|")
}

/** Returns the key columns of a row as one text. */
export const keyOf = ({ table }: TableRef<never>, row: object): string =>
  Object.keys(table.key).map((column) => columnsOf(row)[column]).join("|")

const rowsByOwner = <Columns>({ rows }: Tables, { table }: TableRef<Columns>) =>
  // A table holds only rows that were inserted with its own type.
  Option.getOrElse(HashMap.get(rows, table.name), HashMap.empty) as HashMap.HashMap<OrganizationId, RowsByKey<Columns>>

const rowsByKey = <Columns>(tables: Tables, ref: TableRef<Columns>, owner: OrganizationId): RowsByKey<Columns> =>
  Option.getOrElse(HashMap.get(rowsByOwner(tables, ref), owner), () => HashMap.empty())

export const get = <Columns>(
  tables: Tables,
  ref: TableRef<Columns>,
  owner: OrganizationId,
  ...key: ReadonlyArray<string>
): Option.Option<Row<Columns>> => HashMap.get(rowsByKey(tables, ref, owner), key.join("|"))

export const has = (
  tables: Tables,
  ref: TableRef<never>,
  owner: OrganizationId,
  ...key: ReadonlyArray<string>
): boolean => HashMap.has(rowsByKey(tables, ref, owner), key.join("|"))

/** Returns every row of an owner, in no order. */
export const all = <Columns>(
  tables: Tables,
  ref: TableRef<Columns>,
  owner: OrganizationId
): ReadonlyArray<Row<Columns>> => HashMap.toValues(rowsByKey(tables, ref, owner))

/** Returns every row of every owner, in no order. */
export const allOfEveryOwner = <Columns>(tables: Tables, ref: TableRef<Columns>): ReadonlyArray<Owned<Columns>> =>
  HashMap.toEntries(rowsByOwner(tables, ref)).flatMap(([organization_id, rows]) =>
    HashMap.toValues(rows).map((row) => ({ organization_id, row }))
  )

/** Returns the row with a key, of any owner. */
export const locateByKey = <Columns>(
  tables: Tables,
  ref: TableRef<Columns>,
  key: string
): Option.Option<Owned<Columns>> =>
  Option.flatMap(
    HashMap.findFirst(rowsByOwner(tables, ref), (rows) => HashMap.has(rows, key)),
    ([organization_id, rows]) => Option.map(HashMap.get(rows, key), (row) => ({ organization_id, row }))
  )

/** Returns the row with some unique values. The owner is the first of them where they are unique within an organization. */
export const findByUnique = <Columns>(
  tables: Tables,
  ref: TableRef<Columns>,
  ...values: ReadonlyArray<string>
): Option.Option<Owned<Columns>> =>
  Option.flatMap(
    HashMap.get(tables.unique, [ref.table.name, ...values].join("|")),
    ({ key, organization_id }) =>
      Option.map(get(tables, ref, organization_id, key), (row) => ({ organization_id, row }))
  )

export const remove = (
  tables: Tables,
  ref: TableRef<never>,
  owner: OrganizationId,
  ...key: ReadonlyArray<string>
): Tables => {
  const row = get(tables, ref, owner, ...key)
  if (Option.isNone(row)) return tables
  const unique = uniqueOf(ref, owner, row.value)
  const rest = HashMap.remove(rowsByKey(tables, ref, owner), key.join("|"))
  const others = HashMap.isEmpty(rest)
    ? HashMap.remove(rowsByOwner(tables, ref), owner)
    : HashMap.set(rowsByOwner(tables, ref), owner, rest)
  return {
    rows: HashMap.set(tables.rows, ref.table.name, others),
    unique: unique === null ? tables.unique : HashMap.remove(tables.unique, unique)
  }
}

/** Inserts a row, or replaces the one with its key. Returns none if another row has its unique values. */
export const put = <Columns extends object>(
  tables: Tables,
  ref: TableRef<Columns>,
  owner: OrganizationId,
  row: Row<Columns>
): Option.Option<Tables> => {
  const key = keyOf(ref, row)
  const others = remove(tables, ref, owner, key)
  const unique = uniqueOf(ref, owner, row)
  if (unique !== null && HashMap.has(others.unique, unique)) return Option.none()
  const rows = HashMap.set(rowsByOwner(others, ref), owner, HashMap.set(rowsByKey(others, ref, owner), key, row))
  return Option.some({
    rows: HashMap.set(others.rows, ref.table.name, rows),
    unique: unique === null ? others.unique : HashMap.set(others.unique, unique, { organization_id: owner, key })
  })
}

/** Changes columns of a row, if it exists. Unique values must stay the same. */
export const change = <Columns extends object>(
  tables: Tables,
  ref: TableRef<Columns>,
  owner: OrganizationId,
  key: string,
  changeRow: (row: Row<Columns>) => Row<Columns>
): Tables =>
  Option.match(get(tables, ref, owner, key), {
    onNone: () => tables,
    onSome: (row) => Option.getOrThrow(put(tables, ref, owner, changeRow(row)))
  })

/** Returns at most `limit` rows with a time before another one, the oldest first. A row without a time is left out. */
export const oldest = <Columns>(
  rows: ReadonlyArray<Owned<Columns>>,
  timeOf: (row: Row<Columns>) => Timestamp | null,
  before: Timestamp,
  limit: number
): ReadonlyArray<Owned<Columns>> =>
  rows
    .flatMap((owned) => {
      const at = timeOf(owned.row)
      return at !== null && DateTime.isLessThan(at, before) ? [{ owned, at }] : []
    })
    .toSorted((a, b) => DateTime.Order(a.at, b.at))
    .slice(0, limit)
    .map(({ owned }) => owned)

/** Removes rows of any owner. */
export const removeAll = <Columns extends object>(
  tables: Tables,
  ref: TableRef<Columns>,
  rows: ReadonlyArray<Owned<Columns>>
): Tables =>
  rows.reduce((remaining, { organization_id, row }) => remove(remaining, ref, organization_id, keyOf(ref, row)), tables)

/** Removes the rows of any owner that `oldest` returns. Returns the removed rows and the remaining tables. */
export const purge = <Columns extends object>(
  tables: Tables,
  ref: TableRef<Columns>,
  timeOf: (row: Row<Columns>) => Timestamp | null,
  before: Timestamp,
  limit: number
): readonly [ReadonlyArray<Row<Columns>>, Tables] => {
  const old = oldest(allOfEveryOwner(tables, ref), timeOf, before, limit)
  return [old.map(({ row }) => row), removeAll(tables, ref, old)]
}
