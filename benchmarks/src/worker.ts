/**
 * Measures the cost of one worker: `npm run bench:worker`. `-- 8000` sets the number of items, and
 * `-- 8000 sends,inbound` selects parts.
 *
 * Deliveries to one webhook and to sixteen, sends, and inbound messages: the number per second, and the CPU time of each in Node and
 * in PostgreSQL. The worker is stopped while its items are queued, and measured from when it
 * continues. The endpoint, the network, and the benchmark itself are
 * separate processes on the same machine. Prints one JSON document. Reads `/proc`,
 * so it works on Linux only.
 */
import { Array, Effect } from "effect"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { Servers } from "./harness/Fixtures.ts"
import * as Service from "./harness/Service.ts"
import { deliveries, inbound, sends } from "./worker/Parts.ts"

const names = ["deliveries_1", "deliveries_16", "sends", "inbound"] as const

const [count, parts, ...others] = process.argv.slice(2)
if (others.length > 0) throw new Error("The arguments must be at most: items, parts.")
const { items } = Arguments.numbers({ items: 6000 }, count === undefined ? [] : [count])
const selected = Arguments.select("The parts", names, parts?.split(","))

const measureWorker = Effect.gen(function*() {
  const cluster = yield* Service.cluster(1)
  const { server } = cluster
  yield* Servers.serveApi(cluster.environment, server)
  const measurements = {
    deliveries_1: deliveries(cluster, items, 1),
    deliveries_16: deliveries(cluster, items, 16),
    sends: sends(cluster, Math.floor(items / 3)),
    inbound: inbound(cluster, items)
  } satisfies Record<typeof names[number], unknown>
  return yield* Effect.gen(function*() {
    const results = yield* Effect.forEach(selected, (name) => measurements[name])
    return { items, ...Object.fromEntries(Array.zip(selected, results)) }
  }).pipe(Effect.provide(Benchmark.database(cluster.database_url, 2)))
})

await Benchmark.run(() => measureWorker, { library: "pg_stat_statements", timeout: "10 minutes" })
