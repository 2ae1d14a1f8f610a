/**
 * The assignment of an update: to the columns of a row that changes set, and to those that an activity changes.
 *
 * `stored` is the row before the statement, `updated` the row with the fields that the changes set, and `given` has both the fields
 * and the activity, `touch`. Each is null if the row is only touched, or only updated.
 */
import type { ActivityPart, Table } from "@messaging-crm/core/Table"
import { tables } from "@messaging-crm/core/Tables"
import { Record } from "effect"

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
export const assignmentOf = (table: Table, hasFields: boolean): string => {
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
