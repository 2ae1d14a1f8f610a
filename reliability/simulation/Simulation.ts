/** One run: the service in memory with its outside world, under one virtual clock and one seeded random scheduler. */
import type { WorldState } from "@messaging-crm/adapter-memory/World"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { Cause, Effect, Exit, HashSet } from "effect"
import { createOrganization, type TestOrganization } from "../../packages/server/testing/TestOrganization.ts"
import * as Clients from "./Clients.ts"
import * as CommitInvariants from "./CommitInvariants.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Faults from "./Faults.ts"
import * as FinalInvariants from "./FinalInvariants.ts"
import * as Network from "./Network.ts"
import { platform } from "./Platform.ts"
import * as Processes from "./Processes.ts"
import { type SeededRandom, seededRandom } from "./SeededRandom.ts"
import * as Store from "./Store.ts"
import * as Timeline from "./Timeline.ts"
import * as Trace from "./Trace.ts"

export interface Outcome {
  readonly seed: number
  /** The broken invariant; null if all held. */
  readonly failure: string | null
  readonly trace: Trace.Trace
  readonly steps: number
  readonly days: number
}

const [second, minute, hour] = [1000, 60_000, 3_600_000]
const day = 24 * hour

/** The changing state of a run. */
interface Progress {
  faults: Faults.Faults
  /** The first broken invariant, or the first error. */
  failure: string | null
}

/** The parts of a run. */
interface Run {
  readonly random: SeededRandom
  readonly scene: Store.Scene
  readonly shared: Store.SharedStore
  readonly commits: CommitInvariants.CommitInvariants
  readonly network: Network.Network
  readonly endpoints: Endpoints.Endpoints
  /** The processes that have not ended. */
  readonly processes: Array<Processes.Process>
  /** Returns a process that can respond to requests, or null. */
  readonly target: () => Processes.Process | null
  readonly progress: Progress
  /** The faults that the seed selects. */
  readonly severity: Faults.Faults
}

const fail = (progress: Progress, error: unknown) => {
  progress.failure ??= error instanceof Error ? error.message : String(error)
}

/** Makes a run, without faults at first. The order of the splits determines what each part draws. */
const makeRun = (seed: number): Run => {
  const random = seededRandom(seed)
  const shared = Store.makeSharedStore()
  const timeline = Timeline.make(random.split(), (now) => Store.nextDue(shared.rows(), now))
  const commits = CommitInvariants.make()
  const severity = Faults.choose(random.split())
  const progress: Progress = { faults: Faults.none, failure: null }
  const scene: Store.Scene = {
    random: random.split(),
    timeline,
    trace: Trace.make(Timeline.epoch, timeline.now),
    faults: () => progress.faults,
    onCommit: (committed) => {
      try {
        commits.check(committed)
      } catch (error) {
        fail(progress, error)
      }
    }
  }
  const processes: Array<Processes.Process> = []
  const target = () => processes.find(({ is_alive, name }) => is_alive && name.startsWith("api")) ?? null
  const network = Network.make(scene, target)
  const endpoints = Endpoints.make(scene)
  return { random, scene, shared, commits, network, endpoints, processes, target, progress, severity }
}

/** Resumes a paused channel, as an operator does. */
const resume = ({ as, channel }: TestOrganization) => as(ChannelHolds.use((holds) => holds.resume(channel.id)))

/** Keeps a process running: a new process replaces each one that ends. */
const keepRunning = Effect.fnUntraced(function*(run: Run, name: string, hasHttp: boolean) {
  const { endpoints, network, processes, random, scene, shared } = run
  const outside: Processes.Outside = { provider: network.provider, transport: endpoints.transport }
  for (let generation = 1;; generation++) {
    const process = yield* Processes.start(scene, shared, outside, `${name}${generation}`, hasHttp)
    processes.push(process)
    yield* process.ended
    processes.splice(processes.indexOf(process), 1)
    yield* scene.timeline.wait(random.between(1, 40) * second)
  }
})

/** Starts the processes, and creates the organization and its clients. */
const start = Effect.fnUntraced(function*(run: Run) {
  const { network, random, scene, shared, target } = run
  yield* Effect.forkDetach(keepRunning(run, "api", true))
  if (random.chance(0.5)) yield* Effect.forkDetach(keepRunning(run, "worker", false))
  yield* Effect.yieldNow.pipe(Effect.repeat({ until: () => target() !== null }))
  const created = yield* target()?.run(createOrganization) ?? Effect.succeed(null)
  if (created === null) return yield* Effect.die(new Error("The organization was not created."))
  return { organization: created.value, clients: Clients.make(scene, created.value, network, shared, target) }
})

/** Runs sessions of clients under faults, with pauses of up to days between them. */
const runSessions = Effect.fnUntraced(function*(run: Run, organization: TestOrganization, clients: Clients.Clients) {
  const { progress, random, scene: { timeline }, severity, target } = run
  progress.faults = severity
  for (let session = random.between(2, 5); session > 0; session--) {
    yield* Effect.all([clients.session, clients.session], { concurrency: "unbounded" })
    if (random.chance(0.7)) yield* target()?.run(resume(organization)) ?? Effect.void
    yield* timeline.wait(random.pick([minute, hour, 8 * hour, 26 * hour, 4 * day]))
  }
})

const isQuiet = ({ queue }: WorldState): boolean => HashSet.isEmpty(queue.refs)

/** Stops the faults, waits until every queue is empty, and sometimes until the purge has run. */
const recover = Effect.fnUntraced(function*({ network, progress, random, scene: { timeline, trace }, shared }: Run) {
  trace.add("run", "faults stop")
  progress.faults = Faults.none
  while (network.isBusy() || !isQuiet(shared.rows())) {
    yield* timeline.wait(hour)
    if (timeline.now() - Timeline.epoch > 90 * day) {
      return yield* Effect.die(new CommitInvariants.Violation("Work is left 90 days after the start of the run"))
    }
  }
  yield* timeline.wait(minute)
  // Long enough for the purge, which must keep everything that the contract still guarantees.
  if (random.chance(0.2)) {
    for (let days = random.between(20, 40); days > 0; days--) yield* timeline.wait(day)
  }
})

const main = Effect.fnUntraced(function*(run: Run) {
  const { commits, endpoints, network, scene: { timeline }, shared } = run
  const { clients, organization } = yield* start(run)
  yield* runSessions(run, organization, clients)
  yield* recover(run)
  FinalInvariants.check({
    now: timeline.now(),
    completed: clients.completed,
    endpoints,
    events: commits.events(),
    network,
    organization_id: organization.organization_id,
    rows: shared.rows()
  })
})

/** Runs a seed to its end. */
export const simulate = (seed: number): Outcome => {
  const run = makeRun(seed)
  const { progress, random, scene: { timeline, trace } } = run
  let isDone = false
  try {
    const fiber = Effect.runForkWith(platform(random, timeline, trace))(main(run))
    fiber.addObserver((exit) => {
      isDone = true
      if (Exit.isFailure(exit)) fail(progress, Cause.squash(exit.cause))
    })
    timeline.runUntil(() => isDone || progress.failure !== null)
  } catch (error) {
    fail(progress, error)
  }
  const days = (timeline.now() - Timeline.epoch) / day
  return { seed, failure: progress.failure, trace, steps: timeline.steps(), days }
}
