/** The order of events whose commits overlap: no follower passes the event of a transaction that is still in progress. */
import { assert, it } from "@effect/vitest"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { race } from "@messaging-crm/conformance/FollowedOrder"
import * as Changes from "@messaging-crm/core/Changes"
import { EventStore } from "@messaging-crm/core/Events"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Context, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as RestoredEvents from "../src/database/RestoredEvents.ts"
import * as Processes from "./Processes.ts"
import { waiterFor, whileOpen } from "./Sessions.ts"

const raise = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const event = yield* Fixtures.newEvent()
  yield* Fixtures.mustCommit(organization_id, Changes.raise(event))
  return event.id
})

const idsOf = (events: ReadonlyArray<{ readonly id: string }>) => events.map(({ id }) => id)

it.layer(Processes.database, { excludeTestServices: true })("Events of overlapping transactions", (it) => {
  it.effect("follow once every earlier transaction has ended", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const all = store.committed(ours, { from: Fixtures.beforeCommits, size: 9 })
      const first = yield* raise(ours)
      const [before] = yield* Fixtures.committedEvents(ours, 1)
      const { id: stalled } = yield* Fixtures.newEvent()
      const insert = sql`
        INSERT INTO webhook_events (organization_id, id, type, body, created_at)
        VALUES (${ours}, ${stalled}, 'message.sent', '{}', ${new Date(0)})
      `
      const later = yield* whileOpen(insert, () =>
        Effect.gen(function*() {
          const later = [yield* raise(ours), yield* raise(ours)]
          assert.deepStrictEqual(idsOf(yield* all), [first])
          assert.deepStrictEqual(yield* store.lastCommitted(ours), Option.fromUndefinedOr(before))
          return later
        }))
      const committed = yield* Fixtures.committedEvents(ours, 4)
      assert.deepStrictEqual(idsOf(committed), [first, stalled, ...later])
    }))

  it.effect("follow although an earlier transaction was rolled back", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const later = yield* sql.withTransaction(Effect.gen(function*() {
        yield* raise(ours)
        return yield* Effect.fail("roll back")
      })).pipe(Effect.catch(() => raise(ours)))
      assert.deepStrictEqual(idsOf(yield* Fixtures.committedEvents(ours, 1)), [later])
    }))

  it.effect("are renumbered by a migration if a dump of another server was restored, and precede later ones", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const created_at = Fixtures.lastTime
      const restored = yield* Effect.replicateEffect(Fixtures.newEvent({ created_at }), 3)
      yield* Fixtures.mustCommit(ours, ...restored.map(Changes.raise))
      assert.isTrue(yield* Migrations.isCurrent)
      const [, known = assert.fail("There is no event.")] = yield* Fixtures.committedEvents(ours, 3)
      yield* sql`UPDATE webhook_events SET committed_in = '9000000000' WHERE organization_id = ${ours}`
      assert.isFalse(yield* Migrations.isCurrent)
      yield* Migrations.run
      assert.isTrue(yield* Migrations.isCurrent)
      const later = yield* raise(ours)
      const all = yield* Fixtures.committedEvents(ours, 4)
      assert.deepStrictEqual(idsOf(all), [...restored.map(({ id }) => id).toSorted(), later])
      // A cursor from before does not find its event again.
      assert.notDeepEqual((yield* store.committed(ours, { from: known, size: 1 }))[0], known)
    }))

  it.effect("are renumbered once, although several processes start after a restore", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* raise(yield* Fixtures.organization)
      yield* sql`UPDATE webhook_events SET committed_in = '9000000000'`
      const numbers = sql`SELECT id, committed_in::text AS committed_in FROM webhook_events ORDER BY id`
      const lock = sql`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 7308604893))`
      // Another process holds the lock of migrations, and renumbers while this one waits.
      const [migrating, renumbered] = yield* whileOpen(
        lock,
        Effect.fnUntraced(function*(pid) {
          const migrating = yield* Effect.forkChild(Migrations.run)
          yield* waiterFor(pid)
          yield* RestoredEvents.renumber
          return [migrating, yield* numbers] as const
        })
      )
      yield* Fiber.join(migrating)
      assert.deepStrictEqual(yield* numbers, renumbered)
    }))

  for (const seed of [1, 2, 3]) {
    it.effect(`are read by all followers in the same order while writers stall and roll back: seed ${seed}`, () =>
      Effect.gen(function*() {
        const [process, writers] = [yield* Processes.startCrm, yield* Processes.startCrm]
        const sql = Context.get(writers, SqlClient.SqlClient)
        const step = sql`SELECT 1`
        yield* race({
          seed,
          writers: 8,
          commits: 20,
          followers: 3,
          run: ({ commit, isRolledBack, stalls }) =>
            sql.withTransaction(Effect.gen(function*() {
              yield* Effect.provideContext(commit, writers)
              yield* Effect.replicateEffect(step, stalls, { discard: true })
              if (isRolledBack) yield* Effect.fail("roll back")
            })).pipe(Effect.catchIf((error) => error === "roll back", () => Effect.void), Effect.orDie)
        }).pipe(Effect.provideContext(process))
      }))
  }
})
