/** Commits of several processes that lock the same rows and lanes. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactRows } from "@messaging-crm/core/Contacts"
import type { EventType } from "@messaging-crm/core/Events"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Cause, Deferred, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../testing/Database.ts"
import * as Lanes from "../testing/Lanes.ts"
import { unbounded } from "./CommitScene.ts"
import * as Processes from "./Processes.ts"

it.layer(Processes.database, { excludeTestServices: true })("Commits of several processes", (it) => {
  it.effect("fail the suite if they have deadlocked", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const lock = (
        [first, second]: readonly [number, number],
        mine: Deferred.Deferred<void>,
        theirs: Deferred.Deferred<void>
      ) =>
        SqlClient.SqlClient.use((sql) =>
          Effect.exit(sql.withTransaction(Effect.gen(function*() {
            yield* sql`SET LOCAL deadlock_timeout = '10ms'`
            yield* sql`SELECT pg_advisory_xact_lock(${first}::bigint)`
            yield* Deferred.succeed(mine, undefined)
            yield* Deferred.await(theirs)
            yield* sql`SELECT pg_advisory_xact_lock(${second}::bigint)`
          })))
        )
      const suite = Effect.all([lock([1, 2], one, other), lock([2, 1], other, one)], unbounded).pipe(
        Effect.provide(Layer.fresh(Database.layer))
      )
      const exit = yield* Effect.exit(suite)
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /Deadlocks in the database: 1\./)
    }))

  it.effect("do not deadlock when each expects what the others write", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const processes = yield* Effect.replicateEffect(Processes.start, 4)
      for (let round = 0; round < 60; round++) {
        const pair = [yield* Fixtures.contact(ours), yield* Fixtures.contact(ours)] as const
        const commit = ([expected, written]: typeof pair) =>
          Fixtures.commitOutcome(
            ours,
            ContactRows.expect({ id: expected.id, version: 1 }),
            ContactRows.update({ id: written.id, version: 1 }, { city: "Rome" })
          )
        const outcomes = yield* Effect.all(
          processes.map((process, index) =>
            Effect.provide(commit(index % 2 === 0 ? pair : [pair[1], pair[0]]), process)
          ),
          unbounded
        )
        assert.deepStrictEqual(outcomes.toSorted(), Fixtures.oneCommitted(3))
      }
    }))

  it.effect("do not deadlock when they raise events for the same webhooks in different orders", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const types = ["message.sent", "send.failed", "message.received"] as const
      for (const type of types) yield* Fixtures.webhook(ours, { event_types: [type] })
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
    }))
})
