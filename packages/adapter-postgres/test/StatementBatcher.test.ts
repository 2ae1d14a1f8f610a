import { assert, it } from "@effect/vitest"
import { CurrentTurn } from "@messaging-crm/core/Turns"
import { Cause, Effect, Exit, Fiber, Latch, References } from "effect"
import { SqlClient } from "effect/sql"
import * as StatementBatcher from "../src/database/StatementBatcher.ts"
import * as Database from "../testing/Database.ts"

const unbounded = { concurrency: "unbounded" } as const

/** Requests whose statements wait until they are released. The result of each is the request itself. */
const held = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const go = yield* Latch.make()
  const statements: Array<number> = []
  const ask = StatementBatcher.make(sql, (requests: ReadonlyArray<number>) => {
    statements.push(requests.length)
    return Effect.as(go.await, requests)
  })
  return { ask, go, statements }
})

/** Yields until every fiber that can continue has done so. */
const settled = Effect.replicateEffect(Effect.yieldNow, 10, { discard: true })

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

it.layer(Database.layer)("Requests that share a statement", (it) => {
  it.effect("are those of one turn, and those that come while as many statements run as may", () =>
    Effect.gen(function*() {
      const { ask, go, statements } = yield* held
      const askFor = (...requests: ReadonlyArray<number>) =>
        Effect.forkChild(Effect.forEach(requests, ask, unbounded), { startImmediately: true })
      const all = []
      for (const requests of [[1, 2], [3], [4, 5], [6], [7], [8, 9]]) {
        all.push(yield* askFor(...requests))
        yield* settled
      }
      assert.deepStrictEqual(statements, [2, 1, 2, 1])
      yield* go.open
      const responses = yield* Effect.forEach(all, Fiber.join)
      assert.deepStrictEqual(responses, [[1, 2], [3], [4, 5], [6], [7], [8, 9]])
      assert.deepStrictEqual(statements, [2, 1, 2, 1, 3])
    }))

  it.effect("are at most sixteen", () =>
    Effect.gen(function*() {
      const { ask, go, statements } = yield* held
      yield* go.open
      assert.deepStrictEqual(yield* Effect.forEach(numbers(100), ask, unbounded), numbers(100))
      assert.strictEqual(Math.max(...statements), 16)
    }))

  it.effect("are those of all organizations in turns, however many requests one of them has", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const go = yield* Latch.make()
      const statements: Array<ReadonlyArray<string>> = []
      const ask = StatementBatcher.make(sql, (requests: ReadonlyArray<string>) => {
        statements.push(requests)
        return Effect.as(go.await, requests)
      })
      const askFor = (organization: string, count: number) =>
        Effect.forEach(numbers(count), () => ask(organization), unbounded).pipe(
          Effect.provideService(CurrentTurn, organization),
          Effect.forkChild({ startImmediately: true })
        )
      const busy = yield* askFor("busy", 1000)
      yield* settled
      const other = yield* askFor("other", 4)
      yield* go.open
      yield* Fiber.join(busy)
      yield* Fiber.join(other)
      // The four statements that ran contain no request of the other organization, and the next one contains all.
      const isOther = statements.map((requests) => requests.filter((each) => each === "other").length)
      assert.deepStrictEqual(isOther.slice(0, 5), [0, 0, 0, 0, 4])
    }))

  it.effect("complete although the client of the first one has disconnected", () =>
    Effect.gen(function*() {
      const { ask, go, statements } = yield* held
      const first = yield* Effect.forkChild(ask(1), { startImmediately: true })
      const second = yield* Effect.forkChild(ask(2), { startImmediately: true })
      yield* settled
      yield* Fiber.interrupt(first)
      yield* go.open
      assert.strictEqual(yield* Fiber.join(second), 2)
      assert.deepStrictEqual(statements, [2])
    }))

  it.effect("are not those that were interrupted while they waited", () =>
    Effect.gen(function*() {
      const { ask, go, statements } = yield* held
      const running = []
      for (const request of numbers(4)) {
        running.push(yield* Effect.forkChild(ask(request), { startImmediately: true }))
        yield* settled
      }
      const interrupted = yield* Effect.forkChild(Effect.forEach(numbers(100), ask, unbounded), {
        startImmediately: true
      })
      yield* Fiber.interrupt(interrupted)
      const next = yield* Effect.forkChild(ask(7), { startImmediately: true })
      yield* go.open
      assert.strictEqual(yield* Fiber.join(next), 7)
      yield* Effect.forEach(running, Fiber.join)
      assert.deepStrictEqual(statements, [1, 1, 1, 1, 1])
    }))

  it.effect("get a response although an earlier one was interrupted at any of its steps", () =>
    Effect.gen(function*() {
      const { ask, go } = yield* held
      yield* go.open
      for (const steps of numbers(40).map((number) => number + 5)) {
        // The fiber yields after these steps, and is interrupted there.
        const interrupted = yield* ask(1).pipe(
          Effect.provideService(References.MaxOpsBeforeYield, steps),
          Effect.forkChild({ startImmediately: true })
        )
        yield* Fiber.interrupt(interrupted)
        const next = yield* Effect.forkChild(ask(2), { startImmediately: true })
        yield* Effect.replicateEffect(Effect.yieldNow, 50, { discard: true })
        assert.deepStrictEqual(next.pollUnsafe(), Exit.succeed(2), `interrupted after ${steps} steps`)
      }
    }))

  it.effect("fail alone where the database rejects the statement because of one of them", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ask = StatementBatcher.make(sql, (texts: ReadonlyArray<string>) =>
        Effect.orDie(Effect.map(
          sql<{ readonly number: number }>`
            SELECT t::integer AS number
            FROM unnest(${texts}::text[]) WITH ORDINALITY AS g (t, place)
            ORDER BY place
          `,
          (rows) => rows.map(({ number }) => number)
        )))
      const exits = yield* Effect.forEach(["1", "one", "2"], (text) => Effect.exit(ask(text)), unbounded)
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
      assert.deepStrictEqual(exits.filter(Exit.isSuccess).map(({ value }) => value), [1, 2])
    }))

  const failures = {
    "a lost connection": "SELECT pg_terminate_backend(pg_backend_pid())",
    "a statement that takes too long": "DO $$ BEGIN RAISE EXCEPTION 'slow' USING ERRCODE = 'query_canceled'; END $$",
    "a full disk": "DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$"
  }
  for (const [name, text] of Object.entries(failures)) {
    it.effect(`fail together with ${name}, and are not repeated`, () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        let statements = 0
        const ask = StatementBatcher.make(sql, (requests: ReadonlyArray<number>) => {
          statements++
          return Effect.orDie(Effect.as(sql.unsafe(text), requests))
        })
        const exits = yield* Effect.forEach(numbers(3), (request) => Effect.exit(ask(request)), unbounded)
        assert.isTrue(exits.every((exit) => Exit.isFailure(exit) && Cause.hasDies(exit.cause)))
        assert.strictEqual(statements, 1)
      }))
  }

  it.effect("are part of the caller's transaction, each of its own", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ask = StatementBatcher.make(sql, (names: ReadonlyArray<string>) =>
        Effect.orDie(Effect.map(
          sql<{ readonly found: boolean }>`
            SELECT EXISTS (SELECT FROM pg_tables WHERE tablename = g.name) AS found
            FROM unnest(${names}::text[]) WITH ORDINALITY AS g (name, place)
            ORDER BY place
          `,
          (rows) => rows.map(({ found }) => found)
        )))
      const inside = Effect.andThen(sql`CREATE TABLE of_this_transaction ()`, ask("of_this_transaction"))
      const [within, outside] = yield* Effect.all(
        [sql.withTransaction(inside), ask("of_another_transaction")],
        unbounded
      )
      assert.deepStrictEqual([within, outside], [true, false])
    }))
})
