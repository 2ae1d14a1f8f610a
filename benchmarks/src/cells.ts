/**
 * Measures cells: `npm run bench:cells`. `-- 1000000 5 3` sets the number of contacts, of rounds, and of seconds of each.
 *
 * 50 organizations in four cells on two PostgreSQL servers. One process each serves one cell, two, and four, under a mixed load of
 * reads, lists, searches, updates, and sends of all its organizations; another one serves the first cell with `DATABASE_URL`. The
 * programs alternate. Then the second server is stopped, and at last killed, while the organizations of the first one are measured.
 * Prints one JSON document. Reads `/proc`, so it works on Linux only.
 */
import { Effect } from "effect"
import * as CellsCluster from "./cells/Cluster.ts"
import * as Outage from "./cells/Outage.ts"
import { type Kind, mixed, requestsOf } from "./cells/Requests.ts"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import * as Rounds from "./http/Rounds.ts"
import * as Load from "./load/Load.ts"
import * as PopulationRows from "./load/PopulationRows.ts"
import * as Targets from "./load/Targets.ts"

const sizes = Arguments.numbers({ contacts: 1_000_000, rounds: 5, seconds: 3 })
const organizations = 50
const contacts = Math.floor(sizes.contacts / organizations)

const served = { none: ["a-1"], one: ["a-1"], two: ["a-1", "b-1"], four: ["a-1", "a-2", "b-1", "b-2"] } as const

type Name = keyof typeof served

/** Starts a process that serves cells, or the first one without cells. */
const start = Effect.fnUntraced(function*({ cells, environment, settingOf }: CellsCluster.Cluster, name: Name) {
  const database = name === "none" ? { DATABASE_URL: cells[0]?.url ?? "" } : { CELLS: settingOf(...served[name]) }
  // The requests to a stopped server fail.
  const started = yield* Targets.startService({ ...environment, ...database, LOG_LEVEL: "none" })
  yield* Targets.pin(started.pid, 0)
  const target: Targets.Target<Name> = { name, ...started }
  return target
})

const connections = 16

/** Returns the organizations of cells, each with its number of contacts. */
const rangesOf = (cells: ReadonlyArray<CellsCluster.Cluster["cells"][number]>) =>
  cells.map(({ first, last }) => ({ first, last, contacts }))

/** A target with its requests, and its number of connections. */
const runnerOf = (
  cluster: CellsCluster.Cluster,
  target: Targets.Target<Name>,
  { are_per_cell, kinds }: { readonly are_per_cell: boolean; readonly kinds: ReadonlyArray<Kind> }
): Rounds.Runner<Name> => {
  const names: ReadonlyArray<string> = served[target.name]
  const ranges = rangesOf(cluster.cells.filter(({ name }) => names.includes(name)))
  const run = `${target.name}-${kinds.join("")}-${Date.now()}`.slice(0, 60)
  return {
    target,
    requests: requestsOf(ranges, { kinds, port: target.port, run }),
    connections: are_per_cell ? connections * ranges.length : connections
  }
}

const measureCells = Effect.fnUntraced(function*(first_server: string) {
  yield* Benchmark.note("filling")
  const cluster = yield* CellsCluster.make(first_server, contacts)
  const readPostgres = yield* CellsCluster.makeReadPostgres(cluster.servers)
  const tidy = Effect.promise(() => Promise.all(cluster.servers.map(PopulationRows.tidy))).pipe(Effect.asVoid)
  const options: Rounds.Options = { ...sizes, readPostgres, tidy, warm_up_seconds: 4, connections }
  const [none, one, two, four] = yield* Effect.all([
    start(cluster, "none"),
    start(cluster, "one"),
    start(cluster, "two"),
    start(cluster, "four")
  ])
  const load = yield* Load.start
  yield* Targets.pin(load.pid, 1)

  /** Measures targets, and compares each with the first of them. */
  const compare = Effect.fnUntraced(
    function*(targets: ReadonlyArray<Targets.Target<Name>>, kinds: ReadonlyArray<Kind>, are_per_cell = false) {
      yield* Benchmark.note(kinds.length === 1 ? kinds[0] ?? "" : "mixed")
      const runners = targets.map((target) => runnerOf(cluster, target, { are_per_cell, kinds }))
      const rounds = yield* Rounds.run(load, runners, options)
      const [first = []] = rounds.values()
      return Array.from(rounds, ([name, own]) => ({
        name,
        ...Rounds.medians(own),
        ratios: {
          per_second: Rounds.ratio(own, first),
          server_us: Rounds.ratio(own, first, "server_us"),
          postgres_us: Rounds.ratio(own, first, "postgres_us")
        }
      }))
    }
  )
  const by_number = {
    connections_per_cell: yield* compare([none, one, two, four], mixed, true),
    connections_in_total: yield* compare([none, one, two, four], mixed)
  }
  const kinds: ReadonlyArray<Kind> = ["read", "list", "update", "send"]
  const without_cells = yield* Effect.forEach(
    kinds,
    (kind) => Effect.map(compare([none, one], [kind]), (targets) => ({ kind, targets }))
  )
  yield* Benchmark.note("outage")
  const groupOf = Effect.fnUntraced(function*(server: 0 | 1) {
    const ranges = rangesOf(cluster.cells.filter((cell) => cell.server === server))
    const run = `outage-${server}-${Date.now()}`
    return { load: yield* Load.start, requests: requestsOf(ranges, { kinds: mixed, port: four.port, run }) }
  })
  const outage = yield* Outage.measure({
    server: { port: four.port, url: `http://127.0.0.1:${four.port}` },
    others: yield* groupOf(0),
    affected: yield* groupOf(1),
    rounds: sizes.rounds,
    seconds: 5
  }).pipe(Effect.provide(Benchmark.database(cluster.servers[1], 1)))
  return { organizations, contacts: organizations * contacts, by_number, without_cells, outage }
})

await Benchmark.run(measureCells, { settings: CellsCluster.settings, timeout: "40 minutes" })
