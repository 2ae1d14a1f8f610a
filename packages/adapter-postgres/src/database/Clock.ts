/**
 * The database's clock as everyone's: processes on hosts whose clocks differ
 * agree on the time, by milliseconds.
 */
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** One question for the time, in milliseconds: of the host's monotonic clock, and of the database's. */
export interface Sample {
  readonly asked: number
  readonly answered: number
  readonly database: number
}

export type Samples = readonly [Sample, ...ReadonlyArray<Sample>]

const roundTrip = ({ answered, asked }: Sample): number => answered - asked

/**
 * Estimates how far the database's clock is ahead of the host's monotonic one,
 * from the sample with the shortest round trip.
 *
 * An earlier estimate moves no further than that sample proves it wrong, so a
 * slow network does not spoil a good one.
 */
export const estimate = (samples: Samples, earlier?: number): number => {
  const shortest = samples.reduce((best, sample) => roundTrip(sample) < roundTrip(best) ? sample : best)
  // The database looked at its clock after the question and before the answer.
  const [min, max] = [shortest.database - shortest.answered, shortest.database - shortest.asked]
  return Math.min(Math.max(earlier ?? (min + max) / 2, min), max)
}

/** A time that was told, and when by the host's monotonic clock. In milliseconds. */
export interface Told {
  readonly at: number
  readonly time: number
}

/**
 * Tells the time at a moment that is no earlier than the last.
 *
 * Where that would be less than was told, time goes on at half its speed until
 * the database's has caught up: it neither jumps back nor stands still.
 */
export const tell = (last: Told, offset: number, at: number): Told => ({
  at,
  time: Math.max(at + offset, last.time + (at - last.at) / 2)
})

const monotonic = (host: Clock.Clock): number => Number(host.monotonicTimeNanosUnsafe()) / 1_000_000

/** A clock that tells the database's time and sleeps by the host's timers. Steps of the host's wall clock do not touch it. */
export class DatabaseClock implements Clock.Clock {
  private readonly host: Clock.Clock
  private offset: number
  private last: Told

  constructor(host: Clock.Clock, samples: Samples) {
    this.host = host
    this.offset = estimate(samples)
    const at = monotonic(host)
    this.last = { at, time: at + this.offset }
  }

  correct(samples: Samples): void {
    this.offset = estimate(samples, this.offset)
  }

  private now(): number {
    this.last = tell(this.last, this.offset, monotonic(this.host))
    return this.last.time
  }

  currentTimeMillisUnsafe(): number {
    return Math.floor(this.now())
  }
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  currentTimeNanosUnsafe(): bigint {
    return BigInt(Math.floor(this.now() * 1000)) * 1000n
  }
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  monotonicTimeNanosUnsafe(): bigint {
    return this.host.monotonicTimeNanosUnsafe()
  }
  get monotonicTimeNanos(): Effect.Effect<bigint> {
    return this.host.monotonicTimeNanos
  }
  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return this.host.sleep(duration)
  }
}

/** How far the host's own clock is ahead of the database's; negative where it is behind. */
export class HostClockOffset extends Context.Service<HostClockOffset, Effect.Effect<Duration.Duration>>()(
  "@messaging-crm/adapter-postgres/Clock/HostClockOffset"
) {}

/** Says of a host's clock that it is more than a second off. */
export const warningOf = (offset: Duration.Duration): Option.Option<string> => {
  const seconds = Math.round(Duration.toSeconds(offset))
  if (Math.abs(Duration.toMillis(offset)) <= 1000) return Option.none()
  const difference = `${Duration.format(Duration.seconds(Math.abs(seconds)))} ${seconds > 0 ? "ahead of" : "behind"}`
  return Option.some(`This host's clock is ${difference} the database's. The service goes by the database's.`)
}

const measure = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  host: Clock.Clock
): Effect.fn.Return<Samples, SqlError.SqlError> {
  const sample = Effect.gen(function*() {
    const asked = monotonic(host)
    const [row] = yield* sql<{ readonly database: number }>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS database
    `
    const answered = monotonic(host)
    return row === undefined ? yield* Effect.die("The database tells no time") : { ...row, asked, answered }
  })
  return yield* Effect.all([sample, sample, sample, sample, sample])
})

/** Asks for the time now, and again every 30 seconds for as long as the scope is open. What fails later changes nothing. */
export const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const host = yield* Clock.Clock
  const clock = new DatabaseClock(host, yield* measure(sql, host))
  const offset = Effect.sync(() => Duration.millis(host.currentTimeMillisUnsafe() - clock.currentTimeMillisUnsafe()))

  const warn = Effect.fnUntraced(function*(warned: boolean) {
    const warning = warningOf(yield* offset)
    if (Option.isSome(warning) && !warned) yield* Effect.logWarning(warning.value)
    return Option.isSome(warning)
  })
  const again = measure(sql, host).pipe(
    Effect.map((samples) => clock.correct(samples)),
    Effect.catchCause((cause) => Effect.logDebug("The database's clock cannot be read", cause)),
    Effect.withTracerEnabled(false)
  )
  const follow = Effect.gen(function*() {
    let warned = yield* warn(false)
    while (true) {
      yield* Effect.sleep("30 seconds")
      yield* again
      warned = yield* warn(warned)
    }
  })
  yield* Effect.forkScoped(Effect.provideService(follow, Clock.Clock, host))
  return Context.make(HostClockOffset, offset).pipe(Context.add(Clock.Clock, clock))
})

/**
 * Layer for Effect's `Clock` with the time of the database, under everything that
 * is to go by it.
 */
export const layer = Layer.effectContext(make)
