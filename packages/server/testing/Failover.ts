/**
 * The failover drill: clients write to two servers and a worker while the
 * primary of their database is killed and its standby promoted, again and again.
 * No process of the service is restarted.
 */
import { Clock, ConfigProvider, Effect, Fiber, Random, Ref, Schedule } from "effect"
import * as PostgresPair from "./PostgresPair.ts"
import * as Processes from "./Processes.ts"
import { program } from "./Programs.ts"
import * as Writes from "./Writes.ts"

export interface Failover {
  /** From the call that promotes the standby to the response of the first write that was sent after it. */
  readonly first_write_ms: number
  /** From the same call until every server is ready again. */
  readonly ready_ms: number
}

const statusOf = ({ url }: Processes.Server) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/health/ready`)
    await response.arrayBuffer()
    return response.status
  })

/** Waits until every server is ready, or until none is. */
const untilAll = (servers: ReadonlyArray<Processes.Server>, status: 200 | 503) =>
  Effect.forEach(servers, (server) =>
    Effect.repeat(statusOf(server), {
      schedule: Schedule.spaced("20 millis"),
      until: (found) => found === status
    }), { concurrency: "unbounded", discard: true })

/** Waits until a number of completed writes match. */
const untilCompleted = (
  { outcome }: Pick<Effect.Success<ReturnType<typeof Writes.make>>, "outcome">,
  count: number,
  matches: (request: Writes.CompletedRequest) => boolean
) =>
  Effect.repeat(Effect.map(outcome, ({ completed }) => completed.filter(matches)), {
    schedule: Schedule.spaced("10 millis"),
    until: (found) => found.length >= count
  })

/** Runs the drill in an empty directory, and returns what was lost or doubled, if anything. */
export const drill = Effect.fnUntraced(function*(options: {
  readonly directory: string
  readonly failovers: number
  readonly clients: number
  readonly onFailover?: (failover: Failover) => void
}) {
  const pair = yield* PostgresPair.make(options.directory)
  const cluster = yield* Processes.cluster({
    servers: 2,
    environment: {
      RATE_LIMIT_PER_MINUTE: "1000000",
      DATABASE_POOL: "8",
      UNKNOWN_OUTCOME_SECONDS: "10",
      LOG_LEVEL: "none"
    }
  }).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: pair.url }))))
  const { environment, servers } = cluster
  yield* Effect.forEach(servers, (server) => Processes.serve(environment, server, program("server")), {
    concurrency: "unbounded"
  })
  yield* Processes.start(program("worker"), [], environment)

  const isStopping = yield* Ref.make(false)
  const writers = yield* Writes.make(cluster, options.clients)
  const writing = yield* Effect.forkChild(writers.writeUntil(Ref.get(isStopping)))

  const failover = Effect.fnUntraced(function*(number: number) {
    if (number > 0) yield* pair.rebuild
    const begun_at = yield* Clock.currentTimeMillis
    const writes = yield* Random.nextIntBetween(20, 100)
    yield* untilCompleted(writers, writes, ({ sent_at }) => sent_at > begun_at)
    yield* pair.kill
    yield* untilAll(servers, 503)
    const promoted_at = yield* Clock.currentTimeMillis
    const ready = yield* Effect.forkChild(
      Effect.andThen(untilAll(servers, 200), Clock.currentTimeMillis)
    )
    yield* pair.promote
    const [first] = yield* untilCompleted(writers, 1, ({ sent_at }) => sent_at > promoted_at)
    const done: Failover = {
      first_write_ms: (first?.completed_at ?? Number.POSITIVE_INFINITY) - promoted_at,
      ready_ms: (yield* Fiber.join(ready)) - promoted_at
    }
    options.onFailover?.(done)
    return done
  })
  const failovers = yield* Effect.forEach(Array.from({ length: options.failovers }, (_, number) => number), failover)
  const finished = yield* Writes.finish(cluster, writers, writing, isStopping)
  return { failovers, ...finished }
})
