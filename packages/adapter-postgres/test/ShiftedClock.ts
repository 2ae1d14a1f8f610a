import { Clock, type Duration, Effect } from "effect"

/** The machine's clock with a wall clock that is ahead by so many milliseconds. Its timers are the machine's. */
export class ShiftedClock implements Clock.Clock {
  private readonly machine = Clock.Clock.defaultValue()
  private readonly ahead: () => number

  constructor(ahead: () => number) {
    this.ahead = ahead
  }

  currentTimeMillisUnsafe(): number {
    return this.machine.currentTimeMillisUnsafe() + this.ahead()
  }
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.currentTimeMillisUnsafe()) * 1_000_000n
  }
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  monotonicTimeNanosUnsafe(): bigint {
    return this.machine.monotonicTimeNanosUnsafe()
  }
  readonly monotonicTimeNanos = this.machine.monotonicTimeNanos
  sleep(duration: Duration.Duration) {
    return this.machine.sleep(duration)
  }
}
