/**
 * The nemesis: it injects faults, one after another in each of three groups, so that up to three are active at once. Faults of
 * the database exclude each other, because PostgreSQL cannot start on a full disk, nor be promoted while it is read-only.
 */
import { Effect, Random } from "effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { writeUntilFull } from "../FullDisk.ts"
import { pick } from "../Pick.ts"
import { shiftedClock } from "../ShiftedClock.ts"
import type { Condition, TcpProxy } from "../TcpProxy.ts"
import type { Cluster, Programs, ServiceProcess } from "./Cluster.ts"
import type { Fault, FaultKind } from "./History.ts"

/** A fault that the nemesis has not injected yet. */
interface PlannedFault {
  readonly kind: FaultKind
  readonly target: string
  readonly begin: Effect.Effect<void>
  readonly end: Effect.Effect<void>
  /** Prepares the next fault of the group, after the end of this one. */
  readonly after?: Effect.Effect<void>
  /** The duration; by default between half a second and four seconds. */
  readonly millis?: number
}

export interface Targets {
  readonly cluster: Cluster
  readonly endpoints: ReadonlyArray<TcpProxy>
  /** The programs of the previous version; null if there is none. */
  readonly before: Programs | null
}

/** A stop that lasts longer than the lease of 5 s. */
const long_stop_millis = 6500

// ------------------------------------------------------------ database

