/** Activities: the columns of a row that move forward without a change of its version. */
import type * as Changes from "@messaging-crm/core/Changes"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type * as Declared from "@messaging-crm/core/Table"
import { tables as declared } from "@messaging-crm/core/Tables"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Option, Record } from "effect"
import * as Table from "../world/Table.ts"

// Columns of activities hold times, texts and IDs.
export const timeOf = (value: unknown) => (value ?? null) as Timestamp | null

export const latest = (a: Timestamp | null, b: Timestamp | null): Timestamp | null =>
  a === null || b === null ? a ?? b : DateTime.max(a, b)

const activeTables = Object.values(declared).flatMap((table) =>
  table.activity === null ? [] : [{ table, activity: table.activity }]
)

/** Applies an activity to one row. Its version does not change. */
const withActivity = (
  row: Readonly<Record<string, unknown>>,
  activity: Declared.TableActivity,
  touch: Changes.Activity
) => {
  const last = timeOf(row[activity.latest])
  const isNews = last === null || DateTime.isGreaterThanOrEqualTo(touch.at, last)
  return {
    ...(isNews ? { [activity.latest]: touch.at, ...Record.map(activity.newest, (part) => touch[part ?? "at"]) } : {}),
    ...Record.map(activity.moved, (part, column) => latest(timeOf(row[column]), timeOf(touch[part ?? "at"])))
  }
}

/** Returns whether the conversation of an activity has the version that the activity requires. */
export const hasVersion = (
  tables: Table.Tables,
  owner: OrganizationId,
  { conversation_id, conversation_version }: Changes.Activity
): boolean =>
  conversation_version === null ||
  Option.exists(
    Table.get(tables, ConversationRows, owner, conversation_id),
    ({ version }) => version === conversation_version
  )

/** Applies an activity to the rows that it names. */
export const applyActivity = (before: Table.Tables, owner: OrganizationId, touch: Changes.Activity): Table.Tables =>
  activeTables.reduce(
    (tables, { activity, table }) =>
      Table.change(tables, { table }, owner, touch[activity.row], (row) => ({
        ...row,
        ...withActivity({ ...row }, activity, touch)
      })),
    before
  )
