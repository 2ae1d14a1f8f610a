/** Runs seeds, one after the other: `npm run simulate -- SEEDS [FIRST]`. */
import { simulate } from "./Simulation.ts"

const [count = 1000, first = 0] = process.argv.slice(2).map(Number)
const started = performance.now()
let [steps, days, failed] = [0, 0, 0]
for (let seed = first; seed < first + count; seed++) {
  const outcome = simulate(seed)
  steps += outcome.steps
  days += outcome.days
  if (outcome.failure === null) continue
  failed++
  console.log(outcome.trace.last(Number(process.env["LINES"] ?? 60)).join("\n"))
  console.log(`Seed ${seed} failed: ${outcome.failure}\nRepeat it with: npm run simulate -- 1 ${seed}`)
  if (failed >= Number(process.env["FAILURES"] ?? 1)) break
}
const seconds = ((performance.now() - started) / 1000).toFixed(1)
const cpu = (process.cpuUsage().user / 1_000_000).toFixed(1)
console.log(
  `${count} seeds, ${failed} failed, ${Math.round(days)} days, ${steps} steps, ${seconds} s, ${cpu} s of CPU time`
)
process.exitCode = failed === 0 ? 0 : 1
