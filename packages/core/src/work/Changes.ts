/**
 * Changes: the writes of one operation, as data.
 *
 * A decision returns changes, `Commit` applies all of them or none, and a test
 * compares them. Nothing here reads or writes. Each resource declares its table
 * with `declareTable`, and describes its changes with the result:
 *
 * ```ts
 * Changes.all(
 *   ConversationRows.update(conversation, { status: "closed" }),
 *   Changes.raise(event)
 * )
 * ```
 */
import { Duration } from "effect"
import type { OwnStruct } from "../kernel/Codecs.ts"
import type { ContactId, ConversationId, EventId, MessageId, WebhookDeliveryId, WebhookId } from "../kernel/Ids.ts"
import { type Timestamp, withTextTimes } from "../kernel/Timestamps.ts"
import type { AuditRecord } from "./Audit.ts"
import { type Declaration, type Table, tableOf } from "./Table.ts"
import { type ClaimedWork, kind_rules, type Work, type WorkKind } from "./WorkQueue.ts"

/** The resource that an event is about, as the change leaves it. It is encoded and stored only if a webhook asks for it. */
export interface EventResource {
  /** The name of its field in the event's `data`. */
  readonly name: string
  /** The resource as callers see it. Its times become text as `Timestamp` encodes them. */
  readonly value: object
  readonly contact_id: ContactId
  /** Null if the resource is not a message. */
  readonly message_id: MessageId | null
}

/** An event with its exact bytes. If an active webhook subscribes to it, it is stored with work that adds its deliveries. */
export interface RaisedEvent {
  readonly id: EventId
  readonly type: string
  readonly body: string
  readonly created_at: Timestamp
  /** Null where the event is about no message, conversation, or contact. */
  readonly resource: EventResource | null
}

/** Returns the exact bytes of an event with its resource in `data`; null without a resource. */
export const fullBodyOf = ({ body, resource }: Pick<RaisedEvent, "body" | "resource">): string | null =>
  resource === null
    ? null
    // The bytes of an event end with `data`.
    : `${body.slice(0, -"}}".length)},"${resource.name}":${JSON.stringify(withTextTimes(resource.value))}}}`

/** How long events are kept, with their deliveries. */
export const event_age_max = Duration.days(30)

/** Returns the ID of an event's delivery to a webhook. It is derived from both, because a store must not generate IDs. */
export const deliveryIdOf = (event_id: EventId, webhook_id: WebhookId): WebhookDeliveryId => {
  const tail = BigInt(`0x${event_id.slice(24)}`) ^ BigInt(`0x${webhook_id.slice(24)}`)
  // Replacing the last digits of a UUID gives a UUID.
  return `${event_id.slice(0, 24)}${tail.toString(16).padStart(12, "0")}` as WebhookDeliveryId
}

/** The version of a row: 1 when it is inserted, one more with every update. Activity does not change it. */
export type Version = number

/** The key columns of a row, unique within its organization. */
export type Key = Readonly<Record<string, string>>

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

/** A row that a decision depends on but does not write: its version must not have changed. */
export interface Expectation {
  readonly table: Table
  readonly key: Key
  readonly version: Version
}

/** A row to delete, if it exists. */
export interface Removal {
  readonly table: Table
  readonly key: Key
}

/** Another network ID of an identity. It is not added when the network ID already belongs to an identity. */
export interface Alias {
  readonly channel_type: string
  readonly name: string
  readonly identity_id: string
}

/**
 * A message's effect on its conversation and contact. Activities never conflict with
 * each other, because they are commutative: no time moves backwards, and only the
 * newest activity sets the preview.
 */
export interface Activity {
  readonly conversation_id: ConversationId
  /** The version that the conversation must have; null if the message is stored whatever changes. */
  readonly conversation_version: Version | null
  readonly contact_id: ContactId
  readonly at: Timestamp
  readonly preview: string
  /** The provider's time of an inbound message, which opens the reply window. */
  readonly last_inbound_at: Timestamp | null
}

/** Work to do after the commit. At most one item of a kind exists for one `ref`. */
export interface Enqueued extends Work {
  readonly due_at: Timestamp
}

/** Pauses a lane until a time, and limits how many of its items may be claimed at once after that. */
export interface Throttle {
  readonly kind: WorkKind
  readonly lane: string
  readonly until: Timestamp | null
  readonly cap: number
}

/** Returns whether a lane with these limits is throttled. Otherwise it needs no record while it has no items. */
export const isThrottled = ({ cap, kind, until }: Omit<Throttle, "lane">): boolean =>
  until !== null || cap < kind_rules[kind].cap