const readOnly = (value: "off" | "on") => [
  `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
  "SELECT pg_reload_conf()"
]

const database: Readonly<Record<string, (targets: Targets) => Effect.Effect<PlannedFault>>> = {
  postgres_restart: ({ cluster: { pair } }) =>
    Effect.succeed({ kind: "postgres_restart", target: "primary", begin: pair.restart, end: Effect.void, millis: 0 }),
  failover: ({ cluster: { pair } }) =>
    Effect.succeed({ kind: "failover", target: "primary", begin: pair.kill, end: pair.promote, after: pair.rebuild }),
  read_only: ({ cluster: { pair } }) =>
    Effect.succeed({
      kind: "read_only",
      target: "primary",
      begin: pair.run(...readOnly("on")),
      end: pair.run(...readOnly("off"))
    }),
  disk_full: ({ cluster: { pair } }) => {
    const ballast = Effect.map(pair.directory, (directory) => join(directory, "ballast"))
    return Effect.succeed({
      kind: "disk_full",
      target: "primary",
      begin: Effect.flatMap(ballast, (path) => Effect.promise(() => writeUntilFull(path))),
      end: Effect.flatMap(ballast, (path) => Effect.promise(() => rm(path, { force: true })))
    })
  }
}

// ------------------------------------------------------------- network

const cuts: ReadonlyArray<Condition> = [{ kind: "rejected" }, { kind: "silent" }, { kind: "responses_lost" }]

const delay = Effect.map(Random.nextIntBetween(50, 1500), (millis): Condition => ({ kind: "delayed", millis }))

const impose = (
  kind: FaultKind,
  name: string,
  proxies: ReadonlyArray<TcpProxy>,
  conditions: Effect.Effect<Condition>
): Effect.Effect<PlannedFault> =>
  Effect.map(conditions, (condition) => {
    const onAll = (condition: Condition) =>
      Effect.forEach(proxies, (proxy) => proxy.impose(condition), { discard: true })
    return { kind, target: `${name}: ${condition.kind}`, begin: onAll(condition), end: onAll({ kind: "open" }) }
  })

const onProcess = (
  kind: FaultKind,
  proxiesOf: (process: ServiceProcess) => ReadonlyArray<TcpProxy>,
  conditions: Effect.Effect<Condition>
) =>
({ cluster }: Targets) =>
  Effect.flatMap(pick(cluster.processes), (process) => impose(kind, process.name, proxiesOf(process), conditions))

const onEndpoint = (kind: FaultKind, conditions: Effect.Effect<Condition>) => ({ endpoints }: Targets) =>
  Effect.gen(function*() {
    const index = yield* Random.nextIntBetween(0, endpoints.length - 1)
    return yield* impose(kind, `organization ${index}`, endpoints.slice(index, index + 1), conditions)
  })

const network: Readonly<Record<string, (targets: Targets) => Effect.Effect<PlannedFault>>> = {
  database_cut: onProcess("database_cut", ({ database }) => database, pick(cuts)),
  database_delay: onProcess("database_delay", ({ database }) => database, delay),
  provider_cut: onProcess("provider_cut", ({ network }) => [network], pick(cuts)),
  provider_delay: onProcess("provider_delay", ({ network }) => [network], delay),
  endpoint_cut: onEndpoint("endpoint_cut", pick(cuts)),
  endpoint_delay: onEndpoint("endpoint_delay", delay)
}

// ----------------------------------------------------------- processes

const clock = (kind: FaultKind, sign: 1 | -1) => ({ cluster }: Targets) =>
  Effect.gen(function*() {
    const process = yield* pick(cluster.processes)
    const seconds = yield* pick([2, 30, 300, 7200, 90_000])
    const after = yield* Random.nextIntBetween(0, 2500)
    const environment = shiftedClock(sign * seconds * 1000, after)
    return {
      kind,
      target: `${process.name}: ${seconds} s`,
      begin: process.restart({ environment }),
      end: process.restart(),
      millis: yield* Random.nextIntBetween(3000, 5000)
    } satisfies PlannedFault
  })

const processes: Readonly<Record<string, (targets: Targets) => Effect.Effect<PlannedFault>>> = {
  kill: ({ cluster }) =>
    Effect.map(pick(cluster.processes), (process) => ({
      kind: "kill",
      target: process.name,
      begin: process.signal("SIGKILL"),
      end: Effect.void,
      millis: 1000
    })),
  stop: ({ cluster }) =>
    Effect.gen(function*() {
      const process = yield* pick(cluster.processes)
      const stop: PlannedFault = {
        kind: "stop",
        target: process.name,
        begin: process.signal("SIGSTOP"),
        end: process.signal("SIGCONT")
      }
      return (yield* Random.next) < 0.3 ? { ...stop, millis: long_stop_millis } : stop
    }),
  clock_ahead: clock("clock_ahead", 1),
  clock_behind: clock("clock_behind", -1),
  older_version: ({ before, cluster }) =>
    Effect.map(pick(cluster.processes), (process) => ({
      kind: "older_version",
      target: process.name,
      begin: before === null ? Effect.void : process.restart({ programs: before }),
      end: process.restart(),
      millis: 4000
    }))
}

// ------------------------------------------------------------- nemesis

/** Makes a nemesis, which injects faults until it is interrupted, and ends each fault that it has started. */
export const make = (targets: Targets, now: () => number) => {
  const faults: Array<Fault> = []
  const isPossible = (kind: string): boolean =>
    (kind !== "older_version" || targets.before !== null) && (kind !== "disk_full" || targets.cluster.has_disk)

  const inject = Effect.fnUntraced(function*({ after = Effect.void, begin, end, kind, millis, target }: PlannedFault) {
    const from = now()
    const duration = millis ?? (yield* Random.nextIntBetween(500, 4000))
    yield* Effect.uninterruptible(Effect.gen(function*() {
      yield* begin
      yield* Effect.sleep(duration)
      yield* end
      faults.push({ kind, target, from, to: now() })
      yield* after
    }))
  })

  const group = (
    plans: Readonly<Record<string, (targets: Targets) => Effect.Effect<PlannedFault>>>,
    pause_max: number
  ) =>
    Effect.gen(function*() {
      const kinds = Object.keys(plans).filter(isPossible)
      while (true) {
        // Each round has every kind once, so that a short run has every kind.
        for (const kind of yield* Random.shuffle(kinds)) {
          const plan = plans[kind]
          if (plan !== undefined) yield* Effect.flatMap(plan(targets), inject)
          yield* Effect.sleep(yield* Random.nextIntBetween(100, pause_max))
        }
      }
    })

  return {
    faults: faults as ReadonlyArray<Fault>,
    run: (seed: number) =>
      Effect.forEach(
        [[database, 8000], [network, 3000], [processes, 4000]] as const,
        ([plans, pause_max], index) => Random.withSeed(group(plans, pause_max), `${seed} nemesis ${index}`),
        { concurrency: "unbounded", discard: true }
      )
  }
}
