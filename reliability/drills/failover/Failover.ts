/**
 * The failover drill: clients write to two servers of the service while faults hit the cluster of its database, one at a time.
 * The drill promotes no standby, and restarts no process of the service.
 */
import { onServer } from "@messaging-crm/adapter-postgres/testing/Databases"
import { Clock, Effect, Random, Ref } from "effect"
import { eventually } from "../../../packages/server/testing/Eventually.ts"
import * as Cluster from "../../../packages/server/testing/processes/Cluster.ts"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import { program } from "../../../packages/server/testing/processes/Programs.ts"
import * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import * as StoredWrites from "../harness/StoredWrites.ts"
import * as Writes from "../harness/Writes.ts"
import { type FaultKind, faults, kinds } from "./Faults.ts"
import type { PatroniCluster } from "./PatroniCluster.ts"

/** A fault and its times. */
export interface Failover {
  readonly fault: FaultKind
  readonly host: string
  /** The time from the fault until another member has taken over. */
  readonly taken_over_ms: number
  /** The time from the fault to the response of the first write that was sent after another member had taken over. */
  readonly first_write_ms: number
  /** The longest time without a successful response in this time. */
  readonly longest_gap_ms: number
  /** The time from the end of the fault until all members are in the cluster again. */
  readonly rejoined_ms: number
}

/** Returns the longest time between two responses from one time to another. */
const longestGap = (completed: ReadonlyArray<Writes.CompletedRequest>, from: number, to: number): number => {
  const times = completed.map(({ completed_at }) => completed_at).filter((at) => at >= from && at <= to)
  const all = [from, ...times.toSorted((one, other) => one - other), to]
  return Math.max(...all.slice(1).map((at, index) => at - (all[index] ?? at)))
}

interface Planned {
  readonly kind: FaultKind
  /** The number of writes before the fault. */
  readonly writes: number
}

/** Returns a number of faults: each kind in turn, in a new order each time. */
const planned = Effect.fnUntraced(function*(count: number) {
  const rounds = Array.from({ length: Math.ceil(count / kinds.length) })
  const order = (yield* Effect.forEach(rounds, () => Random.shuffle(kinds))).flat().slice(0, count)
  return yield* Effect.forEach(
    order,
    (kind) => Effect.map(Random.nextIntBetween(20, 100), (writes): Planned => ({ kind, writes }))
  )
})

/** Injects one fault under load, measures the recovery, ends the fault, and waits until the cluster is complete again. */
const failover = Effect.fnUntraced(
  function*(cluster: PatroniCluster, writers: Writes.Clients, { kind, writes }: Planned) {
    const before = yield* Clock.currentTimeMillis
    yield* Writes.untilCompleted(writers, writes, ({ sent_at }) => sent_at > before)
    const { end, host, isTakenOver } = yield* faults[kind](cluster)
    const began_at = yield* Clock.currentTimeMillis
    yield* eventually(isTakenOver, (taken) => taken)
    const taken_over_at = yield* Clock.currentTimeMillis
    const [first] = yield* Writes.untilCompleted(writers, 1, ({ sent_at }) => sent_at > taken_over_at)
    const first_write_at = first?.completed_at ?? Number.POSITIVE_INFINITY
    const { completed } = yield* writers.outcome
    const ended_at = yield* Clock.currentTimeMillis
    yield* end
    yield* cluster.untilHealthy
    return {
      fault: kind,
      host,
      taken_over_ms: taken_over_at - began_at,
      first_write_ms: first_write_at - began_at,
      longest_gap_ms: longestGap(completed, began_at, first_write_at),
      rejoined_ms: (yield* Clock.currentTimeMillis) - ended_at
    } satisfies Failover
  }
)

/** Runs the drill on a cluster, and returns the lost and duplicated writes. */
export const drill = Effect.fnUntraced(function*(database: PatroniCluster, options: {
  readonly faults: number
  readonly seed: number
  readonly clients: number
  readonly onFailover: (failover: Failover) => void
}) {
  const cluster = yield* onServer(database.url)(Cluster.make({ servers: 2, environment: Writes.environment }))
  const { environment, servers } = cluster
  yield* Effect.forEach(servers, (server) => Servers.serve(environment, server, program("server")), {
    concurrency: "unbounded"
  })
  yield* Processes.start(program("worker"), [], environment)

  const isStopping = yield* Ref.make(false)
  const writers = yield* Writes.make(cluster, options.clients)
  const writing = yield* Effect.forkChild(writers.writeUntil(Ref.get(isStopping)))
  const failovers = yield* Effect.forEach(
    yield* Random.withSeed(planned(options.faults), options.seed),
    (next) => Effect.tap(failover(database, writers, next), (done) => Effect.sync(() => options.onFailover(done)))
  )
  const finished = yield* StoredWrites.finish(cluster, writers, writing, isStopping)
  return { failovers, ...finished }
})
