/**
 * Compares the service with the same operations on Fastify and `pg`
 * (`benchmarks/baseline`): `npm run bench`.
 *
 * `-- --contacts 1000,100000,1000000` one comparison for each number of contacts,
 * `--warm-up 8` seconds, then `--rounds 5` of `--seconds 2` each, `--connections 32`,
 * `--against pool,pipeline`, `--workloads read,update`; `--quick` is a minute at
 * 1,000 contacts, `--check` measures nothing and compares the responses only, `--json`
 * prints one document instead of tables.
 *
 * The programs run on the same data in one PostgreSQL, on the first processor, and
 * the load comes from another process on the second. Reads `/proc`, so it works on
 * Linux only.
 */
import { Effect } from "effect"
import { parseArgs } from "node:util"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { compare, type Comparison } from "./http/Comparison.ts"
import * as Targets from "./load/Targets.ts"
import { workloads } from "./load/Workloads.ts"

const { values } = parseArgs({
  options: {
    contacts: { type: "string" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    "warm-up": { type: "string" },
    connections: { type: "string" },
    against: { type: "string", default: "pool,pipeline" },
    workloads: { type: "string" },
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    json: { type: "boolean", default: false }
  }
})

const { check, json, quick } = values
const numberOf = (name: "connections" | "rounds" | "seconds" | "warm-up", missing: number): number => {
  const text = values[name]
  return text === undefined ? missing : Arguments.positive(`--${name}`, text)
}
const sizes = (values.contacts ?? (quick || check ? "1000" : "100000")).split(",")
  .map((text) => Arguments.positive("--contacts", text))
const options = {
  rounds: numberOf("rounds", quick ? 2 : 5),
  seconds: numberOf("seconds", quick ? 0.4 : 2),
  warm_up_seconds: numberOf("warm-up", quick ? 0.4 : 8),
  connections: numberOf("connections", 32)
}
const workload_names = Arguments.select("--workloads", workloads.map(({ name }) => name), values.workloads?.split(","))
const comparison: Comparison = {
  options,
  names: Arguments.select("--against", Targets.names, ["service", ...values.against.split(",")]),
  workloads: workloads.filter(({ name }) => workload_names.includes(name)),
  measures: !check,
  print: json ? () => {} : (text) => console.log(text)
}

const compareAll = Effect.map(
  Effect.forEach(sizes, (contacts) => compare(contacts, comparison)),
  (comparisons) => ({ options, comparisons })
)

await Benchmark.run(() => compareAll, {
  library: "pg_stat_statements",
  settings: {
    shared_buffers: "1GB",
    max_wal_size: "4GB",
    checkpoint_timeout: "30min",
    // `tidy` does its work before each workload with writes.
    autovacuum: "off"
  },
  print: json
})
