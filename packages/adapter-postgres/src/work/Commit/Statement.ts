/** Builds the statement of a commit, or of several of one shape. */
import { type Changes, type Settlement } from "@messaging-crm/core/Changes"
import { MediaRows } from "@messaging-crm/core/Media"
import type { Table } from "@messaging-crm/core/Table"
import { withTextTimes } from "@messaging-crm/core/Timestamps"
import * as Audit from "../Audit.ts"
import * as Contacts from "./Contacts.ts"
import * as Events from "./Events.ts"
import { type CommitRequests, inOrder, type Owned, type Part, type Values } from "./Part.ts"
import * as RowChanges from "./RowChanges.ts"
import * as Work from "./Work.ts"

const recordResponses = (
  { json }: Values,
  records: ReadonlyArray<Owned<NonNullable<Changes["response"]>>>
): Part => {
  const recorded = json(inOrder(records, ({ key, organization_id }) => `${organization_id}|${key}`))
  return {
    name: "responses_recorded",
    body: `
    INSERT INTO idempotency_keys (
      organization_id, key, fingerprint, status, body, sealed, request_id, created_at
    )
    SELECT organization_id, key, fingerprint, status, body, sealed, request_id, created_at
    FROM jsonb_to_recordset(${recorded}) AS given (
      organization_id uuid, key text, fingerprint text, status smallint, body text, sealed boolean, request_id text,
      created_at timestamptz
    )
    RETURNING 1`,
    rows: records.length
  }
}

const insertAuditRecords = (
  { json }: Values,
  records: ReadonlyArray<Owned<NonNullable<Changes["audit"]>>>
): Part => ({
  name: "audited",
  body: `
    ${Audit.insert}(NULL::audit_records, ${json(records)})
    RETURNING 1`,
  rows: records.length
})

/** Locks the stored callbacks that changes come from, so that none is deleted before the commit ends. */
const lockCallbacks = ({ parameter }: Values, callbacks: ReadonlyArray<string>): Part => {
  const ids = Array.from(new Set(callbacks)).toSorted()
  return {
    name: "callbacks_stored",
    body: `
    SELECT 1
    FROM provider_callbacks
    WHERE id = ANY(${parameter(ids)}::uuid[])
    ORDER BY id
    FOR KEY SHARE`,
    rows: ids.length,
    failure: "lease lost"
  }
}

/** Merges the changes of several commits. Each part of changes has a field, and so does a part that is added later. */
const merged = (requests: CommitRequests) => {
  const each = <Row extends object>(rowsOf: (changes: Changes) => ReadonlyArray<Row> | undefined) =>
    requests.flatMap(({ changes, organization_id, trace }) =>
      (rowsOf(changes) ?? []).map((row) => ({ ...row, organization_id, trace }))
    )
  const one = <Row extends object>(rowOf: (changes: Changes) => Row | undefined): ReadonlyArray<Owned<Row>> =>
    requests.flatMap(({ changes, organization_id }) => {
      const row = rowOf(changes)
      return row === undefined ? [] : [{ ...row, organization_id }]
    })
  return {
    expect: each(({ expect }) => expect),
    remove: each(({ remove }) => remove),
    update: each(({ update }) => update),
    insert: requests.flatMap(({ changes: { insert = [] }, organization_id }) =>
      insert.map(({ rows, table }) => ({ table, rows: rows.map((row) => ({ organization_id, ...row })) }))
    ),
    aliases: each(({ aliases }) => aliases),
    raise: each(({ raise }) => raise),
    expand: each(({ expand }) => expand),
    enqueue: each(({ enqueue }) => enqueue),
    expedite: each(({ expedite }) => expedite),
    throttle: each(({ throttle }) => throttle),
    touch: one(({ touch }) => touch),
    settle: requests.flatMap(({ changes: { settle } }): ReadonlyArray<Settlement> =>
      settle === undefined ? [] : [settle]
    ),
    callback: requests.flatMap(({ changes: { callback } }) => callback ?? []),
    response: one(({ response }) => response),
    audit: one(({ audit }) => audit),
    abandon: each(({ abandon }) => abandon)
  } satisfies Record<keyof Changes, unknown>
}

type Merged = ReturnType<typeof merged>

/** Returns the parts that expect, delete, update, and touch rows, in the order of locks. */
const lockingParts = (values: Values, { expect, remove, touch, update }: Merged): ReadonlyArray<Part> => {
  const updates = new Map(RowChanges.byTable(update))
  const touched = touch.length === 0 ? [] : RowChanges.tables_with_activity
  const parts: ReadonlyArray<readonly [Table, ReadonlyArray<Part>]> = [
    ...RowChanges.byTable(expect).map(([table, rows]) => {
      const written = RowChanges.writtenRows(table, updates.get(table) ?? [], touch)
      return [table, [RowChanges.expectRows(values, table, rows, written)]] as const
    }),
    ...RowChanges.byTable(remove).map(([table, rows]) =>
      [table, [RowChanges.deleteRows(values, table, rows)]] as const
    ),
    ...Array.from(new Set([...updates.keys(), ...touched]), (table) => {
      const rows = updates.get(table) ?? []
      return [table, [RowChanges.updateRows(values, table, rows, touch), ...Contacts.updateCopies(rows)]] as const
    })
  ]
  return RowChanges.inLockOrder(parts, ([table]) => table).flatMap(([, ofTable]) => ofTable)
}

