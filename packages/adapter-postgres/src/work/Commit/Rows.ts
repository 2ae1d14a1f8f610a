/** Rows of the resources' tables: expected, removed, updated, touched and inserted. */
import { type Activity, type Expectation, type Removal, touchedId, type Update } from "@messaging-crm/core/Changes"
import { lock_order, type Table } from "@messaging-crm/core/Table"
import { Record } from "effect"
import { anyNumber, exactly, type Owned, type Part, type Values } from "./Statement.ts"

const ranks: Readonly<Record<string, number>> = Object.fromEntries(lock_order.map((name, rank) => [name, rank]))

/** Returns the place of a table in the order of locks. */
const rankOf = ({ name }: Table): number => ranks[name] ?? lock_order.length

/** Sorts tables in the order of locks. */
export const inLockOrder = <A>(all: ReadonlyArray<A>, tableOf: (each: A) => Table): ReadonlyArray<A> =>
  all.toSorted((a, b) => rankOf(tableOf(a)) - rankOf(tableOf(b)))

const keyTypes = ({ key }: Table): string =>
  ["organization_id uuid", ...Object.entries(key).map(([column, type]) => `${column} ${type}`)].join(", ")
const keyMatches = ({ key, owner }: Table): string =>
  [`r.${owner} = w.organization_id`, ...Object.keys(key).map((column) => `r.${column} = w.${column}`)].join(" AND ")

interface Keyed {
  readonly key: Readonly<Record<string, string>>
}

const keyText = ({ key, organization_id }: Owned<Keyed>): string => [organization_id, ...Object.values(key)].join("|")

/**
 * The condition under which `r` is one of the rows that `w` names.
 *
 * The rows are named twice, in a join and in arrays. So even a plan that was made
 * while the table was empty reads only these rows of a large one.
 */
const isNamed = ({ parameter }: Values, table: Table, rows: ReadonlyArray<Owned<Keyed>>): string => {
  const values = (column: string) =>
    rows.map(({ key, organization_id }) => column === "organization_id" ? organization_id : key[column] ?? "")
  const among = Object.entries({ [table.owner]: "uuid", ...table.key }).map(
    ([column, type]) => `r.${column} = ANY(${parameter(values(column))}::${type}[])`
  )
  return [keyMatches(table), ...among].join(" AND ")
}

/** Returns a text that identifies a row among those of all tables. */
export const rowName = (row: Owned<Keyed & { readonly table: Table }>): string => `${row.table.name}|${keyText(row)}`

/** Sorts rows, so that all statements lock them in the same order. Throws if one occurs twice. */
const inOrder = <Row extends Owned<Keyed>>(rows: ReadonlyArray<Row>): ReadonlyArray<Row> => {
  const sorted = rows.toSorted((a, b) => keyText(a) < keyText(b) ? -1 : 1)
  if (
    sorted.some((row, index) => sorted[index + 1] !== undefined && keyText(row) === keyText(sorted[index + 1] ?? row))
  ) {
    throw new Error("A row is changed twice in one commit.")
  }
  return sorted
}

export const byTable = <Row extends { readonly table: Table }>(
  rows: ReadonlyArray<Row>
): ReadonlyArray<[Table, ReadonlyArray<Row>]> =>
  inLockOrder(Array.from(Map.groupBy(rows, ({ table }) => table)), ([table]) => table)

/** Returns the expressions that apply an activity `w` to the columns of a row `r`, by column. */
const activityOf = ({ activity }: Table): Readonly<Record<string, string>> =>
  activity === null ? {} : {
    [activity.latest]: `greatest(r.${activity.latest}, w.at)`,
    ...Record.map(
      activity.newest,
      (part, column) => `CASE WHEN w.at IS NULL OR r.${activity.latest} > w.at THEN r.${column} ELSE w.${part} END`
    ),
    ...Record.map(activity.moved, (part, column) => `greatest(r.${column}, w.${part})`)
  }

