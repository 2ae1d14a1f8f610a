/**
 * Moves an organization between two cells under load of reads, writes, sends, inbound messages, and deliveries, kills the command
 * with `kill -9` at each of its steps, and continues or undoes the move: `npm run move-test`, or with the number of
 * rounds and the seed, `-- 3 4711`. `-- 0` kills it at three steps only.
 *
 * The checker of the torture test judges the history. It fails if a move closes the organization for writes for more than 10 s.
 */
import { Effect } from "effect"
import * as Report from "../torture/run/Report.ts"
import { runDrill, withPostgres } from "./harness/Drill.ts"
import { drill } from "./move/Move.ts"
import { steps } from "./move/Mover.ts"

const rounds = Number(process.argv[2] ?? 2)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1_000_000))
const closed_max_ms = 10_000

const run = Effect.gen(function*() {
  const started_at = performance.now()
  const { history, moved, violations } = yield* drill({
    seed,
    clients: 4,
    // There is an odd number of steps, so each is undone in one round and continued in the next one.
    steps: rounds === 0
      ? ["Copying", "Leaving", "Arriving"]
      : Array.from({ length: rounds }, () => steps).flat(),
    onStep: (line) => console.log(`${((performance.now() - started_at) / 1000).toFixed(0).padStart(4)} s ${line}`)
  })
  Report.print(history, violations, { minutes: Math.ceil((performance.now() - started_at) / 60_000), checked_ms: 0 })
  const longest = Math.max(...moved.closed_ms)
  console.log(JSON.stringify({ ...moved, unfinished: history.unfinished.length, violations: violations.length }))
  return violations.length === 0 && history.unfinished.length === 0 && longest <= closed_max_ms
})

await runDrill(withPostgres(run).pipe(Effect.timeout("30 minutes")))
