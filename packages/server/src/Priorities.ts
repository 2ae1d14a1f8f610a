/** The priorities of threads, for hosts with fewer processors than threads. */
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { getPriority, setPriority } from "node:os"

/** Returns the threads of this process, where each has a priority of its own. The first thread has the id of the process. */
const threads = (): ReadonlyArray<number> =>
  process.platform === "linux" ? readdirSync("/proc/self/task").map(Number) : [process.pid]

const set = (niceness: number): void => {
  for (const thread of threads()) setPriority(thread, thread === process.pid ? niceness : Math.min(niceness + 5, 19))
}

// An error is ignored: the service works on a system without priorities, too.
const attempt = (niceness: () => number) =>
  Effect.ignore(Effect.try({ try: () => set(niceness()), catch: (cause) => cause }))

/**
 * Lets the main thread have a processor before V8's compilers and collectors. On a single processor a compiler takes 20 to
 * 40 ms for a large function, and every request would wait for it.
 */
export const lowerCompilerPriority = attempt(getPriority)

/**
 * Gives the workers on the same machine a processor first, and the compilers of this process last. Otherwise, on a
 * machine without a free processor, clients that never pause would take it from the workers, and deliveries would fall
 * further and further behind.
 */
export const lowerPriority = attempt(() => Math.max(getPriority(), 5))
