/**
 * Measures whether slow endpoints of one organization delay the deliveries of another: `npm run bench:fairness`.
 *
 * One organization has many webhooks with due deliveries, each at its own host, whose endpoints respond after a long time.
 * Meanwhile, the other organization gets deliveries in several rounds. Prints one JSON document, and exits with 1 if the
 * results are not within the limits (`Limits.isFairnessWithin`).
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Arrival } from "./harness/Arrivals.ts"
import * as Backlog from "./harness/Backlog.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import * as Endpoint from "./harness/Endpoint.ts"
import { Organizations, Servers } from "./harness/Fixtures.ts"
import * as Limits from "./harness/Limits.ts"
import { summaryOf } from "./harness/Percentiles.ts"
import * as Service from "./harness/Service.ts"

const slow_webhooks = 100
const deliveries_each = 9
/** After how many seconds each round of the other organization begins, counted from the end of the last. */
const pauses = [2, 7, 14]
const deliveries_per_round = 11

/** Subscribes the slow endpoints, and returns the IDs of their webhooks. */
const subscribeSlow = ({ acme, server }: Service.Cluster, port: string) =>
  Effect.forEach(
    Array.from({ length: slow_webhooks }, (_, index) => `http://slow-${index}.localhost:${port}/slow/${index}`),
    (url) => Service.subscribe(server, acme.key, url)
  )

/** Enqueues the rounds of the other organization, and waits after each until its deliveries must have arrived. */
const enqueueRounds = Effect.fnUntraced(function*(organization_id: string, webhook_id: string) {
  for (const seconds of pauses) {
    yield* Effect.sleep(`${seconds} seconds`)
    yield* Backlog.enqueueDeliveries(organization_id, [webhook_id], deliveries_per_round)
    yield* Effect.sleep(Limits.fairness.arrival_ms)
  }
})

/** Returns the delay of each delivery of a webhook. One that did not arrive has a delay above the limit. */
const delaysOf = Effect.fnUntraced(function*(webhook_id: string, arrivals: ReadonlyArray<Arrival>) {
  const sql = yield* SqlClient.SqlClient
  const deliveries = yield* sql<{ readonly event_id: string; readonly created_at: number }>`
    SELECT event_id, (extract(epoch FROM created_at) * 1000)::float8 AS created_at
    FROM webhook_deliveries
    WHERE webhook_id = ${webhook_id}
  `
  const arrivedAt = new Map(arrivals)
  const now = yield* Clock.currentTimeMillis
  return deliveries.map(({ created_at, event_id }) =>
    (arrivedAt.get(event_id) ?? Math.max(now, created_at + Limits.fairness.arrival_ms + 1)) - created_at
  )
})

const measureFairness = Effect.gen(function*() {
  const cluster = yield* Service.cluster(1)
  yield* Servers.serve(cluster.environment, cluster.server)
  const other = yield* Organizations.create(cluster.environment)
  const endpoint = yield* Endpoint.start
  const { port } = new URL(endpoint.url)
  const slow = yield* subscribeSlow(cluster, port)
  const fast = yield* Service.subscribe(cluster.server, other.key, `http://fast.localhost:${port}/fast`)
  return yield* Effect.gen(function*() {
    yield* Backlog.enqueueDeliveries(cluster.acme.organization_id, slow, deliveries_each)
    yield* enqueueRounds(other.organization_id, fast)
    const { first } = yield* endpoint.received
    const delays = yield* delaysOf(fast, first.map(Endpoint.arrivalOf))
    const late = delays.filter((delay) => !Limits.isDeliveryWithin(delay)).length
    const slow_posts = first.filter(([name]) => name.startsWith("/slow")).length
    const { count, max_ms, p50_ms } = summaryOf(delays)
    return { deliveries: count, late, p50_ms, max_ms, slow_posts }
  }).pipe(Effect.provide(Benchmark.database(cluster.database_url, 2)))
})

await Benchmark.run(() => measureFairness, {
  isWithin: (measured) => Limits.isFairnessWithin(measured, pauses.length * deliveries_per_round),
  timeout: "3 minutes"
})
