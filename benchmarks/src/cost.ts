/**
 * Measures what operations cost, and computes what organizations need: `npm run bench:cost`.
 * `-- 2 2000` sets the number of pairs of rounds, and of messages of each.
 *
 * One server, one worker, the fake Graph API, and an endpoint run on a real database with 100,000 contacts. The costs are the CPU time
 * of the server, of the worker, and of PostgreSQL, with its vacuum and checkpoint afterward; the log (WAL); transactions that
 * write; and bytes on disk with indexes. Prints tables and one JSON document. Reads `/proc`, so it works on Linux only.
 */
import { Effect } from "effect"
import * as Measurement from "./cost/Measurement.ts"
import * as Needs from "./cost/Needs.ts"
import * as Operations from "./cost/Operations.ts"
import * as Tables from "./cost/Tables.ts"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { Network, Processes, Servers } from "./harness/Fixtures.ts"
import * as ProcessOutput from "./harness/ProcessOutput.ts"
import * as Service from "./harness/Service.ts"
import * as Load from "./load/Load.ts"
import * as PopulationRows from "./load/PopulationRows.ts"

const { items, pairs } = Arguments.numbers({ pairs: 2, items: 2000 })
const sizes = [10, 1_000, 100_000]

/** Starts a server and a worker. */
const startPrograms = Effect.fnUntraced(function*({ environment, server }: Service.Cluster) {
  const { child: serving } = yield* Servers.serveApi(environment, server)
  const worker = yield* Processes.startMain(["worker", "--json"], environment)
  yield* ProcessOutput.firstLine(worker.child)
  return { server: serving.pid ?? 0, worker: worker.child.pid ?? 0 } satisfies Measurement.Programs
})

/** Measures each operation, after a round of each that lets V8 optimize the code. */
const measureAll = Effect.fnUntraced(function*(bench: Operations.Bench, programs: Measurement.Programs) {
  const { operations } = Operations
  for (const run of Object.values(operations)) yield* run({ ...bench, items: Math.min(items, 500) })
  yield* Measurement.keepUp
  const at_rest = yield* Measurement.measureRest(programs)
  const measure = (name: keyof typeof operations) =>
    Effect.andThen(Benchmark.note(name), Measurement.measure(programs, pairs, operations[name](bench)))
  const { delivered, inbound, ...others } = {
    read: yield* measure("read"),
    list: yield* measure("list"),
    update: yield* measure("update"),
    upsert: yield* measure("upsert"),
    inbound: yield* measure("inbound"),
    delivered: yield* measure("delivered"),
    send: yield* measure("send")
  }
  const delivery = Measurement.costOf((read) => Math.max(0, read(delivered) - read(inbound)) / Operations.webhooks)
  return { at_rest, costs: { ...others, inbound, delivery } satisfies Needs.Costs }
})

const measureCosts = Effect.gen(function*() {
  const made = yield* Service.cluster(1)
  const environment = { ...made.environment, ...Network.settings(made.network_url, [Operations.channel_id]) }
  const cluster = { ...made, environment }
  yield* Effect.promise(() => PopulationRows.fill(cluster.database_url, Operations.contacts))
  const programs = yield* startPrograms(cluster)
  const load = yield* Load.start
  const { at_rest, costs } = yield* Effect.provide(
    measureAll({ cluster, load, items }, programs),
    Benchmark.database(cluster.database_url, 2)
  )
  const needs = sizes.map((organizations) => Needs.needOf(costs, Needs.mix, organizations))
  const limits = Needs.limitsOf(costs, Needs.mix)
  process.stderr.write(`\n${Tables.costs(costs)}\n\n${Tables.needs(needs)}\n`)
  return { at_rest, costs, mix: Needs.mix, needs, limits }
})

await Benchmark.run(() => measureCosts, {
  settings: {
    shared_buffers: "1GB",
    max_wal_size: "8GB",
    checkpoint_timeout: "30min",
    // The measurement does its work.
    autovacuum: "off"
  },
  timeout: "20 minutes"
})
