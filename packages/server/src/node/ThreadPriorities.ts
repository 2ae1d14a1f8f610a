/** The priorities of threads, for hosts with fewer processors than threads. */
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { getPriority, setPriority } from "node:os"

/** Returns the threads of this process, where each has a priority of its own. The first thread has the ID of the process. */
const threads = (): ReadonlyArray<number> =>
  process.platform === "linux" ? readdirSync("/proc/self/task").map(Number) : [process.pid]

const set = (niceness: number): void => {
  for (const thread of threads()) setPriority(thread, thread === process.pid ? niceness : Math.min(niceness + 5, 19))
}

// An error is ignored: the service works on a system without priorities, too.
const attempt = (niceness: () => number) =>
  Effect.ignore(Effect.try({ try: () => set(niceness()), catch: (cause) => cause }))

/**
 * Lowers the priority of V8's compilers and collectors below that of the main thread. On a single processor, compiling a
 * large function takes 20 to 40 ms, and every request would wait for it.
 */
export const lowerCompilerPriority = attempt(getPriority)

/**
 * Lowers the priority of this process, so that workers on the same host get CPU time first. Otherwise, continuous requests
 * delay deliveries without bound.
 */
export const lowerPriority = attempt(() => Math.max(getPriority(), 5))
