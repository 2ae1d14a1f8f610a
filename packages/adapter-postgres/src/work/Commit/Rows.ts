/** Rows of the resources' tables: expected, removed, updated, touched and inserted. */
import {
  type Activity,
  type Expectation,
  type Removal,
  type Table,
  touchedId,
  type Update
} from "@messaging-crm/core/Changes"
import { anyNumber, exactly, type Owned, type Part, type Values } from "./Statement.ts"

/**
 * Tables in the order in which every statement locks their rows. An update and an insert can wait for each other at a
 * unique key, so there is one order for both.
 */
const order = [
  "provider_messages",
  "organizations",
  "members",
  "contacts",
  "identities",
  "identity_names",
  "conversations",
  "sends",
  "messages",
  "media",
  "tags",
  "contact_fields",
  "channels",
  "channel_accounts",
  "channel_holds",
  "api_keys",
  "webhooks",
  "webhook_deliveries"
]

export const rank = ({ name }: Table): number => {
  const place = order.indexOf(name)
  if (place === -1) throw new Error(`The order of locks does not name ${name}.`)
  return place
}

/** Returns the column with the organization's id. */
const ownerOf = ({ name }: Table): string => name === "organizations" ? "id" : "organization_id"

const texts = new Set(["channel_type", "name", "provider_message_id"])
const typeOf = (column: string): string => texts.has(column) ? "text" : "uuid"

const keyTypes = ({ key }: Table): string =>
  ["organization_id uuid", ...key.map((column) => `${column} ${typeOf(column)}`)].join(", ")
const keyMatches = (table: Table): string =>
  [`r.${ownerOf(table)} = w.organization_id`, ...table.key.map((column) => `r.${column} = w.${column}`)].join(" AND ")

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
  const among = Array.from(
    new Set([ownerOf(table), ...table.key]),
    (column) => `r.${column} = ANY(${parameter(values(column))}::${typeOf(column)}[])`
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
  Array.from(Map.groupBy(rows, ({ table }) => table)).toSorted(([a], [b]) => rank(a) - rank(b))

/** The expressions that apply an activity `w` to the columns of a row `r`. */
export const activity: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  contacts: {
    last_activity_at: "greatest(r.last_activity_at, w.at)",
    last_activity_preview:
      "CASE WHEN w.at IS NULL OR r.last_activity_at > w.at THEN r.last_activity_preview ELSE w.preview END",
    last_conversation_id:
      "CASE WHEN w.at IS NULL OR r.last_activity_at > w.at THEN r.last_conversation_id ELSE w.conversation_id END",
    updated_at: "greatest(r.updated_at, w.at)"
  },
  conversations: {
    last_activity_at: "greatest(r.last_activity_at, w.at)",
    last_activity_preview:
      "CASE WHEN w.at IS NULL OR r.last_activity_at > w.at THEN r.last_activity_preview ELSE w.preview END",
    last_inbound_at: "greatest(r.last_inbound_at, w.last_inbound_at)"
  }
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
  const active = activity[table.name] ?? {}
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
  const columns = isSet ? table.columns.filter((column) => active[column] === undefined) : []
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
      table.key.includes("conversation_id") ? "" : "conversation_id uuid, "
    }last_inbound_at timestamptz
      )
      WHERE ${isNamed(values, table, named)} AND (w.version IS NULL OR r.version = w.version)
      RETURNING w.organization_id, ${
      table.key.map((column) => `r.${column}`).join(", ")
    }, w.version AS found, w.fields`,
    requires: `(SELECT count(found) FROM ${name}) = ${parameter(updates.length)}::integer`
  }
}

const insertedRows = ({ json, parameter }: Values, table: Table, rows: ReadonlyArray<Owned<object>>): Part => {
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

/** Makes files appear whose bytes are stored already. */
const mediaInserted = ({ json, parameter }: Values, rows: ReadonlyArray<Owned<object>>): Part => ({
  name: "media_inserted",
  body: `
    UPDATE media r
    SET mime_type = n.mime_type, filename = n.filename, byte_size = n.byte_size
    FROM jsonb_to_recordset(${json(rows)}) AS n (
      organization_id uuid, id uuid, mime_type text, filename text, byte_size integer
    )
    WHERE r.organization_id = n.organization_id AND r.id = n.id AND r.byte_size IS NULL
    RETURNING 1`,
  requires: exactly("media_inserted", parameter(rows.length))
})

export const inserted = (values: Values, table: Table, rows: ReadonlyArray<Owned<object>>): Part =>
  table.name === "media" ? mediaInserted(values, rows) : insertedRows(values, table, rows)