const insertingParts = (values: Values, { insert }: Merged): ReadonlyArray<Part> =>
  RowChanges.byTable(insert).flatMap(([table, inserts]) => {
    const rows = inserts.flatMap((some) => some.rows)
    return [
      table === MediaRows.table ? RowChanges.completeFiles(values, rows) : RowChanges.insertRows(values, table, rows),
      ...Contacts.insertCopies(values, table, rows)
    ]
  })

/** Returns the parts of the changes. Those with the same `failure` are in the order in which they lock rows. */
const partsOf = (values: Values, requests: CommitRequests): ReadonlyArray<Part> => {
  const all = merged(requests)
  const [first] = requests
  const { settle } = first.changes
  const ifAny = <A>(rows: ReadonlyArray<A>, part: (values: Values, rows: ReadonlyArray<A>) => Part) =>
    rows.length === 0 ? [] : [part(values, rows)]
  const work = [
    ...(all.raise.length === 0 ? [] : [Events.raised_work]),
    ...(all.expand.length === 0 ? [] : [Events.expanded_work])
  ]
  return [
    ...ifAny(all.response, recordResponses),
    ...(settle === undefined ? [] : [Work.settleItems(values, settle, all.settle)]),
    ...(all.expedite.length === 0 ? [] : Work.expediteItems(values, all.expedite)),
    ...ifAny(all.callback, lockCallbacks),
    ...lockingParts(values, all),
    ...insertingParts(values, all),
    ...ifAny(all.aliases, Contacts.insertAliases),
    ...(all.abandon.length === 0 ? [] : [Events.abandonDeliveries(values, first)]),
    ...(all.raise.length === 0 ? [] : Events.insertEvents(values, all.raise)),
    ...(all.expand.length === 0 ? [] : Events.expandEvents(values, all.expand)),
    ...Work.enqueueItems(values, all.enqueue, work),
    ...Work.changeLanes(values, {
      ...all,
      work: [
        ...(all.enqueue.length === 0 && work.length === 0 ? [] : ["work_inserted"]),
        ...(all.expedite.length === 0 ? [] : ["work_expedited"])
      ]
    }),
    ...ifAny(all.audit, insertAuditRecords)
  ]
}

/** Returns the condition that the main query checks. It makes PostgreSQL run the part here, which fixes when its rows are locked. */
const conditionOf = ({ parameter }: Values, { name, requires, rows }: Part): string =>
  requires ?? `(SELECT count(*) FROM ${name}) ${rows === undefined ? ">= 0" : `= ${parameter(rows)}::integer`}`

/**
 * Returns the statement that applies the changes of commits of one shape, and its
 * parameters. It applies all of them, or none if one of them cannot be applied.
 *
 * `lock_timeout` is a PostgreSQL interval such as `100ms`; null keeps the session's. The WHERE clause sets it, because
 * PostgreSQL evaluates that clause of a query without FROM once, before the expressions of its SELECT, which take the locks.
 */
export const statementOf = (requests: CommitRequests, lock_timeout: string | null) => {
  const parameters: Array<unknown> = [lock_timeout]
  const parameter = (value: unknown) => `$${parameters.push(value)}`
  const json = (rows: ReadonlyArray<object>) => `${parameter(JSON.stringify(rows.map(withTextTimes)))}::jsonb`
  const values = { parameter, json }
  const parts = partsOf(values, requests)
  const all = (failure: Part["failure"]) =>
    ["true", ...parts.filter((part) => part.failure === failure).map((part) => conditionOf(values, part))].join(
      "\n    AND "
    )
  const [{ changes: { expand = [], raise = [] } }] = requests
  const subscribed = [
    ...(raise.length === 0 ? [] : [Events.raised_events]),
    ...(expand.length === 0 ? [] : [Events.expanded_events])
  ]
  return {
    parameters,
    text: `WITH ${parts.map(({ body, name }) => `${name} AS (${body}\n)`).join(",\n\n")}

SELECT
  commit_requires(
    ${all("lease lost")},
    ${all(undefined)}
  )${subscribed.length === 0 ? "" : `,\n  ${subscribed.join(" || ")} AS subscribed`}
WHERE set_config('lock_timeout', coalesce($1, current_setting('lock_timeout')), true) IS NOT NULL`
  }
}