export const expected = (
  values: Values,
  [table, rows]: [Table, ReadonlyArray<Owned<Expectation>>]
): Part => {
  const { json, parameter } = values
  const name = `${table.name}_expected`
  // Several commits may expect one row. If they expect different versions, the statement fails, and each commits alone.
  const each = Array.from(new Map(rows.map((row) => [`${keyText(row)}|${row.version}`, row])).values())
  return {
    name,
    body: `
      SELECT 1
      FROM ${table.name} r, jsonb_to_recordset(${
      json(inOrder(each).map(({ key, organization_id, version }) => ({ organization_id, ...key, version })))
    }) AS w (${keyTypes(table)}, version integer)
      WHERE ${isNamed(values, table, each)} AND r.version = w.version
      FOR SHARE OF r`,
    requires: exactly(name, parameter(each.length))
  }
}

export const removed = (values: Values, [table, rows]: [Table, ReadonlyArray<Owned<Removal>>]): Part => {
  const { json } = values
  const name = `${table.name}_removed`
  return {
    name,
    body: `
      DELETE FROM ${table.name} r
      USING jsonb_to_recordset(${
      json(inOrder(rows).map(({ key, organization_id }) => ({ organization_id, ...key })))
    }) AS w (${keyTypes(table)})
      WHERE ${isNamed(values, table, rows)}
      RETURNING 1`,
    requires: anyNumber(name)
  }
}

/** Updates and touches rows. It is one expression, because one statement cannot write a row twice. */
export const updated = (
  values: Values,
  table: Table,
  updates: ReadonlyArray<Owned<Update>>,
  touches: ReadonlyArray<Owned<Activity>>
): Part => {
  const { json, parameter } = values
  const name = `${table.name}_written`
  const active = activityOf(table)
  const rows = new Map<string, object>(
    inOrder(updates).map((update) => [
      keyText(update),
      { organization_id: update.organization_id, ...update.key, version: update.version, fields: update.set }
    ])
  )
  const named: Array<Owned<Keyed>> = [...updates]
  for (const touch of touches) {
    const { at, conversation_id, last_inbound_at, organization_id, preview } = touch
    const id = touchedId(table, touch)
    if (id === null) continue
    named.push({ organization_id, key: { id } })
    const name = keyText({ organization_id, key: { id } })
    rows.set(name, { organization_id, id, ...rows.get(name), at, preview, conversation_id, last_inbound_at })
  }
  const isSet = updates.length > 0
  const columns = isSet ? Object.keys(table.columns).filter((column) => active[column] === undefined) : []
  // Both an update and an activity may set `updated_at`. The later time is stored.
  const moved = isSet
    ? { ...active, ...(active.updated_at ? { updated_at: "greatest(r.updated_at, n.updated_at, w.at)" } : {}) }
    : active
  const assigned = isSet
    ? `(${[...columns, ...Object.keys(moved), "version"].join(", ")}) = (
        SELECT ${[...columns.map((column) => `n.${column}`), ...Object.values(moved)].join(", ")},
          r.version + CASE WHEN w.version IS NULL THEN 0 ELSE 1 END
        FROM jsonb_populate_record(r, coalesce(w.fields, '{}')) n
      )`
    : Object.entries(moved).map(([column, value]) => `${column} = ${value}`).join(", ")
  return {
    name,
    body: `
      UPDATE ${table.name} r
      SET ${assigned}
      FROM jsonb_to_recordset(${json(Array.from(rows.values()))}) AS w (
        ${keyTypes(table)}, version integer, fields jsonb, at timestamptz, preview text, ${
      "conversation_id" in table.key ? "" : "conversation_id uuid, "
    }last_inbound_at timestamptz
      )
      WHERE ${isNamed(values, table, named)} AND (w.version IS NULL OR r.version = w.version)
      RETURNING w.organization_id, ${
      Object.keys(table.key).map((column) => `r.${column}`).join(", ")
    }, w.version AS found, w.fields`,
    requires: `(SELECT count(found) FROM ${name}) = ${parameter(updates.length)}::integer`
  }
}

export const inserted = ({ json, parameter }: Values, table: Table, rows: ReadonlyArray<Owned<object>>): Part => {
  const name = `${table.name}_inserted`
  const columns = Object.keys(rows[0] ?? {}).join(", ")
  return {
    name,
    body: `
      INSERT INTO ${table.name} (${columns})
      SELECT ${columns}
      FROM jsonb_populate_recordset(NULL::${table.name}, ${json(rows)})
      RETURNING 1`,
    requires: exactly(name, parameter(rows.length))
  }
}
