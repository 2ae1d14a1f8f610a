/** Claims read few rows of a long queue, although their plans were made when the queue was short. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CallbackStore } from "@messaging-crm/core/CallbackInbox"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Lanes from "../testing/Lanes.ts"
import * as Processes from "./Processes.ts"
import { claim, enqueue, own, Time } from "./WorkQueueScene.ts"

/** Returns what this connection's transaction has read of some tables. */
const readOf = Effect.fnUntraced(function*(tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const [read = { scans: NaN, rows: NaN }] = yield* sql<{ readonly scans: number; readonly rows: number }>`
    SELECT sum(seq_scan)::int AS scans, sum(seq_tup_read + idx_tup_fetch)::int AS rows
    FROM pg_stat_xact_user_tables
    WHERE relname = ANY(${tables})
  `
  return read
})

/** Asserts that a claim returns `count` rows, and reads at most 100 of some tables and none in a scan of the whole table. */
const assertReadsFew = Effect.fnUntraced(function*<E, R>(
  tables: ReadonlyArray<string>,
  count: number,
  claim: Effect.Effect<ReadonlyArray<unknown>, E, R>
) {
  const before = yield* readOf(tables)
  assert.lengthOf(yield* claim, count)
  const after = yield* readOf(tables)
  assert.strictEqual(after.scans - before.scans, 0)
  assert.isAtMost(after.rows - before.rows, 100)
})

/** How many rows a queue has, and whether they have been analyzed, when the plan of a claim is made. */
const planned = [0, 1, 50].flatMap((rows) => [false, true].map((isAnalyzed) => ({ rows, isAnalyzed })))

const long = 20_000

const no_organization = "00000000-0000-0000-0000-000000000000"

/** Adds items to the lane of another one. */
const addItems = Effect.fnUntraced(function*(ref: string, count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at)
    SELECT organization_id, lane_name, kind, lane, uuidv7(), due_at
    FROM work
    CROSS JOIN generate_series(1, ${count})
    WHERE ref = ${ref}
  `
})

/** Adds lanes without items. */
const addLanes = Effect.fnUntraced(function*(count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO work_lanes (name, cap, allowed, fifo, next_due, organization_id)
    SELECT 'send:' || uuidv7(), 1, 1, true, 'infinity', uuidv7()
    FROM generate_series(1, ${count})
  `
})

const addCallbacks = Effect.fnUntraced(function*(count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO provider_callbacks (id, organization_id, source, body, received_at, due_at)
    SELECT uuidv7(), ${no_organization}::uuid, 'app', '', ${new Date(0)}, ${new Date(0)}
    FROM generate_series(1, ${count})
  `
})

it.layer(Processes.database, { excludeTestServices: true })("claims", (it) => {
  it.effect.each(planned)(
    "read few rows of a lane with 20,000 items with a plan for $rows, analyzed: $isAnalyzed",
    ({ isAnalyzed, rows }) =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const queue = yield* own
        const organization_id = yield* Fixtures.organization
        for (const [kind, most] of [["send", 1], ["webhook_delivery", 8]] as const) {
          const lane = yield* Fixtures.uuid
          if (rows > 0) yield* addItems(yield* enqueue(organization_id, lane, kind), rows - 1)
          if (isAnalyzed) yield* sql`ANALYZE work, work_lanes`.unprepared
          yield* sql.withTransaction(Effect.gen(function*() {
            yield* sql`DISCARD PLANS`.unprepared
            yield* claim(queue, kind, new Time())
            yield* addLanes(long)
            const next = yield* Fixtures.uuid
            yield* addItems(yield* enqueue(organization_id, next, kind), long)
            yield* assertReadsFew(["work", "work_lanes"], most, claim(queue, kind, new Time(), most))
          }))
          yield* Lanes.removeAll
        }
      })
  )

  it.effect.each(planned)(
    "read few rows of 20,000 callbacks with a plan for $rows, analyzed: $isAnalyzed",
    ({ isAnalyzed, rows }) =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const token = yield* Fixtures.uuid
        const [now, lease_until] = [Fixtures.noon, DateTime.add(Fixtures.noon, { minutes: 1 })]
        const claim = CallbackStore.use((store) => store.claim({ limit: 8, now, lease_until, token }))
        yield* addCallbacks(rows)
        if (isAnalyzed) yield* sql`ANALYZE provider_callbacks`.unprepared
        yield* sql.withTransaction(Effect.gen(function*() {
          yield* sql`DISCARD PLANS`.unprepared
          yield* claim
          yield* addCallbacks(long)
          yield* assertReadsFew(["provider_callbacks"], 8, claim)
        }))
        yield* sql`TRUNCATE provider_callbacks`
      })
  )
})
