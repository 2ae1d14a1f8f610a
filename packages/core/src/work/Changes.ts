/**
 * What one operation changes, as data.
 *
 * A decision returns it, `Commit` applies it whole or not at all, and a test
 * compares it. Nothing here reads or writes. Each resource declares the table
 * that holds its rows, and describes its changes through it:
 *
 * ```ts
 * Changes.all(
 *   ConversationRows.update(conversation, { status: "closed" }),
 *   Changes.raise(event)
 * )
 * ```
 */
import type { ContactId, ConversationId, EventId, WebhookDeliveryId, WebhookId } from "../kernel/Ids.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import type { ClaimedWork, Work, WorkKind } from "./WorkQueue.ts"

/** Counts how often a row was rewritten, from 1. Activity, which every message moves, does not count. */
export type Version = number

/** What names a row of a table within its organization. */
export type Key = Readonly<Record<string, string>>

/** A table of rows that belong to an organization, as a store knows it. Its columns are the fields of its rows. */
export interface Table {
  readonly name: string
  readonly key: ReadonlyArray<string>
  /** Every column that an update may set. */
  readonly columns: ReadonlyArray<string>
}

/** New rows of a table. */
export interface Insert {
  readonly table: Table
  readonly rows: ReadonlyArray<object>
}

/** New values for some columns of the row that was loaded at `version`. */
export interface Update {
  readonly table: Table
  readonly key: Key
  readonly version: Version
  readonly set: Readonly<Record<string, unknown>>
}

/** A row that a decision rests on without writing it. */
export interface Expectation {
  readonly table: Table
  readonly key: Key
  readonly version: Version
}

/** A row that goes, if it is there. */
export interface Removal {
  readonly table: Table
  readonly key: Key
}

/** Another name of an identity, unless the name belongs to somebody already. */
export interface Alias {
  readonly channel_type: string
  readonly name: string
  readonly identity_id: string
}

/**
 * A message's effect on its conversation and contact. It commutes: neither time
 * moves backwards and an older activity leaves the preview, so it never conflicts.
 */
export interface Activity {
  readonly conversation_id: ConversationId
  readonly contact_id: ContactId
  readonly at: Timestamp
  readonly preview: string
  /** The provider's time of an inbound message, which opens the reply window. */
  readonly last_inbound_at: Timestamp | null
}

/** An event with its exact bytes. It is kept, with a delivery for each, when active webhooks subscribe to it. */
export interface RaisedEvent {
  readonly id: EventId
  readonly type: string
  readonly body: string
  readonly created_at: Timestamp
}

/** Work to do after the commit. There is at most one item of a kind for one `ref`. */
export interface Enqueued extends Work {
  readonly due_at: Timestamp
}

/** Until when a lane gives nothing out, and how many items at once from then on. */
export interface Throttle {
  readonly kind: WorkKind
  readonly lane: string
  readonly until: Timestamp | null
  readonly cap: number
}

/**
 * What becomes of the work that this carries out.
 *
 * `hold` changes nothing and `finish` removes it; both, and `postpone`, apply
 * only while the claim holds the item, else the commit fails with `LeaseLost`.
 * `finish_if_held` removes it where the claim still holds it.
 */
export type Settlement =
  | { readonly claimed: ClaimedWork; readonly outcome: "finish" | "finish_if_held" | "hold" }
  | { readonly claimed: ClaimedWork; readonly outcome: "postpone"; readonly due_at: Timestamp }

/** The answer of a request, as its idempotency key keeps it. */
export interface Remembered {
  readonly key: string
  /** The digest of the request that the key was used for. */
  readonly fingerprint: string
  readonly status: number
  readonly body: Uint8Array
  /** Whether the bytes are encrypted. */
  readonly sealed: boolean
  readonly request_id: string
  readonly created_at: Timestamp
}

/** What one operation changes. Applied whole, or not at all. Every part is optional. */
export interface Changes {
  readonly expect?: ReadonlyArray<Expectation>
  readonly insert?: ReadonlyArray<Insert>
  readonly update?: ReadonlyArray<Update>
  readonly remove?: ReadonlyArray<Removal>
  readonly aliases?: ReadonlyArray<Alias>
  readonly touch?: Activity
  readonly raise?: ReadonlyArray<RaisedEvent>
  readonly enqueue?: ReadonlyArray<Enqueued>
  readonly throttle?: ReadonlyArray<Throttle>
  /** Webhooks whose pending deliveries fail with `webhook_disabled`: at most `limit` of each, the newest first. */
  readonly abandon?: ReadonlyArray<{ readonly webhook_id: WebhookId; readonly limit: number }>
  readonly settle?: Settlement
  readonly remember?: Remembered
}

/** What an operation decided: what it answers, and what it changes. */
export interface Decision<Answer> {
  readonly answer: Answer
  readonly changes: Changes
}

