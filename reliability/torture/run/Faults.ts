/** The faults that the nemesis can inject: those of the database, the network, and the processes. */
import { Effect, Random } from "effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { pick } from "../../../packages/server/testing/Pick.ts"
import { shiftedClock } from "../../../packages/server/testing/processes/ShiftedClock.ts"
import type { Condition, TcpProxy } from "../../../packages/server/testing/processes/TcpProxy.ts"
import { writeUntilFull } from "../../drills/disk/FullDisk.ts"
import type { FaultKind } from "../History.ts"
import type { Cluster, Programs, ServiceProcess } from "./Cluster.ts"

/** A fault that the nemesis has not injected yet. */
export interface PlannedFault {
  readonly kind: FaultKind
  readonly target: string
  readonly begin: Effect.Effect<void>
  readonly end: Effect.Effect<void>
  /** Prepares the next fault of the group, after the end of this one. */
  readonly after?: Effect.Effect<void>
  /** The duration; by default between half a second and four seconds. */
  readonly millis?: number
}

/** The parts of the system that faults affect. */
export interface Targets {
  readonly cluster: Cluster
  readonly endpoints: ReadonlyArray<TcpProxy>
  /** The programs of the previous version; null in a run of one version. */
  readonly before: Programs | null
}

/** The faults of a group by kind. */
export type FaultGroup = Readonly<Record<string, (targets: Targets) => Effect.Effect<PlannedFault>>>

/** A stop that lasts longer than the lease of 5 s. */
const long_stop_millis = 6500

const readOnly = (value: "off" | "on") => [
  `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
  "SELECT pg_reload_conf()"
]

export const database: FaultGroup = {
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

const cuts: ReadonlyArray<Condition> = [{ kind: "rejected" }, { kind: "silent" }, { kind: "responses_lost" }]

const delay = Effect.map(Random.nextIntBetween(50, 1500), (millis): Condition => ({ kind: "delayed", millis }))

/** Plans a condition for proxies. */
const planCondition = (
  kind: FaultKind,
  name: string,
  proxies: ReadonlyArray<TcpProxy>,
  conditions: Effect.Effect<Condition>
): Effect.Effect<PlannedFault> =>
  Effect.map(conditions, (condition) => {
    const onAll = (condition: Condition) =>
      Effect.forEach(proxies, (proxy) => proxy.setCondition(condition), { discard: true })
    return { kind, target: `${name}: ${condition.kind}`, begin: onAll(condition), end: onAll({ kind: "open" }) }
  })

const onProcess = (
  kind: FaultKind,
  proxiesOf: (process: ServiceProcess) => ReadonlyArray<TcpProxy>,
  conditions: Effect.Effect<Condition>
) =>
({ cluster }: Targets) =>
  Effect.flatMap(
    pick(cluster.processes),
    (process) => planCondition(kind, process.name, proxiesOf(process), conditions)
  )

const onEndpoint = (kind: FaultKind, conditions: Effect.Effect<Condition>) => ({ endpoints }: Targets) =>
  Effect.gen(function*() {
    const index = yield* Random.nextIntBetween(0, endpoints.length - 1)
    return yield* planCondition(kind, `organization ${index}`, endpoints.slice(index, index + 1), conditions)
  })

export const network: FaultGroup = {
  database_cut: onProcess("database_cut", ({ database }) => database, pick(cuts)),
  database_delay: onProcess("database_delay", ({ database }) => database, delay),
  provider_cut: onProcess("provider_cut", ({ network }) => network, pick(cuts)),
  provider_delay: onProcess("provider_delay", ({ network }) => network, delay),
  endpoint_cut: onEndpoint("endpoint_cut", pick(cuts)),
  endpoint_delay: onEndpoint("endpoint_delay", delay)
}

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

export const processes: FaultGroup = {
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
