/**
 * The virtual clock and the seeded scheduler of a simulation.
 *
 * A run is synchronous: it never returns to the event loop. While a task is ready, the seed selects the next one.
 * When none is, the clock moves to the next time at which something happens.
 */
import { type Clock, Duration, Effect, type Scheduler } from "effect"
import type { Seeded } from "./Seeded.ts"

interface Sleeper {
  readonly at: number
  /** Whether it only looks for work from time to time. Alone it does not move the clock. */
  readonly isIdle: boolean
  /** Whether it is the pause between purges. */
  readonly isPurge: boolean
  readonly wake: () => void
}

export interface Timeline {
  readonly clock: Clock.Clock
  readonly scheduler: Scheduler.Scheduler
  readonly now: () => number
  /** How many tasks have run. */
  readonly steps: () => number
  /** Sleeps; never counts as a pause between polls, so the clock moves on. People, networks, and endpoints sleep with it. */
  readonly wait: (millis: number) => Effect.Effect<void>
  /** Runs tasks until the condition holds. */
  readonly runUntil: (isDone: () => boolean) => void
}

/** The time at which every run starts. The choice is arbitrary. */
export const epoch = Date.UTC(2026, 0, 5, 9)

/** The maximum number of steps of a run. A run that takes more would not end. */
const steps_max = 3_000_000

const purge_millis = 3_600_000

/**
 * Whether a sleep is a pause between polls: a quarter of a second with jitter, the sweep's, or the purge's.
 *
 * The clock skips polls that would find nothing, so that a run of days takes few steps. A poller that wakes late behaves
 * like one whose process was busy, so a wrong guess costs steps and not correctness.
 */
const isPoll = (millis: number): boolean =>
  (millis >= 200 && millis <= 300) || millis === 15_000 || millis >= purge_millis

/**
 * Makes a timeline. `nextDue` returns when stored work is due next, or null: the time now moves the clock from poll
 * to poll until the work is claimed.
 */
export const make = (random: Seeded, nextDue: (now: number) => number | null): Timeline => {
  const ready: Array<() => void> = []
  const sleepers = new Set<Sleeper>()
  let [now, steps] = [epoch, 0]

  const dispatcher: Scheduler.SchedulerDispatcher = {
    scheduleTask: (task) => {
      ready.push(task)
    },
    flush: () => {}
  }

  const runNext = (): boolean => {
    const index = ready.length < 2 ? 0 : random.between(0, ready.length - 1)
    const task = ready[index]
    const last = ready.pop()
    if (task === undefined || last === undefined) return false
    if (index < ready.length) ready[index] = last
    if (++steps > steps_max) throw new Error("The run does not end.")
    task()
    return true
  }

  const wake = (sleeper: Sleeper) => {
    sleepers.delete(sleeper)
    ready.push(sleeper.wake)
  }

  /** Moves the clock to the next time at which something happens, and wakes the sleepers of that time. */
  const advance = (): boolean => {
    const due = nextDue(now)
    const isDue = due !== null && due <= now
    let next = due === null || isDue ? Infinity : due
    for (const { at, isIdle } of sleepers) if ((!isIdle || isDue) && at < next) next = at
    if (next === Infinity) return false
    now = Math.max(now, Math.ceil(next))
    const overdue = Array.from(sleepers).filter(({ at }) => at <= now)
    overdue.filter(({ isIdle }) => !isIdle).forEach(wake)
    // Most polls find nothing. One poller at a time looks for work that is due, and now and then one looks for none.
    overdue.filter(({ isPurge }) => isPurge && random.chance(0.2)).forEach(wake)
    const pollers = overdue.filter(({ isIdle, isPurge }) => isIdle && !isPurge)
    const poller = pollers[random.between(0, Math.max(0, pollers.length - 1))]
    if (poller !== undefined && (isDue || random.chance(0.05))) wake(poller)
    return true
  }

  const sleep = (millis: number, isIdle: boolean): Effect.Effect<void> =>
    Effect.callback((resume) => {
      const isPurge = isIdle && millis >= purge_millis
      const sleeper = { at: now + Math.max(millis, 0), isIdle, isPurge, wake: () => resume(Effect.void) }
      sleepers.add(sleeper)
      return Effect.sync(() => sleepers.delete(sleeper))
    })

  const nanos = () => BigInt(now) * 1_000_000n
  return {
    clock: {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) => {
        const millis = Duration.toMillis(duration)
        return sleep(millis, isPoll(millis))
      }
    },
    scheduler: {
      executionMode: "sync",
      // A fiber yields at statements only, so that a commit and its check are one step.
      shouldYield: () => false,
      makeDispatcher: () => dispatcher
    },
    now: () => now,
    steps: () => steps,
    wait: (millis) => sleep(millis, false),
    runUntil: (isDone) => {
      while (!isDone()) {
        if (!runNext() && !advance()) throw new Error("Nothing can happen any more.")
      }
    }
  }
}
