/** Tests of statements on a network that drops the packets to the database without an error. */
import { assert, describe, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { CommitConnections } from "@messaging-crm/adapter-postgres/CommitConnections"
import { SearchConnections } from "@messaging-crm/adapter-postgres/SearchConnections"
import { StatementDeadline } from "@messaging-crm/adapter-postgres/StatementDeadline"
import { Cause, Context, Deferred, Duration, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { Watchdog } from "../src/database/Client/Watchdog.ts"
import * as Database from "../testing/Database.ts"
import * as Proxy from "../testing/Proxy.ts"
import * as Backends from "./Backends.ts"

/** A client of the suite's database behind a proxy of its own. */
const behindProxy = Effect.gen(function*() {
  const { url } = yield* Database.Database
  const proxy = yield* Proxy.make(url)
  const client = yield* Layer.build(Client.layer({ url: proxy.url, connections: 10 }))
  return {
    proxy,
    sql: Context.get(client, SqlClient.SqlClient),
    commits: Context.get(client, CommitConnections),
    searches: Context.get(client, SearchConnections).sql
  }
})

const insert = (sql: SqlClient.SqlClient, name: string) =>
  sql`
    INSERT INTO organizations (id, name, created_at)
    VALUES (gen_random_uuid(), ${name}, now())
  `

const errors = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isSuccess(exit) ?
    [] :
    exit.cause.reasons.map((reason) =>
      Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : reason._tag
    )

const lostConnection = (exit: Exit.Exit<unknown, unknown>): boolean =>
  errors(exit).some((error) => SqlError.isSqlError(error) && error.reason._tag === "ConnectionError")

it.layer(Database.layer, { excludeTestServices: true })("A connection that stops responding", (it) => {
  it.effect("is replaced, as are nine others, and their pending statements fail", () =>
    Effect.gen(function*() {
      const { commits, proxy, searches, sql } = yield* behindProxy
      const ten = Effect.all([Backends.pids(sql, 3), Backends.pids(commits, 5), Backends.pids(searches, 2)])
      const before = new Set((yield* ten).flat())
      const begun = yield* Deferred.make<void>()
      const silent = yield* Deferred.make<void>()
      const write = Effect.gen(function*() {
        yield* insert(commits, "never")
        yield* Deferred.succeed(begun, undefined)
        yield* Deferred.await(silent)
        yield* commits`SELECT 1`
      }).pipe(commits.withTransaction)
      const writing = yield* Effect.forkChild(Effect.exit(write))
      yield* Deferred.await(begun)
      yield* proxy.silence
      yield* Deferred.succeed(silent, undefined)

      const read = Effect.exit(sql`SELECT 1`)
      const pending = Effect.all([Fiber.join(writing), read, read, read], { concurrency: "unbounded" })
      const ended = yield* pending
      assert.deepStrictEqual(ended.map(lostConnection), [true, true, true, true])

      const after = (yield* ten).flat()
      assert.lengthOf(after.filter((pid) => before.has(pid)), 0)
      assert.deepStrictEqual(yield* sql`SELECT id FROM organizations WHERE name = 'never'`, [])
    }).pipe(Effect.provideService(StatementDeadline, Duration.seconds(3)), Effect.scoped))

  it.effect("is replaced although no caller waits until the deadline", () =>
    Effect.gen(function*() {
      const { proxy, sql } = yield* behindProxy
      const before = yield* Backends.pid(sql)
      yield* proxy.silence
      const pending = Effect.timeout(Backends.pid(sql), "500 millis")
      const after = yield* Effect.retry(pending, { times: 200 })
      assert.notStrictEqual(after, before)
    }).pipe(Effect.provideService(StatementDeadline, Duration.seconds(2)), Effect.scoped))

  it.effect("fails a committed transaction when it is lost before the response to COMMIT", () =>
    Effect.gen(function*() {
      const { proxy, sql } = yield* behindProxy
      yield* sql.withTransaction(sql`SELECT 1`)
      yield* proxy.loseResponse((statement) => statement === "COMMIT")
      assert.isTrue(lostConnection(yield* Effect.exit(sql.withTransaction(insert(sql, "kept")))))
      assert.lengthOf(yield* sql`SELECT id FROM organizations WHERE name = 'kept'`, 1)
    }).pipe(Effect.scoped))
})

describe("A watchdog for a connection", () => {
  const checks = (watchdog: Watchdog, count: number) =>
    Array.from({ length: count }, () => watchdog.check().isUnresponsive)

  it("reports the connection as unresponsive when a response is overdue", () => {
    const watchdog = new Watchdog(() => ({ port: 0 }))
    assert.notInclude(checks(watchdog, 100), true)
    const pending = watchdog.begin(Duration.seconds(7))
    assert.deepStrictEqual(checks(watchdog, 8), [false, false, false, false, false, false, false, true])
    watchdog.end(pending, true)
    assert.notInclude(checks(watchdog, 100), true)
  })

  it("never reports a statement without a deadline", () => {
    const watchdog = new Watchdog(() => ({ port: 0 }))
    watchdog.begin(Duration.infinity)
    assert.notInclude(checks(watchdog, 1000), true)
  })

  it("expects no response to a statement that was not sent", () => {
    const watchdog = new Watchdog(() => ({ port: 0 }))
    watchdog.end(watchdog.begin(Duration.seconds(1)), false)
    assert.isTrue(watchdog.check().isIdle)
  })
})
