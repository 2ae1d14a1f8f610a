/** How requests are counted while the database rejects counts. Its clock is the only one. */
import { assert, it } from "@effect/vitest"
import { ApiKeyId } from "@messaging-crm/core/Ids"
import { Array, DateTime, Effect, Exit, Logger, Option } from "effect"
import { SqlError } from "effect/sql"
import { orLocally } from "../src/accounts/LocalWindows.ts"

const key_id = ApiKeyId.make("01990000-0000-7000-8000-000000000001")

const failure = (code: string) => {
  const cause = Object.assign(new Error("The disk is full."), { code })
  return new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, message: "full", operation: "execute" }) })
}

/** A database that counts requests, or rejects counts with an error. It knows one key. */
const makeDatabase = () => {
  const database = {
    now: DateTime.makeUnsafe(0),
    /** The error with which counts fail; null while they succeed. */
    error: null as SqlError.SqlError | null,
    tries: 0,
    count: 0
  }
  const rowOf = (count: number, digest: string) =>
    digest === "unknown"
      ? Option.none()
      : Option.some({ key_id, count, window_ends_at: DateTime.makeUnsafe(0), now: database.now })
  const logged: Array<string> = []
  const authenticate = orLocally(
    ({ digest }) =>
      Effect.suspend(() => {
        database.tries++
        // Other requests come while this one waits for the database.
        return Effect.andThen(
          Effect.yieldNow,
          Effect.suspend(() => {
            if (database.error !== null) return Effect.die(database.error)
            if (digest !== "unknown") database.count++
            return Effect.succeed(rowOf(database.count, digest))
          })
        )
      }),
    ({ digest }) => Effect.sync(() => rowOf(0, digest))
  )
  const logger = Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])
  return {
    database,
    logged,
    advance: (seconds: number) => {
      database.now = DateTime.add(database.now, { seconds })
    },
    /** Returns the count of a request; null for an unknown key. */
    request: (digest = "known", limit = 3) =>
      authenticate({ digest, limit }).pipe(
        Effect.map(Option.map(({ count }) => count)),
        Effect.map(Option.getOrNull),
        Effect.provide(logger)
      )
  }
}

const counts = (request: Effect.Effect<number | null>, times: number) => Effect.replicateEffect(request, times)

it.effect("counts in the process up to one more than the limit, and begins again when the window ends", () =>
  Effect.gen(function*() {
    const { advance, database, request } = makeDatabase()
    assert.deepStrictEqual(yield* counts(request(), 2), [1, 2])
    database.error = failure("53100")
    assert.deepStrictEqual(yield* counts(request(), 5), [1, 2, 3, 4, 4])
    advance(60)
    assert.deepStrictEqual(yield* counts(request(), 2), [1, 2])
  }))

it.effect("tries the database once per second, and logs only the first rejection and the return", () =>
  Effect.gen(function*() {
    const { advance, database, logged, request } = makeDatabase()
    database.error = failure("58030")
    yield* request()
    for (let second = 0; second < 4; second++) {
      yield* Effect.all(Array.makeBy(10, () => request()), { concurrency: "unbounded" })
      advance(1)
    }
    assert.strictEqual(database.tries, 1 + 3)
    database.error = null
    yield* counts(request(), 3)
    assert.strictEqual(database.count, 2)
    assert.deepStrictEqual(logged, [
      "The database rejects writes: requests are counted in this process",
      "The database accepts writes again: requests are counted in the database"
    ])
  }))

it.effect("returns to the database with the first known key, however many unknown ones come before it", () =>
  Effect.gen(function*() {
    const { advance, database, logged, request } = makeDatabase()
    database.error = failure("53100")
    yield* counts(request(), 2)
    advance(1)
    yield* request()
    database.error = null
    assert.deepStrictEqual(yield* counts(request("unknown"), 20), Array.makeBy(20, () => null))
    assert.lengthOf(logged, 1)
    assert.strictEqual(yield* request(), 1)
    assert.lengthOf(logged, 2)
    assert.strictEqual(database.count, 1)
  }))

it.effect("pauses before the first try whenever the database rejects a count again", () =>
  Effect.gen(function*() {
    const { advance, database, request } = makeDatabase()
    for (let outage = 0; outage < 2; outage++) {
      database.error = failure("53100")
      const { tries } = database
      yield* counts(request(), 5)
      assert.strictEqual(database.tries, tries + 1)
      advance(1)
      yield* request()
      database.error = null
      yield* request()
    }
    assert.strictEqual(database.count, 2)
  }))

it.effect("fails with any other error of the database", () =>
  Effect.gen(function*() {
    const { database, request } = makeDatabase()
    database.error = failure("57014")
    assert.isTrue(Exit.isFailure(yield* Effect.exit(request())))
    assert.strictEqual(database.tries, 1)
  }))
