/** Rows: how the rows of small tables are read, such as those of tags and channels. */
import { Context, type Effect, type Option, Struct } from "effect"
import type { OwnStruct } from "../kernel/Codecs.ts"
import type { OrganizationId } from "../kernel/Ids.ts"
import { type TableChanges, tableChanges, type Version } from "./Changes.ts"
import { type Declaration, type Reading, type Table, tableOf } from "./Table.ts"

// ---------------------------------------------------------------- data

/** A row with its version. */
export type Row<Columns> = Columns & { readonly version: Version }

/** A row with the organization that owns it. */
export interface OwnedRow<Columns> {
  readonly organization_id: OrganizationId
  readonly row: Row<Columns>
}

/** A table that `Rows` reads. */
export interface ReadTable extends Table {
  readonly reading: Reading
}

/** Returns whether `Rows` reads a table. */
export const isRead = (table: Table): table is ReadTable => table.reading !== null

/** The changes of a table that `Rows` reads. */
export interface ReadableRows<Columns extends object, KeyColumn extends keyof Columns & string>
  extends TableChanges<Columns, KeyColumn>
{
  readonly table: ReadTable
}

/** Declares a table that `Rows` reads, with the schema of its columns. Its key is one ID. */
export const declareRows = <S extends OwnStruct>(schema: S) =>
<const KeyColumn extends keyof S["Type"] & string>(
  { list, ...declaration }: Declaration<keyof S["Type"] & string, KeyColumn> & {
    readonly list: Omit<Reading<keyof S["Type"] & string>, "schema">
  }
): ReadableRows<S["Type"], KeyColumn> =>
  tableChanges<S["Type"], KeyColumn, ReadTable>({ ...tableOf(schema, declaration), reading: { schema, ...list } })

/** Makes the function that returns the resource in a row: the fields of its schema. */
export const pickFields = <const Fields extends OwnStruct["fields"]>({ fields }: { readonly fields: Fields }) => {
  const names = Struct.keys(fields)
  return <Columns extends { readonly [Name in keyof Fields]: Fields[Name]["Type"] }>(row: Columns) =>
    Struct.pick(row, names)
}

// ---------------------------------------------------------------- port

/**
 * Port: reads the rows of each table that `declareRows` declares. Commits write them.
 *
 * **Contract** (checked by `conformance/Ports/Rows.ts`)
 *
 * - `find` returns the row with an ID as it was last committed.
 * - `findMany` returns those of the given rows that exist, each once, in the order of the table.
 * - `list` returns the rows of the organization, in the order of the table.
 * - These three return no row of another organization.
 * - `locate` returns a row of any organization, for a caller that knows its ID only.
 */
export class Rows extends Context.Service<Rows, {
  readonly find: <Columns extends object, KeyColumn extends keyof Columns & string>(
    rows: ReadableRows<Columns, KeyColumn>,
    organization_id: OrganizationId,
    id: Columns[KeyColumn]
  ) => Effect.Effect<Option.Option<Row<Columns>>>
  readonly findMany: <Columns extends object, KeyColumn extends keyof Columns & string>(
    rows: ReadableRows<Columns, KeyColumn>,
    organization_id: OrganizationId,
    ids: ReadonlyArray<Columns[KeyColumn]>
  ) => Effect.Effect<ReadonlyArray<Row<Columns>>>
  readonly list: <Columns extends object, KeyColumn extends keyof Columns & string>(
    rows: ReadableRows<Columns, KeyColumn>,
    organization_id: OrganizationId
  ) => Effect.Effect<ReadonlyArray<Row<Columns>>>
  readonly locate: <Columns extends object, KeyColumn extends keyof Columns & string>(
    rows: ReadableRows<Columns, KeyColumn>,
    id: Columns[KeyColumn]
  ) => Effect.Effect<Option.Option<OwnedRow<Columns>>>
}>()("@messaging-crm/core/Rows") {}
