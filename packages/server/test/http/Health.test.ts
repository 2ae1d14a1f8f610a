/** Readiness, over a database that gets its schema and its first secret while the test runs. */
import { assert, it } from "@effect/vitest"
import { CommitConnections } from "@messaging-crm/adapter-postgres/CommitConnections"
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { ConfigProvider, Effect, Fiber, Latch, Layer, Redacted, References } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { absent } from "../../src/BuiltInProviders.ts"
import * as Database from "../../src/Database.ts"
import * as Health from "../../src/http/Health.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as Layers from "../../src/Layers.ts"

const rootKey = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))

/** Starts a process with one root key over a database, and returns an effect that reads its readiness. */
const start = Effect.fnUntraced(function*(url: string, key: ReturnType<typeof rootKey>) {
  const database = Layers.database(Redacted.make(url))
  const routes = Layer.unwrap(Effect.map(Database.isReady, Health.layer)).pipe(
    Layer.provide(Layers.crm(Layer.provide(Layers.postgres, database), absent)),
    Layer.provide([database, Layer.succeed(RootKeys, [key]), Layer.succeed(References.MinimumLogLevel, "None")]),
    Layer.fresh
  )
  const context = yield* Layer.build(
    HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 }))
    )
  )
  const address = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
  const read = Effect.promise(async () => {
    const response = await fetch(`${address}/health/ready`, { headers: { connection: "close" } })
    return [response.status, await response.json()] as const
  })
  // The checks are cached for a while.
  return Effect.andThen(TestClock.adjust("10 seconds"), read)
})

it.effect("a process is ready only after the migrations, while the database accepts writes, and with a key of its secrets", () =>
  Effect.gen(function*() {
    const url = yield* Databases.empty
    const first = yield* start(url, rootKey(1))
    assert.deepStrictEqual(yield* first, [503, { status: "unavailable" }])
    const current = Layer.provide(Database.current, Layers.database(Redacted.make(url)))
    assert.strictEqual((yield* Effect.flip(Layer.build(current)))._tag, "StartupRejected")
    yield* Databases.migrate(url)
    yield* Layer.build(Layer.fresh(current))
    assert.deepStrictEqual(yield* first, [200, { status: "ok" }])
    // A part of the schema is missing, as before the migrations of another version.
    const forget = SqlClient.SqlClient.use((sql) =>
      sql`DELETE FROM messaging_crm_schema WHERE name = 'functions/require_writable.sql' RETURNING name`
    )
    assert.lengthOf(yield* Effect.provide(forget, Layers.database(Redacted.make(url))), 1)
    assert.deepStrictEqual(yield* first, [503, { status: "unavailable" }])
    yield* Databases.migrate(url)
    assert.deepStrictEqual(yield* first, [200, { status: "ok" }])
    // The database still serves reads, as with a full disk.
    const reject = SqlClient.SqlClient.use((sql) =>
      sql`ALTER TABLE write_probes ADD CONSTRAINT full_disk CHECK (written_at < '-infinity') NOT VALID`
    )
    yield* Effect.provide(reject, Layers.database(Redacted.make(url)))
    assert.deepStrictEqual(yield* first, [503, { status: "unavailable" }])
    const accept = SqlClient.SqlClient.use((sql) => sql`ALTER TABLE write_probes DROP CONSTRAINT full_disk`)
    yield* Effect.provide(accept, Layers.database(Redacted.make(url)))
    const other = yield* start(url, rootKey(2))
    assert.deepStrictEqual(yield* other, [503, { status: "unavailable", reason: "secret_key" }])
    assert.deepStrictEqual(yield* first, [200, { status: "ok" }])
  }).pipe(Effect.scoped))

it.effect("a process opens as many connections as its setting says", () =>
  Effect.gen(function*() {
    const database = Layers.database(Redacted.make(yield* Databases.empty)).pipe(
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_POOL: "20" })))
    )
    // Of 20 connections, half are for commits. Each transaction waits until all of them are open.
    const open = Effect.gen(function*() {
      const sql = yield* CommitConnections
      const all = yield* Latch.make()
      let count = 0
      const transaction = sql.withTransaction(
        Effect.andThen(Effect.suspend(() => ++count === 10 ? all.open : Effect.void), all.await)
      )
      yield* Effect.all(Array.from({ length: 10 }, () => transaction), { concurrency: "unbounded" })
      return count
    })
    assert.strictEqual(yield* Effect.provide(open, database), 10)
  }).pipe(Effect.scoped))

it.effect("readiness takes at most two seconds, also if the database stops responding between its questions", () =>
  Effect.gen(function*() {
    const read = (isReadable: Effect.Effect<boolean>, countPaused: Effect.Effect<number>) =>
      Effect.gen(function*() {
        const readiness = yield* Health.makeReadiness(Effect.succeed(true))
        const reading = yield* Effect.forkChild(readiness, { startImmediately: true })
        yield* TestClock.adjust("2 seconds")
        return reading.pollUnsafe() === undefined ? null : yield* Fiber.join(reading)
      }).pipe(
        Effect.provide(Layer.mock(SecretCanary, { isReadable })),
        Effect.provide(Layer.mock(ChannelHolds, { countPaused }))
      )
    const answered = Effect.succeed(true)
    assert.deepStrictEqual(yield* read(answered, Effect.succeed(1)), { status: "degraded", paused_channels: 1 })
    assert.deepStrictEqual(yield* read(answered, Effect.never), { status: "ok" })
    assert.deepStrictEqual(yield* read(Effect.never, Effect.succeed(1)), { status: "unavailable" })
    assert.deepStrictEqual(yield* read(Effect.never, Effect.never), { status: "unavailable" })
    assert.deepStrictEqual(yield* read(Effect.die("no response"), Effect.succeed(0)), { status: "unavailable" })
    const late = Effect.delay(answered, "1 second")
    assert.deepStrictEqual(yield* read(late, Effect.never), { status: "ok" })
  }))
