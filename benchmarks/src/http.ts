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
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Redacted } from "effect"
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import * as Arguments from "./Arguments.ts"
import { Processes } from "./Fixtures.ts"
import * as Load from "./http/Load.ts"
import * as PopulationRows from "./http/PopulationRows.ts"
import * as Responses from "./http/Responses.ts"
import * as Rounds from "./http/Rounds.ts"
import * as Tables from "./http/Tables.ts"
import * as Targets from "./http/Targets.ts"
import { parts, type Request, type Workload, workloads } from "./http/Workloads.ts"
import * as Service from "./Service.ts"
import * as Statements from "./Statements.ts"

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
const chosen = Arguments.chosen("--workloads", workloads.map(({ name }) => name), values.workloads?.split(","))
const measured = workloads.filter(({ name }) => chosen.includes(name))
const names = Arguments.chosen("--against", Targets.names, ["service", ...values.against.split(",")])

/** The number of requests over which their statements are counted. */
const counted = 20

const print = (text: string): void => {
  if (!json) console.log(text)
}

/** Counts the statements of each request of a workload on one target. */
const count = Effect.fnUntraced(function*(target: Targets.Target, requests: ReadonlyArray<Request>) {
  let number = 0
  const next = Effect.suspend(() => {
    const request = requests[number++ % requests.length]
    if (request === undefined) return Effect.die(new Error("There are no requests."))
    return Responses.send(target, request, `count-${request.method}-${number}`)
  })
  return yield* Statements.perRequest(counted, next)
})

/** Measures a workload, and returns a row for each target. */
const measureWorkload = Effect.fnUntraced(function*(
  load: Load.Load,
  database_url: string,
  workload: Workload,
  targets: ReadonlyArray<readonly [Targets.Target, ReadonlyArray<Request>]>,
  statements: ReadonlyArray<number>
) {
  const runners = targets.map(([target, requests], index) => {
    const run = `${workload.name}-${index}-${Date.now()}`
    return { target, requests: requests.map((request) => parts(request, `127.0.0.1:${target.port}`, run)) }
  })
  const rounds = yield* Rounds.run(load, runners, { ...options, database_url })
  const of_service = rounds.get("service") ?? []
  return Array.from(rounds, ([name, of_target], index): Tables.Row => ({
    title: workload.title,
    name,
    statements: statements[index] ?? NaN,
    medians: Rounds.medians(of_target),
    ratio: Rounds.ratio(of_service, of_target)
  }))
})

/** Compares the targets on a database with a number of contacts. */
const compare = Effect.fnUntraced(function*(contacts: number) {
  const database_url = yield* Processes.database
  const environment = Targets.environmentOf(database_url)
  yield* Processes.command(["migrate"], environment)
  const begun = Date.now()
  yield* Effect.promise(() => PopulationRows.fill(database_url, contacts))
  const filled_seconds = Math.round((Date.now() - begun) / 1000)
  return yield* Effect.gen(function*() {
    const targets = yield* Effect.forEach(names, (name) => Targets.start(name, environment))
    const cursors = yield* Effect.forEach(targets, (target) => Targets.cursorOf(target, 200))
    const requestsOf = ({ requests }: Workload) =>
      targets.map((target, index) => [target, requests(contacts, cursors[index] ?? "")] as const)

    for (const workload of measured) yield* Responses.compare(workload.name, requestsOf(workload))
    yield* Responses.compareRejections(targets)
    if (check) return { contacts, filled_seconds, rows: [] }

    yield* Statements.setTracking("top")
    const statements = yield* Effect.forEach(
      measured,
      (workload) => Effect.forEach(requestsOf(workload), ([target, requests]) => count(target, requests))
    )
    yield* Statements.setTracking("none")

    const load = yield* Load.start
    yield* Targets.pin(load.pid, 1)
    print(
      `\n${contacts} contacts, filled in ${filled_seconds} s, load average ${loadavg().map((of) => of.toFixed(1))}\n`
    )
    print(Tables.header)
    const rows = yield* Effect.forEach(measured, (workload, index) =>
      Effect.tap(
        measureWorkload(load, database_url, workload, requestsOf(workload), statements[index] ?? []),
        (rows) => Effect.sync(() => rows.forEach((row) => print(Tables.row(row))))
      ))
    return { contacts, filled_seconds, rows: rows.flat() }
  }).pipe(Effect.provide(Client.layer({ url: Redacted.make(database_url), connections: 2 })))
}, Effect.scoped)

await Service.run(() => Effect.map(Effect.forEach(sizes, compare), (comparisons) => ({ options, comparisons })), {
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
