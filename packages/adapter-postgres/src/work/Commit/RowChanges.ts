/** Rows of the resources' tables: expected, removed, updated, touched and inserted. */
import { type Activity, type Expectation, type Removal, touchedId, type Update } from "@messaging-crm/core/Changes"
import { MediaRows } from "@messaging-crm/core/Media"
import { type ActivityPart, lock_order, type Table } from "@messaging-crm/core/Table"
import { tables } from "@messaging-crm/core/Tables"
import { withTextTimes } from "@messaging-crm/core/Timestamps"
import { Record } from "effect"
import { inOrder, isAmong, type Owned, type Part, type Values } from "./Part.ts"

// ------------------------------------------------------- assignment

// The assignment of an update: to the columns of a row that changes set, and to those that an activity changes. `stored` is the row
// before the statement, `updated` the row with the fields that the changes set, and `given` has both the fields and the activity,
// `touch`. Each is null if the row is only touched, or only updated.

/** The tables with activity. */
export const tables_with_activity = Object.values(tables).filter(({ activity }) => activity !== null)

/** SQL expressions by the column that each is assigned to. */
type Expressions = Readonly<Record<string, string>>

/** The row whose values remain if the activity does not replace them. */
type Before = "stored" | "updated"

const part_types: Readonly<Record<ActivityPart, string>> = {
  at: "timestamptz",
  conversation_id: "uuid",
  last_inbound_at: "timestamptz",
  preview: "text"
}

/** Returns the value of a part of the activity. */
const valueOf = (part: ActivityPart = "at"): string => `(given.touch ->> '${part}')::${part_types[part]}`

/** Returns the latest of the times of a column. If the update removes the stored time, only that of the activity counts. */
const latestOf = (before: Before, column: string, value: string): string =>
  `CASE WHEN ${before}.${column} IS NULL THEN ${value}
          ELSE greatest(stored.${column}, ${before}.${column}, ${value}) END`

/** Returns the expressions that move times forward. */
const movedTimes = (table: Table, before: Before): Expressions => {
  const { activity } = table
  return activity === null ? {} : Record.map(
    { [activity.latest]: "at" as const, ...activity.moved },
    (part, column) => latestOf(before, column, valueOf(part))
  )
}

/** Returns the expressions that replace values, unless the row has a later activity. */
const replacedValues = (table: Table, before: Before): Expressions => {
  const { activity } = table
  if (activity === null) return {}
  const { latest, newest } = activity
  const remains = `given.touch IS NULL OR stored.${latest} > ${valueOf()}`
  return Record.map(newest, (part, column) =>
    `CASE WHEN ${remains} THEN ${before}.${column}
          ELSE ${valueOf(part)} END`)
}

/** Returns the columns that a statement sets in a row, and their values. Without fields to set, it sets only those of the activity. */
const assignmentOf = (table: Table, hasFields: boolean): string => {
  const before = hasFields ? "updated" : "stored"
  const assigned: Expressions = {
    ...(hasFields ? Object.fromEntries(table.columns.map((column) => [column, `updated.${column}`])) : {}),
    ...movedTimes(table, before),
    ...replacedValues(table, before),
    version: "stored.version + (given.fields IS NOT NULL)::integer"
  }
  const expressions = Object.values(assigned).join(",\n        ")
  const row = hasFields
    ? `(
      SELECT
        ${expressions}
      FROM jsonb_populate_record(stored, coalesce(given.fields, '{}')) updated
    )`
    : `ROW (
        ${expressions}
    )`
  return `(${Object.keys(assigned).join(", ")}) = ${row}`
}

// -------------------------------------------------------------- rows

/** Returns the rank of a table in the order of locks. */
const rankOf = ({ name }: Table): number => lock_order.findIndex((each) => each === name)

/** Sorts tables in the order of locks. */
export const inLockOrder = <A>(all: ReadonlyArray<A>, tableOf: (each: A) => Table): ReadonlyArray<A> =>
  all.toSorted((a, b) => rankOf(tableOf(a)) - rankOf(tableOf(b)))

const keyTypes = ({ key }: Table): string =>
  ["organization_id uuid", ...Object.entries(key).map(([column, type]) => `${column} ${type}`)].join(", ")
const keyMatches = ({ key, owner }: Table): string =>
  [`stored.${owner} = given.organization_id`, ...Object.keys(key).map((column) => `stored.${column} = given.${column}`)]
    .join(" AND ")

