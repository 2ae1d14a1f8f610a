/**
 * The virtual clock and the seeded random scheduler of a simulation.
 *
 * A run is synchronous: it never returns to the event loop. While a task is ready, the seed selects the next one.
 * When none is, the clock moves to the next time at which something happens.
 */
import { IsPollPause } from "@messaging-crm/core/Loops"
import { type Clock, Duration, Effect, type Scheduler } from "effect"
import type { SeededRandom } from "./SeededRandom.ts"

interface Sleeper {
  readonly at: number
  /**
   * Whether it is a pause between polls, which does not move the clock by itself. So the clock skips polls that would find
   * nothing, and a run of days has few steps. A poller that wakes late behaves like one in a busy process.
   */
  readonly is_poll: boolean
  readonly wake: () => void
}

export interface Timeline {
  readonly clock: Clock.Clock
  readonly scheduler: Scheduler.Scheduler
  readonly now: () => number
  /** Returns the number of tasks that have run. */
  readonly steps: () => number
  /** Sleeps, and moves the clock, because it is never a pause between polls. */
  readonly wait: (millis: number) => Effect.Effect<void>
  /** Runs tasks until the condition holds. */
  readonly runUntil: (isDone: () => boolean) => void
}

/** The time at which every run starts. The choice is arbitrary. */
export const epoch = Date.UTC(2026, 0, 5, 9)

/** The maximum number of steps of a run. A run with more steps does not end. */
const steps_max = 3_000_000

/** The tasks, sleepers, and time of a run. */
interface State {
  readonly random: SeededRandom
  readonly nextDue: (now: number) => number | null
  readonly ready: Array<() => void>
  readonly sleepers: Set<Sleeper>
  now: number
  steps: number
}

/** Runs one random task that is ready; returns false if no task is. */
const runNext = (state: State): boolean => {
  const { random, ready } = state
  const index = ready.length < 2 ? 0 : random.between(0, ready.length - 1)
  const task = ready[index]
  const last = ready.pop()
  if (task === undefined || last === undefined) return false
  if (index < ready.length) ready[index] = last
  if (++state.steps > steps_max) throw new Error("The run does not end.")
  task()
  return true
}

/** Moves the clock to the next time at which something happens, and wakes the sleepers of that time. */
const advance = (state: State): boolean => {
  const { nextDue, random, ready, sleepers } = state
  const wake = (sleeper: Sleeper) => {
    sleepers.delete(sleeper)
    ready.push(sleeper.wake)
  }
  const due = nextDue(state.now)
  const isDue = due !== null && due <= state.now
  let next = due === null || isDue ? Infinity : due
  for (const { at, is_poll } of sleepers) if ((!is_poll || isDue) && at < next) next = at
  if (next === Infinity) return false
  state.now = Math.max(state.now, Math.ceil(next))
  const overdue = Array.from(sleepers).filter(({ at }) => at <= state.now)
  // Most polls find nothing, so few of them happen. While work is due, the clock stays until a poller wakes.
  for (const sleeper of overdue) if (!sleeper.is_poll || random.chance(0.08)) wake(sleeper)
  return true
}

const sleep = (state: State, millis: number, isPoll: boolean): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const at = state.now + Math.max(millis, 0)
    const sleeper: Sleeper = { at, is_poll: isPoll, wake: () => resume(Effect.void) }
    state.sleepers.add(sleeper)
    return Effect.sync(() => state.sleepers.delete(sleeper))
  })

const clockOf = (state: State): Clock.Clock => {
  const nanos = () => BigInt(state.now) * 1_000_000n
  return {
    currentTimeMillisUnsafe: () => state.now,
    currentTimeMillis: Effect.sync(() => state.now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) => Effect.flatMap(IsPollPause, (isPoll) => sleep(state, Duration.toMillis(duration), isPoll))
  }
}

const schedulerOf = ({ ready }: State): Scheduler.Scheduler => {
  const dispatcher: Scheduler.SchedulerDispatcher = {
    scheduleTask: (task) => {
      ready.push(task)
    },
    flush: () => {}
  }
  return {
    executionMode: "sync",
    // A fiber yields at statements only, so that a commit and its check are one step.
    shouldYield: () => false,
    makeDispatcher: () => dispatcher
  }
}

/**
 * Makes a timeline. `nextDue` returns when the next stored work is due, or null without stored work. While work is due now, the
 * clock moves from poll to poll.
 */
export const make = (random: SeededRandom, nextDue: State["nextDue"]): Timeline => {
  const state: State = { random, nextDue, ready: [], sleepers: new Set(), now: epoch, steps: 0 }
  return {
    clock: clockOf(state),
    scheduler: schedulerOf(state),
    now: () => state.now,
    steps: () => state.steps,
    wait: (millis) => sleep(state, millis, false),
    runUntil: (isDone) => {
      while (!isDone()) {
        if (!runNext(state) && !advance(state)) throw new Error("No task is ready, and no sleeper is left.")
      }
    }
  }
}
