/** Commits of several processes that lock the same lanes. */
import { assert, it } from "@effect/vitest"
import { layer } from "@messaging-crm/adapter-postgres"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import type { EventType } from "@messaging-crm/core/Events"
import { Ids } from "@messaging-crm/core/Ids"
import { TagRows } from "@messaging-crm/core/Tags"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Deferred, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../testing/Database.ts"
import * as Lanes from "../testing/Lanes.ts"
import { unbounded } from "./CommitScene.ts"
import * as Processes from "./Processes.ts"

const database = Layer.mergeAll(layer, Ids.layer).pipe(Layer.provideMerge(Database.layerAlone))

it.layer(database, { excludeTestServices: true })("Commits of several processes", (it) => {
  it.effect("are counted as soon as they have deadlocked", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const before = yield* Database.deadlocks
      const [one, other] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const lock = (
        [first, second]: readonly [number, number],
        mine: Deferred.Deferred<void>,
        theirs: Deferred.Deferred<void>
      ) =>
        Effect.exit(sql.withTransaction(Effect.gen(function*() {
          yield* sql`SET LOCAL deadlock_timeout = '10ms'`
          yield* sql`SELECT pg_advisory_xact_lock(${first}::bigint)`
          yield* Deferred.succeed(mine, undefined)
          yield* Deferred.await(theirs)
          yield* sql`SELECT pg_advisory_xact_lock(${second}::bigint)`
        })))
      const exits = yield* Effect.all([lock([1, 2], one, other), lock([2, 1], other, one)], unbounded)
      assert.lengthOf(exits.filter(Exit.isFailure), 1)
      assert.strictEqual(yield* Database.deadlocks, before + 1)
    }))

  it.effect("never deadlocks when processes insert the same rows in different orders", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const before = yield* Database.deadlocks
      const processes = yield* Effect.replicateEffect(Processes.start, 2)
      for (let round = 0; round < 10; round++) {
        const rows = yield* Effect.forEach(
          Array.from({ length: 200 }, (_, index) => index),
          (index) => Fixtures.newTag(`${round}: ${index}`)
        )
        const outcomes = yield* Effect.forEach(processes, (process, index) =>
          Effect.provide(
            Fixtures.commitOutcome(
              ours,
              ...(index === 0 ? rows : rows.toReversed()).map((row) => TagRows.insert(row))
            ),
            process
          ), unbounded)
        assert.sameMembers(outcomes, ["committed", "Conflict"])
      }
      assert.strictEqual(yield* Database.deadlocks, before)
    }))

  it.effect("never deadlocks when processes raise events for the same webhooks in different orders", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const types = ["message.sent", "send.failed", "message.received"] as const
      for (const type of types) yield* Fixtures.webhook(ours, { event_types: [type] })
      const before = yield* Database.deadlocks
      const raiseAll = Effect.fnUntraced(function*(types: ReadonlyArray<EventType>) {
        const events = yield* Effect.forEach(types, (type) => Fixtures.newEvent({ type }))
        return yield* Fixtures.commitOutcome(ours, ...events.map(Changes.raise))
      })
      const [a, b, c] = types
      const orders = [[a, b, c], [c, b, a], [b, a], [c, a, b], [b, c], [a, c]]
      const processes = yield* Effect.replicateEffect(Processes.start, 3)
      const deliver = WorkQueue.use(Effect.fnUntraced(function*(queue) {
        const now = Fixtures.afterNoon(1000)
        const claimed = yield* queue.claim({
          kind: "webhook_delivery",
          limit: 8,
          now,
          lease_until: Fixtures.afterNoon(61_000),
          token: yield* Fixtures.uuid
        })
        yield* Effect.forEach(
          claimed,
          (item) => Fixtures.commitOutcome(ours, Changes.settle({ claimed: item, outcome: "finish" })),
          unbounded
        )
      }))
      const all: Array<string> = []
      for (let round = 0; round < 60; round++) {
        // Lanes that are due, that are idle, and that do not exist.
        if (round % 3 === 1) yield* Lanes.makeIdle
        if (round % 3 === 2) yield* Lanes.removeAll
        const outcomes = yield* Effect.all(
          processes.flatMap((process) => [
            ...orders.map((order) => Effect.provide(raiseAll(order), process)),
            Effect.as(Effect.provide(deliver, process), "committed")
          ]),
          unbounded
        )
        all.push(...outcomes)
      }
      assert.deepStrictEqual(new Set(all), new Set(["committed"]))
      assert.strictEqual(yield* Database.deadlocks, before)
    }))
})
