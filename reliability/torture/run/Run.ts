/** One run: it starts the system, its clients, and the nemesis, and returns the history. */
import { Effect, Fiber, Ref } from "effect"
import * as Network from "../../../packages/server/testing/processes/Network.ts"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import type { History, InboundMessage } from "../History.ts"
import { acceptedMessages } from "./AcceptedMessages.ts"
import * as Clients from "./Clients.ts"
import * as Cluster from "./Cluster.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Final from "./Final.ts"
import * as Nemesis from "./Nemesis.ts"
import * as Operators from "./Operators.ts"
import { Recorder } from "./Recorder.ts"
import { makeSeenResources } from "./SeenResources.ts"
import { signingSecrets } from "./SigningSecrets.ts"

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

/** The maximum time without progress at the end of a run: longer than leases and unknown outcomes. */
const idle_seconds_max = 45

/** A run with its system, and with its calls and inbound messages so far. */
interface Run {
  readonly options: Options
  readonly world: Clients.World
  readonly endpoints: Endpoints.Endpoints
  readonly inbound: Array<InboundMessage>
}

/** Starts the system. */
const start = Effect.fnUntraced(function*(options: Options) {
  const cluster = yield* Cluster.make(options)
  const recorder = new Recorder()
  const operators = yield* Operators.make(cluster)
  const endpoints = yield* Endpoints.make(cluster.organizations.length, recorder.now)
  let number = 0
  const seen = cluster.organizations.map(({ channel_id, member_id }, index) => {
    const newUrl = () => endpoints.urlOf(index, `/endpoint-${number++}`)
    return makeSeenResources({ channel_id, member_id, template_id: Network.template_id, phones, newUrl })
  })
  const keys = cluster.organizations.map(({ key, key_id }) => [{ id: key_id, secret: key }])
  const is_stopping = yield* Ref.make(false)
  const world: Clients.World = { cluster, recorder, operators, seen, keys, is_stopping }
  const run: Run = { options, world, endpoints, inbound: [] }
  return run
})

/** Runs the clients under faults, ends the faults, and waits until the clients have stopped. Returns the faults. */
const runClients = Effect.fnUntraced(function*({ endpoints, inbound, options, world }: Run) {
  const { before, clients, onPhase, seconds, seed } = options
  const nemesis = Nemesis.make({ cluster: world.cluster, endpoints: endpoints.proxies, before }, world.recorder.now)
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
  yield* Effect.forEach(world.cluster.servers, ({ url }) => Processes.untilUp(`${url}/health/ready`), { discard: true })
  // A request that still has no outcome is pending in the history.
  yield* Effect.timeoutOption(Fiber.join(working), "30 seconds")
  yield* Fiber.interrupt(working)
  return nemesis.faults
})

/** Waits until the queue is empty, and reads the history. */
const readHistory = Effect.fnUntraced(
  function*({ endpoints, inbound, options, world }: Run, faults: History["faults"]) {
    const { cluster, operators, recorder: { calls } } = world
    options.onPhase("quiescence")
    const unfinished = yield* Effect.forEach(
      new Set(cluster.organizations.map(({ database_url }) => database_url)),
      (url) => Effect.provide(Final.waitUntilIdle(idle_seconds_max), Final.databaseLayer(url)),
      { concurrency: "unbounded" }
    )
    options.onPhase("final reads")
    const organizations = yield* Effect.forEach(
      cluster.organizations,
      (organization) =>
        Effect.map(
          Effect.provide(Final.read(cluster, operators, organization), Final.databaseLayer(organization.database_url)),
          (final) => ({ id: organization.organization_id, final })
        )
    )
    return {
      seed: options.seed,
      organizations,
      calls,
      accepted: yield* acceptedMessages(cluster.accepted_url),
      inbound,
      received: endpoints.received(signingSecrets(calls)),
      faults,
      unfinished: unfinished.flat()
    } satisfies History
  }
)

/** Runs the system under faults, and returns its history. */
export const run = Effect.fnUntraced(function*(options: Options) {
  options.onPhase("starting")
  const run = yield* start(options)
  const faults = yield* runClients(run)
  return yield* Effect.orDie(readHistory(run, faults))
})