/**
 * How a commit settles a claimed work item.
 *
 * `keep` leaves the item claimed, `finish` deletes it, and `postpone` makes it due
 * later. `defect` postpones it and increments its `defects`. `release` undoes the
 * claim, which then does not count as an attempt. If the claim has lost its lease,
 * these fail with `LeaseLost`. `finish_if_leased` deletes the item if the claim
 * still has its lease, and otherwise leaves it alone.
 */
export type Settlement =
  | { readonly claimed: ClaimedWork; readonly outcome: "finish" | "finish_if_leased" | "keep" | "release" }
  | { readonly claimed: ClaimedWork; readonly outcome: "defect" | "postpone"; readonly due_at: Timestamp }

/** An idempotency record: the response of a request, stored under its idempotency key. */
export interface RecordedResponse {
  readonly key: string
  /** The digest of the request that the key was first used for. */
  readonly fingerprint: string
  /** The status of the response; null, like the body, for a request of several commits that has begun (`IdempotentParts.ts`). */
  readonly status: number | null
  readonly body: string | null
  /** Whether the body is encrypted. */
  readonly sealed: boolean
  readonly request_id: string
  readonly created_at: Timestamp
}

/** The changes of one operation. All parts are applied, or none. Every part is optional. */
export interface Changes {
  readonly expect?: ReadonlyArray<Expectation>
  readonly insert?: ReadonlyArray<Insert>
  readonly update?: ReadonlyArray<Update>
  readonly remove?: ReadonlyArray<Removal>
  readonly aliases?: ReadonlyArray<Alias>
  readonly touch?: Activity
  readonly raise?: ReadonlyArray<RaisedEvent>
  /** Stored events that get a delivery, with its work, for each webhook that subscribes to them. */
  readonly expand?: ReadonlyArray<{ readonly event_id: EventId }>
  readonly enqueue?: ReadonlyArray<Enqueued>
  /** Work that waits, and becomes due at an earlier time. `Conflict` if no item of its kind waits for its `ref`. */
  readonly expedite?: ReadonlyArray<Enqueued>
  readonly throttle?: ReadonlyArray<Throttle>
  /** Webhooks whose pending deliveries fail with `webhook_disabled`: of each, the newest `limit`. */
  readonly abandon?: ReadonlyArray<{ readonly webhook_id: WebhookId; readonly limit: number }>
  readonly settle?: Settlement
  /** The ID of the stored callback that the changes come from. If it has been deleted, they fail with `LeaseLost`. */
  readonly callback?: string
  readonly response?: RecordedResponse
  readonly audit?: AuditRecord
}

/** The decision of an operation: its result and its changes. */
export interface Decision<A> {
  readonly result: A
  readonly changes: Changes
}

/** The inputs that a pure decision cannot make itself: the time, and new IDs. */
export interface DecisionContext {
  readonly now: Timestamp
  readonly uuid: () => string
}

/** No changes. */
export const none: Changes = {}

/** Returns whether there is nothing to commit. */
export const isNone = (changes: Changes): boolean =>
  Object.values(changes).every((part) => part === undefined || (Array.isArray(part) && part.length === 0))

/** Returns whether the changes write nothing: at most they expect rows to be unchanged. */
export const isWithoutEffect = ({ expect: _expect, ...changes }: Changes): boolean => isNone(changes)

/** Combines changes. A second `touch`, `settle`, `callback`, `response`, or `audit` is a defect. */
export const all = (...parts: ReadonlyArray<Changes>): Changes => {
  const combined: Record<string, unknown> = {}
  for (const part of parts) {
    for (const [name, given] of Object.entries(part)) {
      if (given === undefined) continue
      const before = combined[name]
      if (before !== undefined && !Array.isArray(before)) {
        throw new Error(`Two changes of one commit have \`${name}\`. A commit can have it only once.`)
      }
      combined[name] = before === undefined ? given : before.concat(given)
    }
  }
  // Each part is of its own type, but the compiler cannot see that through the loop.
  return combined as Changes
}

export const aliases = (...names: ReadonlyArray<Alias>): Changes => names.length === 0 ? none : { aliases: names }
export const touch = (activity: Activity): Changes => ({ touch: activity })
export const raise = (event: RaisedEvent): Changes => ({ raise: [event] })
export const expand = (event_id: EventId): Changes => ({ expand: [{ event_id }] })
export const enqueue = (work: Enqueued): Changes => ({ enqueue: [work] })
export const expedite = (work: Enqueued): Changes => ({ expedite: [work] })
export const throttle = (lane: Throttle): Changes => ({ throttle: [lane] })
export const settle = (settlement: Settlement): Changes => ({ settle: settlement })
/** Ends claimed work. */
export const finish = (claimed: ClaimedWork): Changes => settle({ claimed, outcome: "finish" })

