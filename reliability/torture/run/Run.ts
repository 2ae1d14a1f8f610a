/** One run: it starts the system, its clients, and the nemesis, and returns the history. */
import { Effect, Fiber, Ref } from "effect"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import * as Clients from "./Clients.ts"
import * as Cluster from "./Cluster.ts"
import * as Nemesis from "./Nemesis.ts"
import * as Operators from "./Operators.ts"
import * as World from "./World.ts"

export interface Options extends Cluster.Options {
  readonly seed: number
  /** The duration of the faults. */
  readonly seconds: number
  readonly clients: number
  /** Called when a phase of the run starts. */
  readonly onPhase: (phase: string) => void
  /** The programs of the previous version; null in a run of one version. */
  readonly before: Cluster.Programs | null
}

/** The phones that all clients use: three ordinary numbers, and one for each behavior of the fake Graph API. */
const phones = ["1234567", "1234568", "1234569", "1234567", "1234568"]
  .concat(["0000002", "0000003", "0000004", "0000005", "0000006", "0000007"])
  .map((number) => `+49151${number}`)

/** A run with its system. */
interface Run extends World.Started {
  readonly options: Options
  readonly cluster: Cluster.Cluster
}

/** Starts the system. */
const start = Effect.fnUntraced(function*(options: Options) {
  const cluster = yield* Cluster.make(options)
  const started = yield* World.make(cluster, yield* Operators.make(cluster), phones)
  const run: Run = { ...started, cluster, options }
  return run
})

/** Runs the clients under faults, ends the faults, and waits until the clients have stopped. Returns the faults. */
const runClients = Effect.fnUntraced(function*({ cluster, endpoints, inbound, options, world }: Run) {
  const { before, clients, onPhase, seconds, seed } = options
  const nemesis = Nemesis.make({ cluster, endpoints: endpoints.proxies, before }, world.recorder.now)
  onPhase("faults")
  const working = yield* Effect.forkChild(Clients.run(world, clients, seed, inbound))
  const faulting = yield* Effect.forkChild(nemesis.run(seed))
  yield* Effect.raceFirst(
    Effect.sleep(`${seconds} seconds`),
    Effect.raceFirst(Fiber.join(working), Fiber.join(faulting))
  )
  onPhase("recovery")
  yield* Fiber.interrupt(faulting)
  yield* endpoints.stopErrors
  yield* Ref.set(world.is_stopping, true)
  yield* Effect.forEach(cluster.servers, ({ url }) => Processes.untilUp(`${url}/health/ready`), { discard: true })
  // A request that still has no outcome is pending in the history.
  yield* Effect.timeoutOption(Fiber.join(working), "30 seconds")
  yield* Fiber.interrupt(working)
  return nemesis.faults
})

/** Runs the system under faults, and returns its history. */
export const run = Effect.fnUntraced(function*(options: Options) {
  options.onPhase("starting")
  const run = yield* start(options)
  const faults = yield* runClients(run)
  options.onPhase("final state")
  const { organizations } = run.cluster
  const database_urls = organizations.map(({ database_url }) => database_url)
  return yield* World.readHistory(run, { seed: options.seed, faults, organizations, database_urls })
})
