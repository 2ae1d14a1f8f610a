/** Builds the statement of a commit, or of several of one shape. */
import { type Changes, type Settlement } from "@messaging-crm/core/Changes"
import { MediaRows } from "@messaging-crm/core/Media"
import type { Table } from "@messaging-crm/core/Table"
import { withTextTimes } from "@messaging-crm/core/Timestamps"
import * as Audit from "../Audit.ts"
import { tables_with_activity } from "./Batch.ts"
import * as Contacts from "./Contacts.ts"
import * as Events from "./Events.ts"
import * as Media from "./Media.ts"
import { type CommitRequest, exactly, type Owned, type Part, type Values } from "./Part.ts"
import * as Rows from "./Rows.ts"
import * as Work from "./Work.ts"

type CommitRequests = readonly [CommitRequest, ...ReadonlyArray<CommitRequest>]

const recordResponses = (
  { json, parameter }: Values,
  records: ReadonlyArray<Owned<NonNullable<Changes["response"]>>>
): Part => ({
  name: "responses_recorded",
  body: `
    INSERT INTO idempotency_keys (
      organization_id, key, fingerprint, status, body, sealed, request_id, created_at
    )
    SELECT organization_id, key, fingerprint, status, decode(body, 'base64'), sealed, request_id, created_at
    FROM jsonb_to_recordset(${
    json(
      records.map(({ body, ...record }) => ({
        ...record,
        body: body === null ? null : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64")
      }))
    )
  }) AS g (
      organization_id uuid, key text, fingerprint text, status smallint, body text, sealed boolean, request_id text,
      created_at timestamptz
    )
    RETURNING 1`,
  requires: exactly("responses_recorded", parameter(records.length))
})

const insertAuditRecords = (
  { json, parameter }: Values,
  records: ReadonlyArray<Owned<NonNullable<Changes["audit"]>>>
): Part => ({
  name: "audited",
  body: `${Audit.insert}(NULL::audit_records, ${json(records)}) RETURNING 1`,
  requires: exactly("audited", parameter(records.length))
})

/** Locks the stored callbacks that changes come from, so that none is deleted before the commit ends. */
const lockCallbacks = ({ parameter }: Values, callbacks: ReadonlyArray<string>): Part => {
  const ids = Array.from(new Set(callbacks)).toSorted()
  return {
    name: "callbacks_stored",
    body: `
    SELECT 1 FROM provider_callbacks WHERE id = ANY(${parameter(ids)}::uuid[]) ORDER BY id FOR KEY SHARE`,
    requires: exactly("callbacks_stored", parameter(ids.length)),
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
    enqueue: each(({ enqueue }) => enqueue),
    throttle: each(({ throttle }) => throttle),
    touch: one(({ touch }) => touch),
    settle: requests.flatMap(({ changes: { settle } }): ReadonlyArray<Settlement> =>
      settle === undefined ? [] : [settle]
    ),
    callback: requests.flatMap(({ changes: { callback } }) => callback ?? []),
    response: one(({ response }) => response),
    audit: one(({ audit }) => audit),
    // Changes that abandon deliveries share no statement.
    abandon: requests.length === 1 ? requests[0].changes.abandon ?? [] : []
  } satisfies Record<keyof Changes, unknown>
}

/** Returns the parts of the changes, in the order in which they lock rows. */
const partsOf = (values: Values, requests: CommitRequests): ReadonlyArray<Part> => {
  const all = merged(requests)
  const [first] = requests
  const { settle } = first.changes
  const ifAny = <A>(rows: ReadonlyArray<A>, part: (values: Values, rows: ReadonlyArray<A>) => Part) =>
    rows.length === 0 ? [] : [part(values, rows)]
  const updates = Rows.byTable(all.update)
  const touched = all.touch.length === 0
    ? []
    : tables_with_activity.filter((one) => !updates.some(([table]) => table === one))
  const locked: ReadonlyArray<readonly [Table, ReadonlyArray<Part>]> = [
    ...Rows.byTable(all.expect).map((some) => [some[0], [Rows.expectRows(values, some)]] as const),
    ...Rows.byTable(all.remove).map((some) => [some[0], [Rows.deleteRows(values, some)]] as const),
    ...[...updates, ...touched.map((table) => [table, []] as const)].map(([table, rows]) =>
      [table, [Rows.updateRows(values, table, rows, all.touch), ...Contacts.updateCopies(table, rows)]] as const
    )
  ]
  const raises = all.raise.length > 0 && first.isSubscribed
  const events = raises
    ? Events.insertEvents(values, all.raise, all.abandon)
    : ifAny(all.raise, Events.insertUnsubscribedEvents)
  return [
    ...ifAny(all.response, recordResponses),
    ...(settle === undefined ? [] : [Work.settleItems(values, { ...settle, kind: settle.claimed.kind }, all.settle)]),
    ...ifAny(all.callback, lockCallbacks),
    ...Rows.inLockOrder(locked, ([table]) => table).flatMap(([, parts]) => parts),
    ...Rows.byTable(all.insert).flatMap(([table, inserts]) => {
      const rows = inserts.flatMap((some) => some.rows)
      return [
        table === MediaRows.table ? Media.insertFiles(values, rows) : Rows.insertRows(values, table, rows),
        ...Contacts.insertCopies(values, table, rows)
      ]
    }),
    ...ifAny(all.aliases, Contacts.insertAliases),
    ...(all.abandon.length === 0 ? [] : [Events.abandonDeliveries(values, first)]),
    ...events,
    ...Work.queueWork(values, { ...all, raises }),
    ...ifAny(all.audit, insertAuditRecords)
  ]
}

/**
 * Returns the statement that applies the changes of commits of one shape, and its
 * parameters. It applies all of them, or none if one of them cannot be applied.
 *
 * `lock_timeout` is a PostgreSQL interval such as `100ms`; null keeps the session's.
 */
export const statementOf = (requests: CommitRequests, lock_timeout: string | null) => {
  const parameters: Array<unknown> = [lock_timeout]
  const parameter = (value: unknown) => `$${parameters.push(value)}`
  const json = (rows: ReadonlyArray<object>) => `${parameter(JSON.stringify(rows.map(withTextTimes)))}::jsonb`
  const parts = partsOf({ parameter, json }, requests)
  const all = (failure: Part["failure"]) =>
    ["true", ...parts.filter((part) => part.failure === failure).map(({ requires }) => requires)].join(" AND ")
  const [first] = requests
  const raises = first.changes.raise !== undefined && first.changes.raise.length > 0
  return {
    parameters,
    text: `WITH ${parts.map(({ body, name }) => `${name} AS (${body})`).join(", ")}
      SELECT commit_requires(${all("lease lost")}, ${all(undefined)})${
      !raises ? "" : first.isSubscribed
        ? `, ${Events.full_ids} AS full_ids`
        : `, commit_requires_no_subscriber(${all("subscribed")})`
    }
      WHERE set_config('lock_timeout', coalesce($1, current_setting('lock_timeout')), true) IS NOT NULL`
  }
}
