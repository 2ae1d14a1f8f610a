/** The estimate of the database's time, with network delays and wrong host clocks. */
import { assert, describe, it } from "@effect/vitest"
import * as DatabaseClock from "@messaging-crm/adapter-postgres/Clock"
import { Arbitrary, Clock, Context, DateTime, Duration, Effect, Layer, Option, References, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../testing/Database.ts"
import { ShiftedClock } from "./ShiftedClock.ts"

const between = (minimum: number, maximum: number) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))

/** The delays to the database and back, in milliseconds. */
interface Way {
  readonly there: number
  readonly back: number
}

type Ways = readonly [Way, ...ReadonlyArray<Way>]

const ways = Arbitrary.all({ there: between(0, 2000), back: between(0, 2000) })

const trips = Arbitrary.all({ first: ways, more: Arbitrary.array(ways, { maxLength: 8 }) }).pipe(
  Arbitrary.map(({ first, more }): Ways => [first, ...more])
)

/** The samples with these delays, of a database that is ahead by an offset. */
const sampled = (offset: number, [first, ...more]: Ways): DatabaseClock.Samples => {
  const sample = ({ back, there }: Way, index: number): DatabaseClock.Sample => {
    const sent = index * 10_000
    return { sent, received: sent + there + back, database: sent + there + offset }
  }
  return [sample(first, 0), ...more.map((way, index) => sample(way, index + 1))]
}

const shortest = (trip: Ways): number => Math.min(...trip.map(({ back, there }) => there + back))

const days73 = between(-73 * 86_400_000, 73 * 86_400_000)

describe("the estimate", () => {
  it.prop(
    "has an error of at most half of the shortest round trip",
    { offset: days73, trip: trips },
    ({ offset, trip }) => {
      assert.isAtMost(Math.abs(DatabaseClock.estimate(sampled(offset, trip)) - offset), shortest(trip) / 2)
    }
  )

  it.prop(
    "is never made worse by a later one",
    { offset: days73, trip: trips, later: trips },
    ({ later, offset, trip }) => {
      const first = DatabaseClock.estimate(sampled(offset, trip))
      const second = DatabaseClock.estimate(sampled(offset, later), first)
      assert.isAtMost(Math.abs(second - offset), Math.min(Math.abs(first - offset), shortest(later)))
    }
  )

  it.prop(
    "follows a clock that was set forward or back",
    { offset: days73, set: days73, trip: trips },
    ({ offset, set, trip }) => {
      assert.isAtMost(
        Math.abs(DatabaseClock.estimate(sampled(offset + set, trip), offset) - offset - set),
        shortest(trip)
      )
    }
  )
})

describe("the time of the clock", () => {
  const steps = Arbitrary.array(Arbitrary.all({ pause: between(0, 5000), offset: days73 }), { maxLength: 50 })

  it.prop("never goes back, and never runs slower than at half speed", { steps }, ({ steps }) => {
    let last: DatabaseClock.Reading = { at: 0, time: 0 }
    for (const { offset, pause } of steps) {
      const next = DatabaseClock.advance(last, offset, last.at + pause)
      assert.isAtLeast(next.time - last.time, pause / 2)
      assert.isAtLeast(next.time, next.at + offset)
      last = next
    }
  })

  it("is equal to the database's after twice the time by which it was ahead", () => {
    const ahead = { at: 0, time: 10_000 }
    assert.strictEqual(DatabaseClock.advance(ahead, 0, 19_000).time, 19_500)
    assert.strictEqual(DatabaseClock.advance(ahead, 0, 20_000).time, 20_000)
    assert.strictEqual(DatabaseClock.advance(ahead, 0, 30_000).time, 30_000)
  })

  it("warns of a host that is more than a second off", () => {
    const warnings = [Duration.seconds(1), Duration.millis(-900), Duration.hours(73), Duration.seconds(-90)].map(
      (offset) => Option.getOrNull(DatabaseClock.warningOf(offset))
    )
    assert.deepStrictEqual(warnings, [
      null,
      null,
      "This host's clock is 3d 1h ahead of the database's. The service uses the database's clock.",
      "This host's clock is 1m 30s behind the database's. The service uses the database's clock."
    ])
  })
})

it.layer(Database.layer, { excludeTestServices: true })("a process on a host that is 73 hours ahead", (it) => {
  it.effect("has the database's time, also when the host's clock is set", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const start = Duration.toMillis("73 hours")
      let ahead = start
      const host = new ShiftedClock(() => ahead)
      const clock = yield* Layer.build(DatabaseClock.layer).pipe(
        Effect.provideService(Clock.Clock, host),
        Effect.provideService(References.MinimumLogLevel, "None")
      )
      const query = sql<{ readonly now: number }>`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`
      const database = Effect.map(query, ([row]) => row?.now ?? 0)

      for (ahead of [start, 0, -start]) {
        const before = yield* database
        const now = yield* Effect.provideContext(Effect.map(DateTime.now, DateTime.toEpochMillis), clock)
        const after = yield* database
        assert.isAbove(now, before - 1000)
        assert.isBelow(now, after + 1000)
        const offset = Duration.toMillis(yield* Context.get(clock, DatabaseClock.HostClockOffset))
        assert.closeTo(offset, ahead, 60_000)
      }
    }))
})
