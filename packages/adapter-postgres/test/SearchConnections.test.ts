/** Searches have connections, a time limit and turns of their own. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { makeSearch, SearchConnections } from "@messaging-crm/adapter-postgres/SearchConnections"
import { SearchTimeout } from "@messaging-crm/core/Contacts"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Config, Deferred, Effect, Exit, Fiber, Layer, Ref, References } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

const client = Layer.unwrap(Effect.map(Config.Redacted("TEST_DATABASE_URL"), (url) => Client.layer({ url })))

const [busy, other] = [
  OrganizationId.make("0199abcd-0000-7000-8000-00000000000a"),
  OrganizationId.make("0199abcd-0000-7000-8000-00000000000b")
]

layer(client, { timeout: "5 minutes" })("searches", (it) => {
  it.effect("time out after a second with a typed error, while other reads complete", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const search = yield* makeSearch(sql, () => new SearchTimeout())
      const endless = Effect.flip(search(busy, (sql) => sql`SELECT pg_sleep(60) AS "a search"`))
      const searching = yield* Effect.forkChild(Effect.all([endless, endless], { concurrency: "unbounded" }))
      const running = sql<{ readonly count: number }>`
        SELECT count(*)::int AS count FROM pg_stat_activity WHERE query LIKE '%"a search"%' AND pid <> pg_backend_pid()
      `
      yield* Effect.repeat(running, { until: ([row]) => (row?.count ?? 0) > 0 })
      const reads = yield* Effect.all(Array.from({ length: 40 }, () => sql`SELECT 1`), { concurrency: "unbounded" })
      assert.lengthOf(reads, 40)
      assert.isTrue((yield* Fiber.join(searching)).every((error) => error instanceof SearchTimeout))
      assert.deepStrictEqual(yield* search(other, (sql) => sql`SELECT 42 AS response`), [{ response: 42 }])
    }))

  it.effect("take part in a transaction of the caller", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const search = yield* makeSearch(sql, () => new SearchTimeout())
      const pid = (sql: SqlClient.SqlClient) => sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
      const [own, found] = yield* sql.withTransaction(Effect.all([pid(sql), search(busy, pid)]))
      assert.deepStrictEqual(found, own)
    }))
})

describe("organizations", () => {
  const connections = Layer.effect(
    SearchConnections,
    Effect.map(SqlClient.SqlClient, (sql) => ({ sql, statements: 1 }))
  ).pipe(Layer.provideMerge(client))

  it.effect("take turns: the one with a hundred searches keeps another waiting for one of them", () =>
    Effect.gen(function*() {
      const search = yield* makeSearch(yield* SqlClient.SqlClient, () => new SearchTimeout())
      const ended = yield* Ref.make<ReadonlyArray<string>>([])
      const gate = yield* Deferred.make<void>()
      const step = (name: string, organization: OrganizationId) =>
        search(organization, () => Effect.andThen(Deferred.await(gate), Ref.update(ended, (all) => [...all, name])))
      const many = yield* Effect.forEach(
        Array.from({ length: 100 }),
        () => Effect.forkChild(step("busy", busy), { startImmediately: true })
      )
      const one = yield* Effect.forkChild(step("other", other), { startImmediately: true })
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach([...many, one], Fiber.join)
      assert.isAtMost((yield* Ref.get(ended)).indexOf("other"), 2)
    }).pipe(Effect.provide(connections)))

  it.effect("wait for a turn for a second at most, also behind a search whose client has hung up", () =>
    Effect.gen(function*() {
      const search = yield* makeSearch(yield* SqlClient.SqlClient, () => new SearchTimeout())
      const received = yield* Deferred.make<void>()
      const holding = yield* Effect.forkChild(search(busy, () => Deferred.await(received)), { startImmediately: true })
      yield* Effect.forkChild(Fiber.interrupt(holding), { startImmediately: true })
      const waiting = yield* Effect.forkChild(Effect.flip(search(other, () => Effect.void)), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(waiting), new SearchTimeout())
      const next = yield* Effect.forkChild(search(other, () => Effect.succeed("found")), { startImmediately: true })
      yield* Deferred.succeed(received, undefined)
      assert.strictEqual(yield* Fiber.join(next), "found")
    }).pipe(Effect.provide(connections)))

  it.effect("have a second for all their statements, and begin no further one", () =>
    Effect.gen(function*() {
      const search = yield* makeSearch(yield* SqlClient.SqlClient, () => new SearchTimeout())
      const received = yield* Deferred.make<void>()
      const begun: Array<string> = []
      const statement = (name: string) =>
        Effect.andThen(Effect.sync(() => void begun.push(name)), Deferred.await(received))
      const searching = yield* Effect.forkChild(
        Effect.flip(
          search(busy, (_, proceed) => Effect.andThen(statement("first"), Effect.andThen(proceed, statement("second"))))
        ),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(searching), new SearchTimeout())
      const next = yield* Effect.forkChild(search(other, () => statement("next")), { startImmediately: true })
      yield* Deferred.succeed(received, undefined)
      yield* Fiber.join(next)
      assert.deepStrictEqual(begun, ["first", "next"])
    }).pipe(Effect.provide(connections)))

  it.effect("get a slot although an earlier search was interrupted at any of its steps", () =>
    Effect.gen(function*() {
      const search = yield* makeSearch(yield* SqlClient.SqlClient, () => new SearchTimeout())
      for (const waits of [false, true]) {
        for (let steps = 3; steps < 60; steps++) {
          const gate = yield* Deferred.make<void>()
          const earlier = waits
            ? [yield* Effect.forkChild(search(busy, () => Deferred.await(gate)), { startImmediately: true })]
            : []
          // The fiber yields after these steps, and is interrupted there.
          const interrupted = yield* search(busy, () => Effect.void).pipe(
            Effect.provideService(References.MaxOpsBeforeYield, steps),
            Effect.forkChild({ startImmediately: true })
          )
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.interrupt(interrupted)
          yield* Effect.forEach(earlier, Fiber.join)
          const next = yield* Effect.forkChild(search(other, () => Effect.succeed(2)), { startImmediately: true })
          yield* Effect.replicateEffect(Effect.yieldNow, 50, { discard: true })
          assert.deepStrictEqual(next.pollUnsafe(), Exit.succeed(2), `interrupted after ${steps} steps, ${waits}`)
        }
      }
    }).pipe(Effect.provide(connections)))
})