interface Keyed {
  readonly key: Readonly<Record<string, string>>
}

const keyText = ({ key, organization_id }: Owned<Keyed>): string => [organization_id, ...Object.values(key)].join("|")

/** Returns the condition that `stored` is one of the rows that `given` names. */
const isNamed = ({ parameter }: Values, table: Table, rows: ReadonlyArray<Owned<Keyed>>): string => {
  const values = (column: string) =>
    rows.map(({ key, organization_id }) => column === "organization_id" ? organization_id : key[column] ?? "")
  const among = Object.entries({ [table.owner]: "uuid", ...table.key }).map(
    ([column, type]) => isAmong(`stored.${column}`, `${parameter(values(column))}::${type}[]`)
  )
  return [keyMatches(table), ...among].join("\n      AND ")
}

/** Returns a text that identifies a row among those of all tables. */
export const rowKey = (row: Owned<Keyed & { readonly table: Table }>): string => `${row.table.name}|${keyText(row)}`

/** Returns rows by the text of their keys. Throws if one occurs twice. */
const byKey = <Row extends Owned<Keyed>>(rows: ReadonlyArray<Row>): Map<string, Row> => {
  const keyed = new Map(rows.map((row) => [keyText(row), row]))
  if (keyed.size < rows.length) throw new Error("A row is changed twice in one commit.")
  return keyed
}

/** Returns rows in the order of their keys. */
const rowsInOrder = <Row>(keyed: ReadonlyMap<string, Row>): ReadonlyArray<Row> =>
  inOrder(Array.from(keyed), ([text]) => text).map(([, row]) => row)

/** Groups rows by table, in the order of locks. */
export const byTable = <Row extends { readonly table: Table }>(
  rows: ReadonlyArray<Row>
): ReadonlyArray<[Table, ReadonlyArray<Row>]> =>
  inLockOrder(Array.from(Map.groupBy(rows, ({ table }) => table)), ([table]) => table)

/** Deletes the rows that still exist. */
export const deleteRows = (values: Values, table: Table, rows: ReadonlyArray<Owned<Removal>>): Part => {
  const removed = values.json(rowsInOrder(byKey(rows)).map(({ key, organization_id }) => ({ organization_id, ...key })))
  return {
    name: `${table.name}_removed`,
    body: `
    DELETE FROM ${table.name} stored
    USING jsonb_to_recordset(${removed}) AS given (${keyTypes(table)})
    WHERE ${isNamed(values, table, rows)}
    RETURNING 1`
  }
}

/** A row that is updated, touched, or both. */
interface Written extends Keyed {
  /** The version that the row must have; null if it is only touched, whatever its version. */
  readonly version: number | null
  readonly set: Update["set"] | null
  readonly touch: Activity | null
}

/** Merges the update and the touch of each row, because one statement cannot write a row twice. */
export const writtenRows = (
  table: Table,
  updates: ReadonlyArray<Owned<Update>>,
  touches: ReadonlyArray<Owned<Activity>>
): ReadonlyArray<Owned<Written>> => {
  const rows = new Map<string, Owned<Written>>(
    Array.from(byKey(updates), ([text, { table: _, ...update }]) => [text, { ...update, touch: null }])
  )
  for (const { organization_id, ...touch } of touches) {
    const id = touchedId(table, touch)
    if (id === null) continue
    const row = { organization_id, key: { id } }
    const version = table.activity?.row === "conversation_id" ? touch.conversation_version : null
    rows.set(keyText(row), { version, set: null, ...rows.get(keyText(row)), ...row, touch })
  }
  return rowsInOrder(rows)
}

/**
 * Locks rows, and requires that each still has its version. Locks the table's rows that the statement writes afterward,
 * too: two statements of which each expects what the other writes would deadlock.
 */