/** Builds changes to the rows of one table, which stay forever unless it is `removable`. */
export interface TableChanges<Columns extends object, KeyColumn extends keyof Columns & string> {
  readonly table: Table
  /** Inserts a row at version 1. A key that already exists is a `Conflict`. */
  readonly insert: (row: Columns) => Changes
  /** Sets columns of the row that was loaded. `Conflict` if it has changed since. */
  readonly update: (
    row: Pick<Columns, KeyColumn> & { readonly version: Version },
    set: Partial<Omit<Columns, KeyColumn>>
  ) => Changes
  /** Requires that the row has not changed since it was loaded, without writing it. `Conflict` if it has. */
  readonly expect: (row: Pick<Columns, KeyColumn> & { readonly version: Version }) => Changes
}

/** The changes of a table, and the removal of its rows. */
export type WithRemoval<R> = R extends TableChanges<infer Columns, infer KeyColumn>
  ? R & { readonly remove: (key: Pick<Columns, KeyColumn>) => Changes }
  : never

/** Makes the function that returns the key of a row. */
const keyIn = <Columns extends object, KeyColumn extends keyof Columns & string>(table: Table) => {
  const columns = Object.keys(table.key)
  return (row: Pick<Columns, KeyColumn>): Key =>
    // The names of the key's columns are those of the table.
    Object.fromEntries(columns.map((column) => [column, String(row[column as KeyColumn])]))
}

/** Returns the changes that can be made to the rows of a table. */
export const tableChanges = <Columns extends object, KeyColumn extends keyof Columns & string, T extends Table = Table>(
  table: T
): TableChanges<Columns, KeyColumn> & { readonly table: T } => {
  const keyOf = keyIn<Columns, KeyColumn>(table)
  return {
    table,
    insert: (row) => ({ insert: [{ table, rows: [{ ...row }] }] }),
    update: (row, set) => ({ update: [{ table, key: keyOf(row), version: row.version, set }] }),
    expect: (row) => ({ expect: [{ table, key: keyOf(row), version: row.version }] })
  }
}

/** Declares the table of a resource, whose columns are the fields of a schema. */
export const declareTable = <S extends OwnStruct>(schema: S) =>
<const KeyColumn extends keyof S["Type"] & string>(
  declaration: Declaration<keyof S["Type"] & string, KeyColumn>
): TableChanges<S["Type"], KeyColumn> => tableChanges(tableOf(schema, declaration))

/**
 * Adds the removal of rows to the declaration of a table.
 *
 * Rows that others hold copies of, or refer to without a foreign key, are never removed: a tag, a field, a channel, a member.
 * Before one of them becomes removable, its removal must first change every row that refers to it, and a write that adds such
 * a reference must expect the row.
 */
export const removable = <R extends { readonly table: Table }>(rows: R): WithRemoval<R> => {
  const { table } = rows
  const keyOf = keyIn<Record<string, unknown>, string>(table)
  const remove = (row: Record<string, unknown>): Changes => ({ remove: [{ table, key: keyOf(row) }] })
  // The compiler cannot see the columns through the conditional type.
  return { ...rows, remove } as unknown as WithRemoval<R>
}

/** Returns the ID of the row of a table that an activity changes; null for a table without activity. */
export const touchedId = ({ activity }: Table, touch: Activity): string | null =>
  activity === null ? null : touch[activity.row]

/**
 * Returns the changes with activity merged into the conversation and contact
 * that they insert: one statement cannot insert a row and also update it.
 */
export const mergeActivity = (changes: Changes): Changes => {
  const { insert, touch } = changes
  if (touch === undefined || insert === undefined) return changes
  return {
    ...changes,
    insert: insert.map(({ rows: inserted, table }) => {
      const id = touchedId(table, touch)
      return {
        table,
        rows: inserted.map((row) => id !== null && "id" in row && row.id === id ? withActivity(table, row, touch) : row)
      }
    })
  }
}

/** Returns a new row as its first activity leaves it. */
const withActivity = ({ activity }: Table, row: object, touch: Activity): object => {
  if (activity === null) return row
  const sources = { [activity.latest]: "at", ...activity.newest, ...activity.moved } as const
  return {
    ...row,
    ...Object.fromEntries(Object.entries(sources).map(([column, part]) => [column, touch[part ?? "at"]]))
  }
}
