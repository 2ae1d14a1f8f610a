/** One run: the service in memory with its outside world, under one virtual clock and one seeded scheduler. */
import type { WorldState } from "@messaging-crm/adapter-memory/World"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { generator, NextId } from "@messaging-crm/core/Ids"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { RandomBytes } from "@messaging-crm/core/RandomBytes"
import { RootKeys } from "@messaging-crm/core/Secrets"
import {
  Cause,
  Clock,
  Context,
  Effect,
  Exit,
  HashMap,
  HashSet,
  Layer,
  Logger,
  Random,
  Redacted,
  References,
  Scheduler
} from "effect"
import * as NodeCiphers from "../src/NodeCiphers.ts"
import * as NodeDigests from "../src/NodeDigests.ts"
import * as Clients from "./Clients.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Faults from "./Faults.ts"
import * as Hosts from "./Hosts.ts"
import * as Invariants from "./Invariants.ts"
import * as Ledger from "./Ledger.ts"
import * as Network from "./Network.ts"
import { type Seeded, seeded } from "./Seeded.ts"
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

const bytesOf = (random: Seeded) => (bytes: Uint8Array<ArrayBuffer>) => {
  for (let index = 0; index < bytes.length; index++) bytes[index] = random.between(0, 255)
  return bytes
}

/** The simulated time, randomness, and logs that replace those of the platform. */
const platform = (random: Seeded, timeline: Timeline.Timeline, trace: Trace.Trace): Context.Context<never> => {
  const [ids, jitter, bytes] = [bytesOf(random.split()), random.split(), bytesOf(random.split())]
  const log = Logger.make(({ cause, message }) => {
    const [error] = Cause.prettyErrors(cause)
    trace.add("log", `${String(message).slice(0, 200)} ${error?.message ?? ""}`)
  })
  const digests = Effect.runSync(Effect.scoped(Layer.build(Layer.merge(NodeCiphers.layer, NodeDigests.layer))))
  return Context.merge(
    digests,
    Context.make(Clock.Clock, timeline.clock).pipe(
      Context.add(Scheduler.Scheduler, timeline.scheduler),
      Context.add(Random.Random, {
        nextDoubleUnsafe: jitter.next,
        nextIntUnsafe: () => jitter.between(-(2 ** 31), 2 ** 31)
      }),
      Context.add(RandomBytes, bytes),
      Context.add(NextId, generator(timeline.now, ids)),
      Context.add(RootKeys, [Redacted.make(new Uint8Array(32).fill(7))]),
      Context.add(References.TracerEnabled, false),
      Context.add(References.MinimumLogLevel, "Warn"),
      Context.add(Logger.CurrentLoggers, new Set([log]))
    )
  )
}

/** An organization with a channel and an API key. */
const found = Effect.gen(function*() {
  const { organization, owner } = yield* Organizations.use((organizations) =>
    organizations.create(CreateOrganization.make({ name: "Acme", owner_name: "Ada", owner_email: "ada@acme.example" }))
  )
  const as = Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
  const channel = yield* Channels.use((channels) =>
    channels.connect(ConnectChannel.make({
      type: "phone_messaging",
      name: "Support",
      address: "+4930123456",
      phone_messaging_business_account_id: "account"
    }))
  ).pipe(as)
  const { key } = yield* ApiKeys.use((keys) =>
    keys.create(CreateApiKey.make({ created_by: owner.id, name: "client", scopes: Scope.literals, expires: "1y" }))
  ).pipe(as)
  return { organization_id: organization.id, member_id: owner.id, channel, key: Redacted.value(key) }
})

/** An operator lets a paused channel continue. */
const resume = ({ channel, member_id, organization_id }: Effect.Success<typeof found>) =>
  ChannelHolds.use((holds) => holds.resume(channel.id)).pipe(
    Effect.provideService(CurrentActor, { organization_id, member_id })
  )

