/** Declarations of tables, once for every store. */
import type { OwnStruct } from "../kernel/Codecs.ts"

/**
 * The tables of the resources, in the order in which every statement locks their rows.
 *
 * An update and an insert can wait for each other at a unique key, so there is one
 * order for both.
 */
export const lock_order = [
  "provider_callbacks",
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
  "webhook_replays",
  "webhook_deliveries"
] as const
export type TableName = typeof lock_order[number]

/** The type of a column of a key, as PostgreSQL names it. */
type KeyType = "text" | "uuid"

/** The part of an activity that a column receives. */
export type ActivityPart = "at" | "conversation_id" | "last_inbound_at" | "preview"

/** How an activity changes the row of its conversation, or of its contact. */
export interface TableActivity<Column extends string = string> {
  /** The part of the activity that names the row. */
  readonly row: "contact_id" | "conversation_id"
  /** The column with the time of the latest activity. */
  readonly latest: Column
  /** The columns that an activity sets, unless there was a later one. */
  readonly newest: Readonly<Partial<Record<Column, ActivityPart>>>
  /** The columns with times that an activity moves forward. */
  readonly moved: Readonly<Partial<Record<Column, ActivityPart>>>
}

/** Columns whose values only one row may have. A commit that would give them to another row is a `Conflict`. */
export interface Unique<Column extends string = string> {
  readonly columns: ReadonlyArray<Column>
  /** Among which rows: those of one organization, or of all of them. */
  readonly within: "organization" | "service"
  /** A column that is null in the rows among which the values are unique. */
  readonly while_null?: Column
}

/** How `Rows` reads a table. */
export interface Reading<Column extends string = string> {
  /** The schema of the columns. */
  readonly schema: OwnStruct
  /** The columns that order a list: times from the oldest, texts by code point, IDs by their bytes. */
  readonly order: ReadonlyArray<Column>
  /** A column that is null in each row of a list. Default: a list contains every row. */
  readonly while_null?: Column
}

/** A table of rows that belong to an organization. Its columns are the fields of its rows. */
export interface Table {
  readonly name: string
  /** The columns of the key, which is unique in the organization. */
  readonly key: Readonly<Record<string, KeyType>>
  /** Every other column. An update may set each of them. */
  readonly columns: ReadonlyArray<string>
  readonly unique: Unique | null
  readonly activity: TableActivity | null
  /** The column with the ID of the organization. */
  readonly owner: string
  /** How `Rows` reads it; null for a table that only ports of its own read. */
  readonly reading: Reading | null
}

/** The declaration of a table with certain columns. */
export interface Declaration<Column extends string, KeyColumn extends Column> {
  readonly name: TableName
  readonly key: Readonly<Record<KeyColumn, KeyType>>
  /** Default: only the key is unique. */
  readonly unique?: Unique<Column>
  /** Default: no activity changes the rows. */
  readonly activity?: TableActivity<Column>
  /** The column with the ID of the organization. Default: `organization_id`, which no row needs to name. */
  readonly owner?: KeyColumn
}

/** Returns the table with the columns of a schema. */
export const tableOf = <Column extends string, KeyColumn extends Column>(
  { fields }: OwnStruct,
  { activity, key, name, owner, unique }: Declaration<Column, KeyColumn>
): Table => ({
  name,
  key,
  columns: Object.keys(fields).filter((column) => !(column in key)),
  unique: unique ?? null,
  activity: activity ?? null,
  owner: owner ?? "organization_id",
  reading: null
})
