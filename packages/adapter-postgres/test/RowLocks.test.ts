/** The locks of commits on rows of one table: how strong they are, and in which order a statement takes them. */
import { assert, describe, it } from "@effect/vitest"
import { commitClient } from "@messaging-crm/adapter-postgres/CommitConnections"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { IdentityNetworkIdRows } from "@messaging-crm/core/ContactIdentities"
import { IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { MediaRows } from "@messaging-crm/core/Media"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import { tables } from "@messaging-crm/core/Tables"
import { Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { canLock, insertRows, newRows, type OwnedRow, rowIn, runAsOne, withoutConstraints } from "./LockScene.ts"
import * as Processes from "./Processes.ts"
import { waiterFor, whileLocked, whileOpen } from "./Sessions.ts"

/** Changes of one row. */
type ChangesOf = (row: OwnedRow) => Changes.Changes

/** The changes that lock a row which exists. */
const of_stored_rows: Readonly<Record<string, ChangesOf>> = {
  expects: ({ key, table }) => ({ expect: [{ table, key, version: 1 }] }),
  updates: ({ key, table }) => ({ update: [{ table, key, version: 1, set: {} }] }),
  removes: ({ key, table }) => ({ remove: [{ table, key }] })
}

/** The tables of which a commit can expect and update rows. */
const tables_with_version = Object.values(tables).filter((table) => table !== MediaRows.table)

/** The tables whose rows another port begins to insert. */
const inserted_otherwise: ReadonlySet<unknown> = new Set([MediaRows.table, OrganizationRows.table])

/** The changes that insert a row, by the table. An insert waits for another one of the same key. */
const of_new_rows: Readonly<Record<string, readonly [OwnedRow["table"], ChangesOf]>> = {
  ...Object.fromEntries(
    Object.values(tables).filter((table) => !inserted_otherwise.has(table)).map((table): readonly [
      string,
      (typeof of_new_rows)[string]
    ] => [
      table.name,
      [table, ({ columns, key }) => ({ insert: [{ table, rows: [{ ...columns, ...key }] }] })]
    ])
  ),
  "aliases": [
    IdentityNetworkIdRows.table,
    ({ columns: { identity_id }, key: { channel_type = "", name = "" } }) =>
      Changes.aliases({ channel_type, name, identity_id: String(identity_id) })
  ],
  "idempotency records": [tables.tags, ({ key: { id = "" } }) => ({
    response: { ...Fixtures.idempotencyRecord, key: IdempotencyKey.make(id) }
  })],
  "work": [
    tables.tags,
    ({ key: { id = "" } }) => Changes.enqueue({ kind: "send", lane: id, ref: id, due_at: Fixtures.noon })
  ]
}

/** The services of another process, whose statements wait, so that those of a test do not wait behind them. */
class Other extends Context.Service<Other, Effect.Success<typeof Processes.start>>()("Other") {}

/** Runs the changes of rows in an order that is not theirs, by the other process, until it waits for a session. */
const waitingFor = Effect.fnUntraced(function*(pid: number, rows: ReadonlyArray<OwnedRow>, changesOf: ChangesOf) {
  const client = yield* Effect.provide(commitClient, yield* Other)
  const [a, b, c, d] = rows.map((row) => ({ organization_id: row.organization_id, changes: changesOf(row) }))
  const requests = [c, a, d, b].flatMap((request) => request ?? [])
  const write = yield* Effect.forkChild(runAsOne(client, requests))
  yield* Effect.raceFirst(waiterFor(pid), Fiber.join(write))
  return write
})

/** Returns whether no other session has inserted the row of some changes. */
const isNew = Effect.fnUntraced(function*(row: OwnedRow, changesOf: ChangesOf) {
  const sql = yield* SqlClient.SqlClient
  const insert = runAsOne(sql, [{ organization_id: row.organization_id, changes: changesOf(row) }], "100ms")
  const failure = yield* Effect.flip(sql.withTransaction(Effect.andThen(insert, Effect.fail("rolled back"))))
  return failure === "rolled back"
})

const database = Layer.merge(Layer.effectDiscard(withoutConstraints), Layer.effect(Other, Processes.start)).pipe(
  Layer.provideMerge(Processes.database)
)

it.layer(database, { excludeTestServices: true })("A commit", (it) => {
  for (const table of tables_with_version) {
    describe(table.name, () => {
      it.effect("that expects a row lets no other session change it, but expect it", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const other = yield* Other
          const [row] = yield* newRows(table)
          if (row === undefined) return assert.fail("There is no row.")
          yield* insertRows([row])
          const { key, organization_id } = row
          const expects = Fixtures.mustCommit(organization_id, { expect: [{ table, key, version: 1 }] })
          const canLockAs = (strength: Parameters<typeof canLock>[1]) => Effect.provide(canLock(row, strength), other)
          assert.deepStrictEqual(
            yield* sql.withTransaction(
              Effect.andThen(expects, Effect.all([canLockAs("NO KEY UPDATE"), canLockAs("SHARE")]))
            ),
            [false, true]
          )
        }))

      for (const [does, changesOf] of Object.entries(of_stored_rows)) {
        it.effect(`that ${does} rows locks them by their keys`, () =>
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            const rows = yield* newRows(table)
            yield* insertRows(rows)
            const [, second, ...later] = rows
            if (second === undefined) return assert.fail("There is no row.")
            const [write, free] = yield* whileLocked(
              rowIn(sql, second),
              Effect.fnUntraced(function*(pid: number) {
                const write = yield* waitingFor(pid, rows, changesOf)
                return [write, yield* Effect.forEach(later, (row) => canLock(row, "UPDATE"))] as const
              })
            )
            yield* Fiber.join(write)
            assert.deepStrictEqual(free, [true, true])
          }))
      }
    })
  }

  for (const [name, [table, changesOf]] of Object.entries(of_new_rows)) {
    it.effect(`that inserts ${name} inserts them by their keys`, () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const rows = yield* newRows(table)
        const [, second, ...later] = rows
        if (second === undefined) return assert.fail("There is no row.")
        const [write, free] = yield* whileOpen(
          runAsOne(sql, [{ organization_id: second.organization_id, changes: changesOf(second) }]),
          Effect.fnUntraced(function*(pid: number) {
            const write = yield* waitingFor(pid, rows, changesOf)
            return [write, yield* Effect.forEach(later, (row) => isNew(row, changesOf))] as const
          })
        )
        yield* Effect.exit(Fiber.join(write))
        assert.deepStrictEqual(free, [true, true])
      }))
  }
})
