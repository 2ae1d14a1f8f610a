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

/** Asserts that a claim returns `count` rows, and reads at most 200 of some tables and none in a scan of the whole table. */
const assertReadsFew = Effect.fnUntraced(function*<E, R>(
  tables: ReadonlyArray<string>,
  count: number,
  claim: Effect.Effect<ReadonlyArray<unknown>, E, R>
) {
  const before = yield* readOf(tables)
  assert.lengthOf(yield* claim, count)
  const after = yield* readOf(tables)
  assert.strictEqual(after.scans - before.scans, 0)
  assert.isAtMost(after.rows - before.rows, 200)
})

/** How many rows a queue has, and whether they have been analyzed, when the plan of a claim is made. */
const planned = [0, 1, 50].flatMap((rows) => [false, true].map((isAnalyzed) => ({ rows, isAnalyzed })))

const long = 20_000

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

/** Adds callbacks of an organization, which are due. */
const addCallbacks = Effect.fnUntraced(function*(organization_id: string, count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    WITH stored AS (
      INSERT INTO provider_callbacks (id, organization_id, source, channel_id, people, body, received_at)
      SELECT uuidv7(), ${organization_id}::uuid, 'app', ${organization_id}::uuid, '["kim"]', '', ${new Date(0)}
      FROM generate_series(1, ${count})
      RETURNING id
    )
    INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at)
    SELECT organization_id, lane_name, kind, lane, id, due_at
    FROM work
    CROSS JOIN stored
    WHERE lane = ${organization_id}
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
        const queue = yield* own
        const organization_id = yield* Fixtures.organization
        const next = yield* Fixtures.organization
        const claimAndLoad = Effect.gen(function*() {
          const claimed = yield* claim(queue, "callback", new Time())
          return yield* CallbackStore.use((store) =>
            store.load(claimed, { now: Fixtures.noon, ordered_since: DateTime.makeUnsafe(-1) })
          )
        })
        yield* enqueue(organization_id, organization_id, "callback")
        yield* addCallbacks(organization_id, rows)
        if (isAnalyzed) yield* sql`ANALYZE work, work_lanes, provider_callbacks`.unprepared
        yield* sql.withTransaction(Effect.gen(function*() {
          yield* sql`DISCARD PLANS`.unprepared
          yield* claimAndLoad
          yield* enqueue(next, next, "callback")
          yield* addCallbacks(next, long)
          yield* assertReadsFew(["work", "work_lanes", "provider_callbacks"], 8, claimAndLoad)
        }))
        yield* Lanes.removeAll
        yield* sql`TRUNCATE provider_callbacks`
      })
  )
})
