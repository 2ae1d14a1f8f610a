/**
 * A clock with the database's time, so that processes on hosts with different
 * clocks agree on the time within milliseconds.
 */
import { type Array, Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/**
 * One query of the database's time, in milliseconds. `sent` and `received` are of the host's monotonic clock, `database`
 * is the result.
 */
export interface Sample {
  readonly sent: number
  readonly received: number
  readonly database: number
}

export type Samples = Array.NonEmptyReadonlyArray<Sample>

const roundTrip = ({ received, sent }: Sample): number => received - sent

/**
 * Estimates how far the database's clock is ahead of the host's monotonic one,
 * from the sample with the shortest round trip.
 *
 * An earlier estimate is only moved into the interval that this sample allows, so
 * that samples over a slow network do not make a good estimate worse.
 */
export const estimate = (samples: Samples, earlier?: number): number => {
  const shortest = samples.reduce((best, sample) => roundTrip(sample) < roundTrip(best) ? sample : best)
  // The database read its clock after `sent` and before `received`.
  const [min, max] = [shortest.database - shortest.received, shortest.database - shortest.sent]
  return Math.min(Math.max(earlier ?? (min + max) / 2, min), max)
}

/** A reading of this clock (`time`), and the host's monotonic time at which it was made (`at`), in milliseconds. */
export interface Reading {
  readonly at: number
  readonly time: number
}

/**
 * Returns the reading at a monotonic time that is not earlier than the last one.
 *
 * Time never goes back. Where the last reading is ahead of the database's time,
 * time advances at half speed until the database's has caught up.
 */
export const advance = (last: Reading, offset: number, at: number): Reading => ({
  at,
  time: Math.max(at + offset, last.time + (at - last.at) / 2)
})

const monotonic = (host: Clock.Clock): number => Number(host.monotonicTimeNanosUnsafe()) / 1_000_000

/** A clock with the database's time, and the host's timers for sleeping. Steps of the host's wall clock do not affect it. */
export class DatabaseClock implements Clock.Clock {
  private readonly host: Clock.Clock
  private offset: number
  private last: Reading

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
    this.last = advance(this.last, this.offset, monotonic(this.host))
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

/** Returns a warning where the host's clock is off by more than a second. */
export const warningOf = (offset: Duration.Duration): Option.Option<string> => {
  const seconds = Math.round(Duration.toSeconds(offset))
  if (Math.abs(Duration.toMillis(offset)) <= 1000) return Option.none()
  const difference = `${Duration.format(Duration.seconds(Math.abs(seconds)))} ${seconds > 0 ? "ahead of" : "behind"}`
  return Option.some(`This host's clock is ${difference} the database's. The service uses the database's clock.`)
}

const measure = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  host: Clock.Clock
): Effect.fn.Return<Samples, SqlError.SqlError> {
  const sample = Effect.gen(function*() {
    const sent = monotonic(host)
    const [row] = yield* sql<{ readonly database: number }>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS database
    `
    const received = monotonic(host)
    return row === undefined ? yield* Effect.die("The database returned no time") : { ...row, sent, received }
  })
  return yield* Effect.all([sample, sample, sample, sample, sample])
})

/**
 * Makes the clock, and measures the offset again every 30 seconds for as long as the scope is open. Only the first
 * measurement can fail; a later one that fails keeps the current offset.
 */
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
  const resynchronize = Effect.gen(function*() {
    let warned = yield* warn(false)
    while (true) {
      yield* Effect.sleep("30 seconds")
      yield* again
      warned = yield* warn(warned)
    }
  })
  yield* Effect.forkScoped(Effect.provideService(resynchronize, Clock.Clock, host))
  return Context.make(HostClockOffset, offset).pipe(Context.add(Clock.Clock, clock))
})

/**
 * Layer that replaces Effect's `Clock` by one with the database's time.
 */
export const layer = Layer.effectContext(make)
