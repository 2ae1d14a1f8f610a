/** Decides which commits can share a statement. */
import { touchedId } from "@messaging-crm/core/Changes"
import type { Table } from "@messaging-crm/core/Table"
import { tables } from "@messaging-crm/core/Tables"
import * as Contacts from "./Contacts.ts"
import type { CommitRequest } from "./Part.ts"
import * as Rows from "./Rows.ts"
import * as Work from "./Work.ts"

/** The tables with activity. */
export const active = Object.values(tables).filter(({ activity }) => activity !== null)

const tablesOf = (rows: ReadonlyArray<{ readonly table: Table }> = []): string =>
  rows.length < 2
    ? rows[0]?.table.name ?? ""
    : Array.from(new Set(rows.map(({ table }) => table.name))).toSorted().join()

/**
 * Returns the shape of some changes. Commits of one shape can share a statement,
 * whose text does not depend on their number. Null for changes that cannot share one.
 */
export const shapeOf = ({ changes, isSubscribed }: Pick<CommitRequest, "changes" | "isSubscribed">): string | null => {
  const { abandon = [], aliases = [], enqueue = [], expect, insert = [], raise = [], remove, throttle = [] } = changes
  const { audit, callback, response, settle, touch, update = [] } = changes
  if (abandon.length > 0) return null
  return [
    settle === undefined ? "" : `${settle.claimed.kind} ${settle.outcome}`,
    callback !== undefined,
    response !== undefined,
    audit !== undefined,
    tablesOf(expect),
    tablesOf(remove),
    tablesOf(update),
    ...Contacts.shapeOf(update),
    touch !== undefined,
    isSubscribed,
    ...insert.filter(({ rows }) => rows.length > 0).map(({ rows, table }) =>
      `${table.name} ${Object.keys(rows[0] ?? {}).join()}`
    ),
    ...[aliases, raise, enqueue, throttle].map(({ length }) => length > 0)
  ].join("|")
}

/** Returns the keys of the rows that changes write. Commits with one in common neither share a statement nor run concurrently. */
export const exclusiveKeysOf = ({ changes, organization_id }: CommitRequest): ReadonlyArray<string> => {
  const { response, remove = [], touch, update = [] } = changes
  return [
    ...[...remove, ...update].map((row) => Rows.rowKey({ ...row, organization_id })),
    ...(touch === undefined
      ? []
      : active.map((table) => Rows.rowKey({ table, key: { id: touchedId(table, touch) ?? "" }, organization_id }))),
    ...(response === undefined ? [] : [`idempotency_keys|${organization_id}|${response.key}`])
  ]
}

/**
 * Returns the keys of the lanes that changes may lock, and of the rows that they expect.
 *
 * Commits with one in common may share a statement, but do not run concurrently.
 */
export const sharedKeysOf = (
  { changes: { expect = [], settle, throttle = [] }, organization_id }: CommitRequest
): ReadonlyArray<string> => [
  ...expect.map((row) => Rows.rowKey({ ...row, organization_id })),
  ...(settle === undefined || settle.outcome === "hold" ? [] : [Work.laneName(settle.claimed)]),
  ...throttle.map(Work.laneName)
]