const isQuiet = ({ callbacks, queue }: WorldState): boolean => HashSet.isEmpty(queue.refs) && HashMap.isEmpty(callbacks)

/** Runs a seed to its end. */
export const simulate = (seed: number): Outcome => {
  const random = seeded(seed)
  const truth = Store.makeTruth()
  const timeline = Timeline.make(random.split(), (now) => Store.nextDue(truth.rows(), now))
  const trace = Trace.make(Timeline.epoch, timeline.now)
  const ledger = Ledger.make(timeline.now)
  const severity = Faults.choose(random.split())
  let [faults, failure]: [Faults.Faults, string | null] = [Faults.none, null]
  const fail = (error: unknown) => {
    failure ??= error instanceof Error ? `${error.message}` : String(error)
  }
  const scene: Store.Scene = {
    random: random.split(),
    timeline,
    trace,
    faults: () => faults,
    onCommit: (committed) => {
      try {
        ledger.record(committed)
      } catch (error) {
        fail(error)
      }
    }
  }
  const processes: Array<Hosts.Process> = []
  const target = () => processes.find(({ isAlive, name }) => isAlive && name.startsWith("api")) ?? null
  const network = Network.make(scene, target)
  const endpoints = Endpoints.make(scene)
  const outside: Hosts.Outside = { provider: network.provider, transport: endpoints.transport }

  /** Keeps a process running: another one follows each that ends. */
  const keep = (name: string, hasHttp: boolean) =>
    Effect.gen(function*() {
      for (let generation = 1;; generation++) {
        const process = yield* Hosts.start(scene, truth, outside, `${name}${generation}`, hasHttp)
        processes.push(process)
        yield* process.ended
        processes.splice(processes.indexOf(process), 1)
        yield* timeline.wait(random.between(1, 40) * second)
      }
    })

  const main = Effect.gen(function*() {
    yield* Effect.forkDetach(keep("api", true))
    if (random.chance(0.5)) yield* Effect.forkDetach(keep("worker", false))
    yield* Effect.yieldNow.pipe(Effect.repeat({ until: () => target() !== null }))
    const made = yield* target()?.run(found) ?? Effect.succeed(null)
    if (made === null) return yield* Effect.die(new Error("The organization was not founded."))
    const clients = Clients.make(scene, made.value, network, truth, target)

    faults = severity
    for (let session = random.between(2, 5); session > 0; session--) {
      yield* Effect.all([clients.session, clients.session], { concurrency: "unbounded" })
      if (random.chance(0.7)) yield* target()?.run(resume(made.value)) ?? Effect.void
      yield* timeline.wait(random.pick([minute, hour, 8 * hour, 26 * hour, 4 * day]))
    }

    trace.add("run", "heals")
    faults = Faults.none
    while (network.isBusy() || !isQuiet(truth.rows())) {
      yield* timeline.wait(hour)
      if (timeline.now() - Timeline.epoch > 90 * day) {
        return yield* Effect.die(new Ledger.Violation("Work is left 90 days after the start of the run"))
      }
    }
    yield* timeline.wait(minute)
    // Long enough for the purge, which removes nothing that is still promised.
    if (random.chance(0.2)) {
      for (let days = random.between(20, 40); days > 0; days--) yield* timeline.wait(day)
    }
    Invariants.check({
      now: timeline.now(),
      answered: clients.answered,
      endpoints,
      ledger,
      network,
      organization_id: made.value.organization_id,
      rows: truth.rows()
    })
  })

  let isDone = false
  try {
    const fiber = Effect.runForkWith(platform(random, timeline, trace))(main)
    fiber.addObserver((exit) => {
      isDone = true
      if (Exit.isFailure(exit)) fail(Cause.squash(exit.cause))
    })
    timeline.runUntil(() => isDone || failure !== null)
  } catch (error) {
    fail(error)
  }
  return { seed, failure, trace, steps: timeline.steps(), days: (timeline.now() - Timeline.epoch) / day }
}
