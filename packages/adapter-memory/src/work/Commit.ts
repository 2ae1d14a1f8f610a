import { CallbackRows } from "@messaging-crm/core/CallbackInbox"
import * as Changes from "@messaging-crm/core/Changes"
import { Commit, Conflict, KeyUsed, LeaseLost } from "@messaging-crm/core/Commit"
import { IdentityNetworkIdRows } from "@messaging-crm/core/ContactIdentities"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { MediaRows } from "@messaging-crm/core/Media"
import * as Traces from "@messaging-crm/core/Traces"
import { Effect, Layer, Option, Result } from "effect"
import * as Table from "../world/Table.ts"
import { World, type WorldState } from "../world/World.ts"
import { applyActivity, hasVersion, latest, timeOf } from "./Activities.ts"
import { abandonUpdates, deliveryInserts, eventInserts, inCommitOrder, subscribedEvents } from "./Events.ts"
import { enqueueWork, expediteWork, settleWork, throttleLane } from "./Lanes.ts"
import { AuditRows, BytesRows, IdempotencyRows, removeFile } from "./PrivateTables.ts"

/** Sets columns and increments the version. A time that activities move forward never moves backwards. */
const updateRow = (tables: Table.Tables, owner: OrganizationId, update: Changes.Update): Option.Option<Table.Tables> =>
  Option.gen(function*() {
    const { key, set, version } = update
    const row = yield* Table.get(tables, update, owner, Table.keyOf(update, key))
    if (row.version !== version) return yield* Option.none()
    const before: Readonly<Record<string, unknown>> = { ...row }
    const next: Readonly<Record<string, unknown>> = { ...row, ...set }
    const { activity } = update.table
    const time_columns = activity === null ? [] : [activity.latest, ...Object.keys(activity.moved)]
    const times = time_columns.map((column) => {
      const time = timeOf(next[column])
      return [column, time === null ? null : latest(timeOf(before[column]), time)] as const
    })
    return yield* Table.put(tables, update, owner, {
      ...next,
      ...Object.fromEntries(times),
      version: version + 1
    })
  })

/** Inserts a row. The bytes of a file must be stored already, and a purge may have removed them. */
const insertRow = (
  tables: Table.Tables,
  owner: OrganizationId,
  ref: Pick<Table.TableRef<never>, "table">,
  row: object
) => {
  const key = Table.keyOf(ref, row)
  const isWithoutBytes = ref.table === MediaRows.table && !Table.has(tables, BytesRows, owner, key)
  return isWithoutBytes || Table.has(tables, ref, owner, key)
    ? Option.none()
    : Table.put(tables, ref, owner, { ...row, version: 1 })
}

/** Removes a row, and the bytes of a file with its row. */
const removeRow = (tables: Table.Tables, owner: OrganizationId, removal: Changes.Removal): Table.Tables => {
  const key = Table.keyOf(removal, removal.key)
  return removal.table === MediaRows.table ? removeFile(tables, owner, key) : Table.remove(tables, removal, owner, key)
}

/** Applies expectations, removals, updates, and inserts. Returns none if a version differs or a key already exists. */
const writeRows = (
  before: Table.Tables,
  owner: OrganizationId,
  { expect = [], insert = [], remove = [], update = [] }: Changes.Changes
): Option.Option<Table.Tables> =>
  Option.gen(function*() {
    for (const expected of expect) {
      const row = Table.get(before, expected, owner, Table.keyOf(expected, expected.key))
      yield* Option.filter(row, ({ version }) => version === expected.version)
    }
    let tables = remove.reduce((remaining, removal) => removeRow(remaining, owner, removal), before)
    for (const change of update) tables = yield* updateRow(tables, owner, change)
    for (const rows of insert) {
      for (const row of rows.rows) tables = yield* insertRow(tables, owner, rows, row)
    }
    return tables
  })

const insertAlias = (owner: OrganizationId) => (tables: Table.Tables, alias: Changes.Alias): Table.Tables =>
  Option.getOrElse(insertRow(tables, owner, IdentityNetworkIdRows, alias), () => tables)

const nameOf = (update: Changes.Update): string => `${update.table.name}|${Table.keyOf(update, update.key)}`

/** Applies the changes of one operation, and returns the new state, or the reason why they cannot be applied. */
export const apply = (
  state: WorldState,
  owner: OrganizationId,
  changes: Changes.Changes,
  trace: string | null
): Result.Result<WorldState, Conflict | KeyUsed | LeaseLost> =>
  Result.gen(function*() {
    const { aliases = [], audit, callback, expedite = [], raise = [], response, settle, throttle = [], touch } = changes
    if (response !== undefined && Table.has(state.tables, IdempotencyRows, owner, response.key)) {
      return yield* Result.fail(new KeyUsed())
    }
    if (callback !== undefined && Option.isNone(Table.locateByKey(state.tables, CallbackRows, callback))) {
      return yield* Result.fail(new LeaseLost())
    }
    const commits = state.commits + 1
    const settledQueue = settle === undefined ? state.queue : yield* settleWork(state.queue, settle)
    const allChanges = Changes.all(
      changes,
      response === undefined ? Changes.none : IdempotencyRows.insert(response),
      audit === undefined ? Changes.none : AuditRows.insert(audit),
      ...raise.map(eventInserts({ ...state, commits }, owner)),
      deliveryInserts(state.tables, owner, changes),
      ...abandonUpdates(state.tables, owner, changes)
    )
    const { enqueue = [], update = [] } = allChanges
    if (touch !== undefined && !hasVersion(state.tables, owner, touch)) return yield* Result.fail(new Conflict())
    if (new Set(update.map(nameOf)).size < update.length) throw new Error("A commit updates a row twice.")
    const tables = aliases.reduce(
      insertAlias(owner),
      yield* Result.fromOption(writeRows(state.tables, owner, allChanges), () => new Conflict())
    )
    const expeditedQueue = expedite.reduce(
      (current, work) => Option.flatMap(current, (queue) => expediteWork(queue, owner, work)),
      Option.some(settledQueue)
    )
    const queueBefore = yield* Result.fromOption(expeditedQueue, () => new Conflict())
    const queue = enqueue.reduce((current, work) => enqueueWork(current, owner, work, trace), queueBefore)
    return {
      ...state,
      commits,
      event_order: inCommitOrder({ ...state, commits }, owner, raise),
      tables: touch === undefined ? tables : applyActivity(tables, owner, touch),
      queue: throttle.reduce((current, lane) => throttleLane(current, owner, lane), queue)
    }
  })

/** Layer that applies changes to the in-memory world atomically. */
export const layer = Layer.effect(
  Commit,
  World.useSync(({ modify }) =>
    Commit.of({
      commit: Effect.fnUntraced(function*(organization_id, changes) {
        const trace = yield* Traces.current
        const outcome = yield* modify((state) => {
          const result = apply(state, organization_id, changes, trace)
          const subscribed = Result.map(result, () => subscribedEvents(state.tables, organization_id, changes))
          return [subscribed, Result.getOrElse(result, () => state)]
        })
        return yield* Effect.fromResult(outcome)
      })
    })
  )
)
