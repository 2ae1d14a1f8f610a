/** The locks of commits on rows of one table: how strong they are, and in which order a statement takes them. */
import { assert, describe, it } from "@effect/vitest"
import { commitClient } from "@messaging-crm/adapter-postgres/CommitConnections"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { IdentityNetworkIdRows } from "@messaging-crm/core/ContactIdentities"
import { IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { ContactId, ConversationId } from "@messaging-crm/core/Ids"
import { MediaRows } from "@messaging-crm/core/Media"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import { tables } from "@messaging-crm/core/Tables"
import { Array, Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { CommitRequest } from "../src/work/Commit/Part.ts"
import { statementOf } from "../src/work/Commit/Statement.ts"
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

/** The activity of a conversation and a contact that have the ID of a row. */
const touches: ChangesOf = ({ key: { id = "" } }) =>
  Changes.touch({
    conversation_id: ConversationId.make(id),
    conversation_version: null,
    contact_id: ContactId.make(id),
    at: Fixtures.noon,
    preview: "",
    last_inbound_at: null
  })

/** The stored callbacks that changes come from. Each has the ID of an organization of its own. */
const callbacks: OwnedRow["table"] = {
  ...OrganizationRows.table,
  name: "provider_callbacks",
  columns: ["source", "body", "received_at", "organization_id", "people"]
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

/** Returns commits of the changes of rows, in an order that is not theirs. */
const shuffled = (rows: ReadonlyArray<OwnedRow>, changesOf: ChangesOf) => {
  const [a, b, c, d] = rows.map((row) => ({
    organization_id: row.organization_id,
    changes: changesOf(row),
    trace: null
  }))
  return [c, a, d, b].flatMap((request) => request ?? [])
}

/** Runs the changes of rows by the other process, until it waits for a session. */
const waitingFor = Effect.fnUntraced(function*(pid: number, rows: ReadonlyArray<OwnedRow>, changesOf: ChangesOf) {
  const client = yield* Effect.provide(commitClient, yield* Other)
  const write = yield* Effect.forkChild(runAsOne(client, shuffled(rows, changesOf)))
  yield* Effect.raceFirst(waiterFor(pid), Fiber.join(write))
  return write
})

/** Returns the rows that the statement of commits names, as texts that begin with the organization and the key. */
const namedRows = (requests: ReadonlyArray<CommitRequest>): ReadonlyArray<ReadonlyArray<string>> => {
  if (!Array.isReadonlyArrayNonEmpty(requests)) return []
  return statementOf(requests, null).parameters.flatMap((parameter) => {
    const isRows = typeof parameter === "string" && parameter.startsWith("[{\"organization_id\"")
    return isRows ? [JSON.parse(parameter).map((row: object) => JSON.stringify(row))] : []
  })
}

/** Checks that changes of stored rows, the first of which was stored last, lock no row before those of smaller keys. */
const locksByKey = Effect.fnUntraced(function*(table: OwnedRow["table"], changesOf: ChangesOf) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* newRows(table)
  yield* insertRows(rows.toReversed())
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
  // Another plan can lock the rows in the order in which the statement names them.
  for (const named of namedRows(shuffled(rows, changesOf))) assert.deepStrictEqual(named, named.toSorted())
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

      for (
        const [does, changesOf] of Object.entries({
          ...of_stored_rows,
          ...(table.activity === null ? {} : { touches })
        })
      ) {
        it.effect(`that ${does} rows locks them by their keys`, () => locksByKey(table, changesOf))
      }
    })
  }

  it.effect(
    "that comes from stored callbacks locks them by their IDs",
    () => locksByKey(callbacks, ({ organization_id }) => ({ callback: organization_id }))
  )

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
