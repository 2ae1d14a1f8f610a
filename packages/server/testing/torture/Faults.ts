/**
 * The nemesis: it makes faults, one after another in each of three groups, so that up to three happen at once. Faults of the
 * database exclude each other: PostgreSQL cannot start on a full disk, nor be promoted while it is read-only.
 */
import { Effect, Random } from "effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { writeUntilFull } from "../FullDisk.ts"
import { pick } from "../Pick.ts"
import { shiftedClock } from "../ShiftedClock.ts"
import type { Condition, TcpProxy } from "../TcpProxy.ts"
import type { Cluster, Member, Programs } from "./Cluster.ts"
import type { Fault, FaultKind } from "./History.ts"

/** A fault to be made. */
interface Plan {
  readonly kind: FaultKind
  readonly target: string
  readonly begin: Effect.Effect<void>
  readonly end: Effect.Effect<void>
  /** The condition for the next fault of the group, once this one is over. */
  readonly after?: Effect.Effect<void>
  /** How long it lasts; by default between half a second and four seconds. */
  readonly millis?: number
}

export interface Targets {
  readonly cluster: Cluster
  readonly endpoints: ReadonlyArray<TcpProxy>
  /** The programs of the version before; null if there is none. */
  readonly before: Programs | null
}

/** A stop that lasts longer than the lease of 5 s. */
const long_stop_millis = 6500

// ------------------------------------------------------------ database

const readOnly = (value: "off" | "on") => [
  `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
  "SELECT pg_reload_conf()"
]

const database: Readonly<Record<string, (targets: Targets) => Effect.Effect<Plan>>> = {
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
): Effect.Effect<Plan> =>
  Effect.map(conditions, (condition) => {
    const onAll = (condition: Condition) =>
      Effect.forEach(proxies, (proxy) => proxy.impose(condition), { discard: true })
    return { kind, target: `${name}: ${condition.kind}`, begin: onAll(condition), end: onAll({ kind: "open" }) }
  })

const onMember =
  (kind: FaultKind, proxiesOf: (member: Member) => ReadonlyArray<TcpProxy>, conditions: Effect.Effect<Condition>) =>
  ({ cluster }: Targets) =>
    Effect.flatMap(pick(cluster.members), (member) => impose(kind, member.name, proxiesOf(member), conditions))

const onEndpoint = (kind: FaultKind, conditions: Effect.Effect<Condition>) => ({ endpoints }: Targets) =>
  Effect.gen(function*() {
    const index = yield* Random.nextIntBetween(0, endpoints.length - 1)
    return yield* impose(kind, `organization ${index}`, endpoints.slice(index, index + 1), conditions)
  })

const network: Readonly<Record<string, (targets: Targets) => Effect.Effect<Plan>>> = {
  database_cut: onMember("database_cut", ({ database }) => database, pick(cuts)),
  database_delay: onMember("database_delay", ({ database }) => database, delay),
  provider_cut: onMember("provider_cut", ({ network }) => [network], pick(cuts)),
  provider_delay: onMember("provider_delay", ({ network }) => [network], delay),
  endpoint_cut: onEndpoint("endpoint_cut", pick(cuts)),
  endpoint_delay: onEndpoint("endpoint_delay", delay)
}

// ----------------------------------------------------------- processes

const clock = (kind: FaultKind, sign: 1 | -1) => ({ cluster }: Targets) =>
  Effect.gen(function*() {
    const member = yield* pick(cluster.members)
    const seconds = yield* pick([2, 30, 300, 7200, 90_000])
    const after = yield* Random.nextIntBetween(0, 2500)
    const environment = shiftedClock(sign * seconds * 1000, after)
    return {
      kind,
      target: `${member.name}: ${seconds} s`,
      begin: member.restart({ environment }),
      end: member.restart(),
      millis: yield* Random.nextIntBetween(3000, 5000)
    } satisfies Plan
  })

const processes: Readonly<Record<string, (targets: Targets) => Effect.Effect<Plan>>> = {
  kill: ({ cluster }) =>
    Effect.map(pick(cluster.members), (member) => ({
      kind: "kill",
      target: member.name,
      begin: member.signal("SIGKILL"),
      end: Effect.void,
      millis: 1000
    })),
  stop: ({ cluster }) =>
    Effect.gen(function*() {
      const member = yield* pick(cluster.members)
      const stop: Plan = {
        kind: "stop",
        target: member.name,
        begin: member.signal("SIGSTOP"),
        end: member.signal("SIGCONT")
      }
      return (yield* Random.next) < 0.3 ? { ...stop, millis: long_stop_millis } : stop
    }),
  clock_ahead: clock("clock_ahead", 1),
  clock_behind: clock("clock_behind", -1),
  older_version: ({ before, cluster }) =>
    Effect.map(pick(cluster.members), (member) => ({
      kind: "older_version",
      target: member.name,
      begin: before === null ? Effect.void : member.restart({ programs: before }),
      end: member.restart(),
      millis: 4000
    }))
}

// ------------------------------------------------------------- nemesis

/** Makes a nemesis. It makes faults until it is interrupted, and ends each that it has begun. */
export const make = (targets: Targets, now: () => number) => {
  const faults: Array<Fault> = []
  const isPossible = (kind: string): boolean =>
    (kind !== "older_version" || targets.before !== null) && (kind !== "disk_full" || targets.cluster.has_disk)

  const runFault = Effect.fnUntraced(function*({ after = Effect.void, begin, end, kind, millis, target }: Plan) {
    const from = now()
    const hold = millis ?? (yield* Random.nextIntBetween(500, 4000))
    yield* Effect.uninterruptible(Effect.gen(function*() {
      yield* begin
      yield* Effect.sleep(hold)
      yield* end
      faults.push({ kind, target, from, to: now() })
      yield* after
    }))
  })

  const group = (plans: Readonly<Record<string, (targets: Targets) => Effect.Effect<Plan>>>, pause_max: number) =>
    Effect.gen(function*() {
      const kinds = Object.keys(plans).filter(isPossible)
      while (true) {
        // Each kind once in a round, so that a short run has every kind.
        for (const kind of yield* Random.shuffle(kinds)) {
          const plan = plans[kind]
          if (plan !== undefined) yield* Effect.flatMap(plan(targets), runFault)
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
