/**
 * Follows 100,000 events while 32 writers commit them, stall with an open transaction, and roll back: `npm run follow-test`,
 * or with another number, `-- 10000`. The second argument selects the store, `memory` or `postgres`.
 *
 * Three followers read pages and streams, and lose their connections at random. Each must receive each event once, and all
 * in one order. On PostgreSQL, replays post 20,000 stored events meanwhile. Prints the times from commit to follower.
 */
import { Effect } from "effect"
import { drill } from "./follow/Follow.ts"
import * as Targets from "./follow/Targets.ts"
import { runDrill, withPostgres } from "./harness/Drill.ts"

const [, , events = "100000", store] = process.argv
const options = { events: Number(events), writers: 32, followers: 3, seed: 4711 }

const run = Effect.fnUntraced(function*<E, R>(name: string, target: Effect.Effect<Targets.Target, E, R>) {
  if (store !== undefined && store !== name) return true
  const result = yield* drill(yield* target, options)
  console.log(JSON.stringify({ store: name, ...result }))
  return result.violations.length === 0
})

const both = Effect.gen(function*() {
  const passed = [
    yield* Effect.scoped(run("postgres", withPostgres(Targets.postgres(20_000)))),
    yield* Effect.scoped(run("memory", Targets.memory))
  ]
  return passed.every((each) => each)
})

await runDrill(both.pipe(Effect.timeout("40 minutes")))
