/** Compares the targets on a database: first their responses, then their throughput. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { loadavg } from "node:os"
import * as Benchmark from "../harness/Benchmark.ts"
import { Databases, Processes } from "../harness/Fixtures.ts"
import * as ProcessorTime from "../harness/ProcessorTime.ts"
import * as Statements from "../harness/Statements.ts"
import * as Load from "../load/Load.ts"
import * as PopulationRows from "../load/PopulationRows.ts"
import * as Targets from "../load/Targets.ts"
import { parts, type Request, type Workload } from "../load/Workloads.ts"
import * as Responses from "./Responses.ts"
import * as Rounds from "./Rounds.ts"
import * as Tables from "./Tables.ts"

export interface Comparison {
  readonly names: ReadonlyArray<Targets.Name>
  readonly workloads: ReadonlyArray<Workload>
  readonly options: Omit<Rounds.Options, "readPostgres" | "tidy">
  /** False to compare the responses only. */
  readonly measures: boolean
  readonly print: (text: string) => void
}

/** A workload with the requests to each target. */
interface Assignment {
  readonly workload: Workload
  readonly requests: ReadonlyArray<readonly [Targets.Target, ReadonlyArray<Request>]>
}

const assign = Effect.fnUntraced(
  function*(workloads: ReadonlyArray<Workload>, targets: ReadonlyArray<Targets.Target>, contacts: number) {
    const cursors = yield* Effect.forEach(targets, (target) => Targets.cursorOf(target, 200))
    return workloads.map((workload): Assignment => ({
      workload,
      requests: targets.map((target, index) => [target, workload.requests(contacts, cursors[index] ?? "")])
    }))
  }
)

/** The number of requests over which their statements are counted. */
const counted_requests = 20

/** Counts the statements per request of one target. */
const countStatements = Effect.fnUntraced(function*(target: Targets.Target, requests: ReadonlyArray<Request>) {
  let number = 0
  const sendNext = Effect.suspend(() => {
    const request = requests[number++ % requests.length]
    if (request === undefined) return Effect.die(new Error("There are no requests."))
    return Responses.send(target, request, `count-${request.method}-${number}`)
  })
  return yield* Statements.perRequest(counted_requests, sendNext)
})

/** Returns a row for each target, from its rounds and its statements per request. Targets and statements have the same order. */
export const rowsOf = (
  title: string,
  rounds: ReadonlyMap<Targets.Name, ReadonlyArray<Rounds.Round>>,
  statements: ReadonlyArray<number>
): ReadonlyArray<Tables.Row> => {
  const service_rounds = rounds.get("service") ?? []
  return Array.from(rounds, ([name, target_rounds], index) => ({
    title,
    name,
    statements: statements[index] ?? NaN,
    medians: Rounds.medians(target_rounds),
    ratio: Rounds.ratio(service_rounds, target_rounds)
  }))
}

/** Measures a workload, and returns a row for each target. */
const measureWorkload = Effect.fnUntraced(function*(
  load: Load.Load,
  { requests, workload }: Assignment,
  options: Rounds.Options,
  statements: ReadonlyArray<number>
) {
  const runners = requests.map(([target, requests], index) => {
    const run = `${workload.name}-${index}-${Date.now()}`
    return { target, requests: requests.map((request) => parts(request, `127.0.0.1:${target.port}`, run)) }
  })
  return rowsOf(workload.title, yield* Rounds.run(load, runners, options), statements)
})

/** Measures all workloads, and prints their rows below a title. */
const measureAll = Effect.fnUntraced(function*(
  assignments: ReadonlyArray<Assignment>,
  options: Rounds.Options,
  { print, title }: { readonly print: Comparison["print"]; readonly title: string }
) {
  yield* Statements.setTracking("top")
  const statements = yield* Effect.forEach(
    assignments,
    ({ requests }) => Effect.forEach(requests, ([target, requests]) => countStatements(target, requests))
  )
  yield* Statements.setTracking("none")

  const load = yield* Load.start
  yield* Targets.pin(load.pid, 1)
  print(`\n${title}, load average ${loadavg().map((average) => average.toFixed(1))}\n`)
  print(Tables.header)
  const rows = yield* Effect.forEach(assignments, (assignment, index) =>
    Effect.tap(
      measureWorkload(load, assignment, options, statements[index] ?? []),
      (rows) => Effect.sync(() => rows.forEach((row) => print(Tables.row(row))))
    ))
  return rows.flat()
})

/** Compares the targets on a new database with a number of contacts. */
export const compare = Effect.fnUntraced(function*(contacts: number, comparison: Comparison) {
  const { measures, names, options, print, workloads } = comparison
  const database_url = yield* Databases.empty
  const environment = Targets.environmentOf(database_url)
  yield* Processes.command(["migrate"], environment)
  const started_at = yield* Clock.currentTimeMillis
  yield* Effect.promise(() => PopulationRows.fill(database_url, contacts))
  const filled_seconds = Math.round(((yield* Clock.currentTimeMillis) - started_at) / 1000)
  const rows = yield* Effect.gen(function*() {
    const targets = yield* Effect.forEach(names, (name) => Targets.start(name, environment))
    const assignments = yield* assign(workloads, targets, contacts)
    for (const { requests, workload } of assignments) yield* Responses.compare(workload.name, requests)
    yield* Responses.compareRejections(targets)
    if (!measures) return []
    const title = `${contacts} contacts, filled in ${filled_seconds} s`
    const sql = yield* SqlClient.SqlClient
    const readPostgres = Effect.orDie(Effect.provideService(ProcessorTime.ofPostgres, SqlClient.SqlClient, sql))
    const tidy = Effect.promise(() => PopulationRows.tidy(database_url))
    return yield* measureAll(assignments, { ...options, readPostgres, tidy }, { print, title })
  }).pipe(Effect.provide(Benchmark.database(database_url, 2)))
  return { contacts, filled_seconds, rows }
}, Effect.scoped)
