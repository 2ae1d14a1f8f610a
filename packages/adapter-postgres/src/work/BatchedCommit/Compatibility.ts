/** Decides which commits can share a statement, and which can run at the same time. */
import { type Changes, touchedId } from "@messaging-crm/core/Changes"
import type { Table } from "@messaging-crm/core/Table"
import * as Contacts from "../Commit/Contacts.ts"
import type { CommitRequest } from "../Commit/Part.ts"
import * as RowChanges from "../Commit/RowChanges.ts"
import * as Work from "../Commit/Work.ts"

const tablesOf = (rows: ReadonlyArray<{ readonly table: Table }> = []): string =>
  rows.length < 2
    ? rows[0]?.table.name ?? ""
    : Array.from(new Set(rows.map(({ table }) => table.name))).toSorted().join()

const isGiven = (part: unknown): string => String(part !== undefined)
const hasAny = (rows: ReadonlyArray<unknown> = []): string => String(rows.length > 0)

/**
 * How each part of changes determines the text of their statement. Changes that abandon deliveries share none.
 *
 * A shape costs less than the text that `Statement.ts` builds. `CommitShapes.test.ts` checks that equal shapes have equal texts.
 */
const shapes: { readonly [Part in Exclude<keyof Changes, "abandon">]-?: (changes: Changes) => string } = {
  settle: ({ settle }) => settle === undefined ? "" : `${settle.claimed.kind} ${settle.outcome}`,
  callback: ({ callback }) => isGiven(callback),
  response: ({ response }) => isGiven(response),
  audit: ({ audit }) => isGiven(audit),
  expect: ({ expect }) => tablesOf(expect),
  remove: ({ remove }) => tablesOf(remove),
  update: ({ update = [] }) => [tablesOf(update), ...Contacts.shapeOf(update)].join(),
  touch: ({ touch }) => isGiven(touch),
  insert: ({ insert = [] }) =>
    insert.filter(({ rows }) => rows.length > 0)
      .map(({ rows, table }) => `${table.name} ${Object.keys(rows[0] ?? {}).join()}`).join(),
  aliases: ({ aliases }) => hasAny(aliases),
  raise: ({ raise }) => hasAny(raise),
  expand: ({ expand }) => hasAny(expand),
  enqueue: ({ enqueue }) => hasAny(enqueue),
  expedite: ({ expedite }) => hasAny(expedite),
  throttle: ({ throttle = [] }) => Work.shapeOf(throttle)
}

const shapesInOrder = Object.values(shapes)

/** The maximum number of bytes in the inserted rows of a commit that shares a statement. PostgreSQL gets bytes as text of twice the size. */
const shared_bytes_max = 65_536

const isLong = ({ insert = [] }: Changes): boolean =>
  insert.some(({ rows }) =>
    RowChanges.haveBytes(rows) && shared_bytes_max < rows.reduce((sum, row) => sum + RowChanges.bytesOf(row), 0)
  )

/**
 * Returns the shape of some changes. Commits of one shape can share a statement,
 * whose text does not depend on their number. Null for changes that cannot share one.
 */
export const shapeOf = ({ changes }: Pick<CommitRequest, "changes">): string | null => {
  const { abandon = [] } = changes
  return abandon.length > 0 || isLong(changes) ? null : shapesInOrder.map((shape) => shape(changes)).join("|")
}

/** Returns about how many rows changes write: how much of its organization's turn a commit takes. */
export const countWrites = (
  { abandon = [], enqueue = [], expand = [], expedite = [], insert = [], raise = [], remove = [], update = [] }: Changes
) =>
  insert.reduce((rows, part) => rows + part.rows.length, 1 + abandon.length + enqueue.length) +
  expand.length + expedite.length + raise.length + remove.length + update.length

/** Returns the keys of the rows that changes write. Commits with one in common neither share a statement nor run concurrently. */
export const exclusiveKeysOf = ({ changes, organization_id }: CommitRequest): ReadonlyArray<string> => {
  const { response, remove = [], touch, update = [] } = changes
  return [
    ...[...remove, ...update].map((row) => RowChanges.rowKey({ ...row, organization_id })),
    ...(touch === undefined
      ? []
      : RowChanges.tables_with_activity.map((table) =>
        RowChanges.rowKey({ table, key: { id: touchedId(table, touch) ?? "" }, organization_id })
      )),
    ...(response === undefined ? [] : [`idempotency_keys|${organization_id}|${response.key}`])
  ]
}

/**
 * Returns the keys of the lanes whose items changes settle or that they throttle, and of the rows that they expect.
 *
 * Commits with one in common may share a statement, but do not run concurrently.
 */
export const sharedKeysOf = (
  { changes: { expect = [], settle, throttle = [] }, organization_id }: CommitRequest
): ReadonlyArray<string> => [
  ...expect.map((row) => RowChanges.rowKey({ ...row, organization_id })),
  ...(settle === undefined || settle.outcome === "keep" ? [] : [Work.nameOf(settle.claimed)]),
  ...throttle.map(Work.nameOf)
]