/** The changes of an operation that changes nothing. */
export const none: Changes = {}

/** Returns whether nothing is to be committed. */
export const isNone = (changes: Changes): boolean =>
  changes.settle === undefined && changes.remember === undefined && changes.touch === undefined &&
  lists.every((name) => (changes[name]?.length ?? 0) === 0)

const lists = [
  "expect",
  "insert",
  "update",
  "remove",
  "aliases",
  "raise",
  "enqueue",
  "throttle",
  "abandon"
] as const

/** Returns the changes together. At most one of them settles work, and at most one touches. */
export const all = (...parts: ReadonlyArray<Changes>): Changes => {
  const whole: Record<string, unknown> = Object.assign({}, ...parts)
  for (const name of lists) {
    const some = parts.flatMap((part): ReadonlyArray<unknown> => part[name] ?? [])
    if (some.length > 0) whole[name] = some
  }
  // Each list is joined with its own kind, which the loop over their names hides from the compiler.
  return whole as Changes
}

export const aliases = (...names: ReadonlyArray<Alias>): Changes => names.length === 0 ? none : { aliases: names }
export const touch = (activity: Activity): Changes => ({ touch: activity })
export const raise = (event: RaisedEvent): Changes => ({ raise: [event] })
export const enqueue = (work: Enqueued): Changes => ({ enqueue: [work] })
export const throttle = (lane: Throttle): Changes => ({ throttle: [lane] })
export const settle = (settlement: Settlement): Changes => ({ settle: settlement })

/** How changes of a table's rows are described. */
export interface Rows<Columns extends object, KeyColumn extends keyof Columns & string> {
  readonly table: Table
  /** Inserts a row at version 1. A key that is taken is a `Conflict`. */
  readonly insert: (row: Columns) => Changes
  /** Sets columns of the row that was loaded. */
  readonly update: (
    row: Pick<Columns, KeyColumn> & { readonly version: Version },
    set: Partial<Omit<Columns, KeyColumn>>
  ) => Changes
  /** Requires that the row is still as it was loaded. */
  readonly expect: (row: Pick<Columns, KeyColumn> & { readonly version: Version }) => Changes
  readonly remove: (key: Pick<Columns, KeyColumn>) => Changes
}

/** Declares a table: its name, its key, and the columns that an update may set. */
export const rows = <Columns extends object>() =>
<const KeyColumn extends keyof Columns & string>(
  name: string,
  key: ReadonlyArray<KeyColumn>,
  columns: ReadonlyArray<Exclude<keyof Columns & string, KeyColumn>>
): Rows<Columns, KeyColumn> => {
  const table: Table = { name, key, columns }
  const keyOf = (row: Pick<Columns, KeyColumn>): Key =>
    Object.fromEntries(key.map((column) => [column, String(row[column])]))
  return {
    table,
    insert: (row) => ({ insert: [{ table, rows: [{ ...row }] }] }),
    update: (row, set) => ({ update: [{ table, key: keyOf(row), version: row.version, set }] }),
    expect: (row) => ({ expect: [{ table, key: keyOf(row), version: row.version }] }),
    remove: (row) => ({ remove: [{ table, key: keyOf(row) }] })
  }
}

/** Returns the id of the row of a table that an activity moves; null where it moves none. */
export const touchedId = ({ name }: Table, { contact_id, conversation_id }: Activity): string | null =>
  name === "contacts" ? contact_id : name === "conversations" ? conversation_id : null

/**
 * Returns the changes with the activity of new conversations and contacts in
 * their own rows: one statement cannot insert a row and update it too.
 */
export const folded = (changes: Changes): Changes => {
  const { insert, touch } = changes
  if (touch === undefined || insert === undefined) return changes
  return {
    ...changes,
    insert: insert.map(({ rows: inserted, table }) => {
      const id = touchedId(table, touch)
      return {
        table,
        rows: inserted.map((row) => id !== null && "id" in row && row.id === id ? withActivity(row, touch) : row)
      }
    })
  }
}

const withActivity = (row: object, { at, conversation_id, last_inbound_at, preview }: Activity): object => ({
  ...row,
  last_activity_at: at,
  last_activity_preview: preview,
  ...("last_conversation_id" in row ? { last_conversation_id: conversation_id } : { last_inbound_at })
})

/** Returns the id of an event's delivery to a webhook: always the same one, so a store makes none. */
export const deliveryIdOf = (event_id: EventId, webhook_id: WebhookId): WebhookDeliveryId => {
  const tail = BigInt(`0x${event_id.slice(24)}`) ^ BigInt(`0x${webhook_id.slice(24)}`)
  // The id of an event with other last digits is as well formed.
  return `${event_id.slice(0, 24)}${tail.toString(16).padStart(12, "0")}` as WebhookDeliveryId
}
