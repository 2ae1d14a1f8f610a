/** A thread of `main.ts`: runs every `stride`th seed, and posts the result of each. */
import { parentPort, workerData } from "node:worker_threads"
import { simulate } from "./Simulation.ts"

/** How a seed ended, and the last lines of its trace if it failed. */
export interface Result {
  readonly seed: number
  readonly failure: string | null
  readonly last: ReadonlyArray<string>
  readonly steps: number
  readonly days: number
}

interface Seeds {
  readonly first: number
  readonly end: number
  readonly stride: number
}

const { end, first, stride }: Seeds = workerData
for (let seed = first; seed < end; seed += stride) {
  const { days, failure, steps, trace } = simulate(seed)
  const last = failure === null ? [] : trace.last(Number(process.env["LINES"] ?? 60))
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that of a window; a thread has none
  parentPort?.postMessage({ seed, failure, last, steps, days } satisfies Result)
}