export const expectRows = (
  values: Values,
  table: Table,
  rows: ReadonlyArray<Owned<Expectation>>,
  written: ReadonlyArray<Owned<Keyed>>
): Part => {
  // Several commits may expect one row. If they expect different versions, this fails, and each commits alone.
  const each = Array.from(new Map(rows.map((row) => [`${keyText(row)}|${row.version}`, row])).values())
  const expected = byKey(each)
  const others = written.filter((row) => !expected.has(keyText(row))).map((row) => ({ ...row, version: null }))
  const locked = rowsInOrder(byKey<Owned<Keyed & { readonly version: number | null }>>([...each, ...others]))
  const given = values.json(locked.map(({ key, organization_id, version }) => ({ organization_id, ...key, version })))
  const name = `${table.name}_expected`
  return {
    name,
    body: `
    SELECT given.version
    FROM ${table.name} stored, jsonb_to_recordset(${given}) AS given (${keyTypes(table)}, version integer)
    WHERE ${isNamed(values, table, locked)} AND (given.version IS NULL OR stored.version = given.version)
    FOR ${written.length === 0 ? "SHARE" : "NO KEY UPDATE"} OF stored`,
    requires: `(SELECT count(version) FROM ${name}) = ${values.parameter(each.length)}::integer`
  }
}

/** Updates and touches rows. */
export const updateRows = (
  values: Values,
  table: Table,
  updates: ReadonlyArray<Owned<Update>>,
  touches: ReadonlyArray<Owned<Activity>>
): Part => {
  const { json, parameter } = values
  const name = `${table.name}_written`
  const rows = writtenRows(table, updates, touches)
  const written = json(rows.map(({ key, organization_id, set, touch, version }) => ({
    organization_id,
    ...key,
    version,
    fields: set && withTextTimes(set),
    touch: touch && withTextTimes(touch)
  })))
  const keys = Object.keys(table.key).map((column) => `stored.${column}`).join(", ")
  const isNamedRow = isNamed(values, table, rows)
  const with_version = parameter(rows.filter(({ version }) => version !== null).length)
  return {
    name,
    body: `
    UPDATE ${table.name} stored
    SET ${assignmentOf(table, updates.length > 0)}
    FROM jsonb_to_recordset(${written}) AS given (${keyTypes(table)}, version integer, fields jsonb, touch jsonb)
    WHERE ${isNamedRow}
      AND (given.version IS NULL OR stored.version = given.version)
    RETURNING given.organization_id, ${keys}, given.version AS found, given.fields`,
    requires: `(SELECT count(found) FROM ${name}) = ${with_version}::integer`
  }
}

/** Sorts rows by the columns of their keys. */
const sortedByKey = <Row extends object>(table: Table, rows: ReadonlyArray<Row>): ReadonlyArray<Row> => {
  const columns = [table.owner, ...Object.keys(table.key)]
  return inOrder(rows, (row) => columns.map((column) => (row as Readonly<Record<string, unknown>>)[column]).join("|"))
}

const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array

/** Returns how many bytes the columns of a row contain that are bytes. */
export const bytesOf = (row: object): number =>
  Object.values(row).reduce<number>((sum, value) => isBytes(value) ? sum + value.byteLength : sum, 0)

/** Returns whether rows of the same columns contain bytes. Such a column is never null. */
export const haveBytes = ([first]: ReadonlyArray<object>): boolean =>
  first !== undefined && Object.values(first).some(isBytes)

/** Returns a row whose bytes are text, as PostgreSQL reads them from JSON. */
const withTextBytes = (row: object): object =>
  Record.map(
    { ...row } as Readonly<Record<string, unknown>>,
    (value) =>
      isBytes(value) ? `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}` : value
  )

/** Inserts rows of the same columns. */
export const insertRows = ({ json }: Values, table: Table, rows: ReadonlyArray<Owned<object>>): Part => {
  const columns = Object.keys(rows[0] ?? {}).join(", ")
  const inserted = sortedByKey(table, haveBytes(rows) ? rows.map(withTextBytes) : rows)
  return {
    name: `${table.name}_inserted`,
    body: `
    INSERT INTO ${table.name} (${columns})
    SELECT ${columns}
    FROM jsonb_populate_recordset(NULL::${table.name}, ${json(inserted)})
    RETURNING 1`,
    rows: rows.length
  }
}

/** Completes files whose bytes are already stored: from then on, they are visible. */
export const completeFiles = ({ json }: Values, rows: ReadonlyArray<Owned<object>>): Part => ({
  name: "media_completed",
  body: `
    UPDATE media stored
    SET mime_type = given.mime_type, filename = given.filename, byte_size = given.byte_size
    FROM jsonb_to_recordset(${json(sortedByKey(MediaRows.table, rows))}) AS given (
      organization_id uuid, id uuid, mime_type text, filename text, byte_size integer
    )
    WHERE stored.organization_id = given.organization_id AND stored.id = given.id AND stored.byte_size IS NULL
    RETURNING 1`,
  rows: rows.length
})
