/** Runs seeds on every processor: `npm run simulate -- SEEDS [FIRST]`. */
import { once } from "node:events"
import { availableParallelism } from "node:os"
import { Worker } from "node:worker_threads"
import type { Result } from "./seeds.ts"

const [count = 1000, first = 0] = process.argv.slice(2).map(Number)
const started = performance.now()
const failed_max = Number(process.env["FAILURES"] ?? 1)
let [done, steps, days, failed] = [0, 0, 0, 0]

const print = ({ failure, last, seed }: Result) => {
  console.log(last.join("\n"))
  console.log(`Seed ${seed} failed: ${failure}\nRepeat it with: npm run simulate -- 1 ${seed}`)
}

const threads = Math.min(count, availableParallelism())
const workers = Array.from({ length: threads }, (_, thread) => {
  const worker = new Worker(new URL("./seeds.ts", import.meta.url), {
    workerData: { first: first + thread, end: first + count, stride: threads }
  })
  worker.on("message", (result: Result) => {
    if (failed === failed_max) return
    done++
    steps += result.steps
    days += result.days
    if (result.failure === null) return
    failed++
    print(result)
    if (failed < failed_max) return
    for (const each of workers) void each.terminate()
  })
  return worker
})
// An exception in a worker rejects, so it ends the run with an error.
await Promise.all(workers.map((worker) => once(worker, "exit")))

const seconds = ((performance.now() - started) / 1000).toFixed(1)
const cpu = (process.cpuUsage().user / 1_000_000).toFixed(1)
console.log(
  `${done} seeds, ${failed} failed, ${Math.round(days)} days, ${steps} steps, ${seconds} s, ${cpu} s of CPU time`
)
process.exitCode = done === count && failed === 0 ? 0 : 1
