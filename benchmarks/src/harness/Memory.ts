/** The resident memory of a process. Reads `/proc`, so it works on Linux only. */
import { Effect, Ref, Schedule } from "effect"
import { readFileSync } from "node:fs"

/** Returns the resident memory of a process, in MiB. */
export const memoryOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

/** Runs an effect, and returns its result with the peak memory of a process during it, in MiB. */
export const memoryDuring = Effect.fnUntraced(function*<A, E, R>(pid: number, effect: Effect.Effect<A, E, R>) {
  const peak = yield* Ref.make(memoryOf(pid))
  yield* Ref.update(peak, (most) => Math.max(most, memoryOf(pid))).pipe(
    Effect.repeat(Schedule.spaced("50 millis")),
    Effect.forkScoped
  )
  return { result: yield* effect, peak_mib: yield* Ref.get(peak) }
}, Effect.scoped)
