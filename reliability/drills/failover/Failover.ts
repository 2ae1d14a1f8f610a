/**
 * The failover drill: clients write to two servers while the drill kills the primary of their database and promotes its
 * standby, several times. It restarts no process of the service.
 */
import { onServer } from "@messaging-crm/adapter-postgres/testing/Databases"
import { Clock, Effect, Fiber, Random, Ref } from "effect"
import * as PostgresPair from "../../../packages/server/testing/databases/PostgresPair.ts"
import { eventually } from "../../../packages/server/testing/Eventually.ts"
import * as Cluster from "../../../packages/server/testing/processes/Cluster.ts"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import { program } from "../../../packages/server/testing/processes/Programs.ts"
import * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import * as StoredWrites from "../harness/StoredWrites.ts"
import * as Writes from "../harness/Writes.ts"

export interface Failover {
  /** The time from the promotion of the standby to the response of the first write that was sent after it. */
  readonly first_write_ms: number
  /** The time from the promotion until every server is ready. */
  readonly ready_ms: number
}

const statusOf = ({ url }: Servers.Server) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/health/ready`)
    await response.arrayBuffer()
    return response.status
  })

/** Waits until every server returns a status for `/health/ready`. */
const untilAll = (servers: ReadonlyArray<Servers.Server>, status: 200 | 503) =>
  Effect.forEach(servers, (server) => eventually(statusOf(server), (current) => current === status), {
    concurrency: "unbounded",
    discard: true
  })

/** Runs one failover: kills the primary under load, promotes the standby, and measures the recovery. */
const failover = Effect.fnUntraced(function*(
  pair: PostgresPair.PostgresPair,
  servers: ReadonlyArray<Servers.Server>,
  writers: Writes.Clients
) {
  const started_at = yield* Clock.currentTimeMillis
  const writes = yield* Random.nextIntBetween(20, 100)
  yield* Writes.untilCompleted(writers, writes, ({ sent_at }) => sent_at > started_at)
  yield* pair.kill
  yield* untilAll(servers, 503)
  const promoted_at = yield* Clock.currentTimeMillis
  const ready = yield* Effect.forkChild(Effect.andThen(untilAll(servers, 200), Clock.currentTimeMillis))
  yield* pair.promote
  const [first] = yield* Writes.untilCompleted(writers, 1, ({ sent_at }) => sent_at > promoted_at)
  return {
    first_write_ms: (first?.completed_at ?? Number.POSITIVE_INFINITY) - promoted_at,
    ready_ms: (yield* Fiber.join(ready)) - promoted_at
  } satisfies Failover
})

/** Runs the drill in an empty directory, and returns the lost and duplicated writes. */
export const drill = Effect.fnUntraced(function*(options: {
  readonly directory: string
  readonly failovers: number
  readonly clients: number
  readonly onFailover?: (failover: Failover) => void
}) {
  const pair = yield* PostgresPair.make(options.directory)
  const cluster = yield* onServer(pair.url)(Cluster.make({ servers: 2, environment: Writes.environment }))
  const { environment, servers } = cluster
  yield* Effect.forEach(servers, (server) => Servers.serve(environment, server, program("server")), {
    concurrency: "unbounded"
  })
  yield* Processes.start(program("worker"), [], environment)

  const isStopping = yield* Ref.make(false)
  const writers = yield* Writes.make(cluster, options.clients)
  const writing = yield* Effect.forkChild(writers.writeUntil(Ref.get(isStopping)))
  const failovers = yield* Effect.forEach(
    Array.from({ length: options.failovers }).keys(),
    Effect.fnUntraced(function*(number) {
      if (number > 0) yield* pair.rebuild
      const done = yield* failover(pair, servers, writers)
      options.onFailover?.(done)
      return done
    })
  )
  const finished = yield* StoredWrites.finish(cluster, writers, writing, isStopping)
  return { failovers, ...finished }
})
