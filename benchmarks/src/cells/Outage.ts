/** The effect of a PostgreSQL server that does not respond, or was killed, on the organizations of other cells. */
import { Effect } from "effect"
import type { Servers } from "../harness/Fixtures.ts"
import { median } from "../harness/Percentiles.ts"
import * as PostgresProcesses from "../harness/PostgresProcesses.ts"
import type { Load } from "../load/Load.ts"

/** The load of some organizations. */
export interface Group {
  readonly load: Load
  readonly requests: ReadonlyArray<ReadonlyArray<string>>
}

interface Options {
  readonly server: Servers.Server
  /** Organizations of the other server, which are not affected. */
  readonly others: Group
  /** Organizations of the connected server. */
  readonly affected: Group
  readonly rounds: number
  readonly seconds: number
}

/** Each connection sends a request, waits for the response, and then for this time, so that the pace is almost fixed. */
const think_ms = 50
const connections = 16

/** Loads both groups at once, and returns the outcome of the others. */
const loadBoth = ({ affected, others, seconds, server: { port } }: Options) => {
  const run = ({ load, requests }: Group) => load.run({ port, requests, connections, seconds, think_ms })
  return Effect.map(Effect.all([run(others), run(affected)], { concurrency: 2 }), ([unaffected, affected]) => ({
    others: unaffected,
    affected
  }))
}

type Measured = Effect.Success<ReturnType<typeof loadBoth>>

const summaryOf = (measured: ReadonlyArray<Measured>) => ({
  requests: measured.reduce((sum, { others }) => sum + others.responses, 0),
  failed: measured.reduce((sum, { others }) => sum + others.failed, 0),
  p50_ms: median(measured.map(({ others }) => others.p50_ms)),
  p99_ms: median(measured.map(({ others }) => others.p99_ms)),
  affected: {
    responses: measured.reduce((sum, { affected }) => sum + affected.responses, 0),
    failed: measured.reduce((sum, { affected }) => sum + affected.failed, 0)
  }
})

/** Measures normal operation and a stopped server in turn, and then the killed server. The connected server stays killed. */
export const measure = Effect.fnUntraced(function*(options: Options) {
  const signal = yield* PostgresProcesses.makeSignal
  const [normal, stopped]: [Array<Measured>, Array<Measured>] = [[], []]
  yield* loadBoth(options)
  for (let round = 0; round < options.rounds; round++) {
    normal.push(yield* loadBoth(options))
    yield* signal("SIGSTOP")
    stopped.push(yield* Effect.ensuring(loadBoth(options), signal("SIGCONT")))
    // The process asks the cell again.
    yield* Effect.sleep("3 seconds")
  }
  yield* signal("SIGKILL")
  const killed = yield* Effect.replicateEffect(loadBoth(options), options.rounds)
  const p99_ms = median(normal.map(({ others }) => others.p99_ms))
  const ratioOf = (measured: ReadonlyArray<Measured>) => median(measured.map(({ others }) => others.p99_ms)) / p99_ms
  return {
    normal: summaryOf(normal),
    stopped: { ...summaryOf(stopped), p99_ratio: ratioOf(stopped) },
    killed: { ...summaryOf(killed), p99_ratio: ratioOf(killed) }
  }
})
