/**
 * Measures whether slow endpoints of one organization delay the deliveries of another: `npm run bench:fairness`.
 *
 * One organization has 100 webhooks, each at its own host, whose endpoints respond with 200 after 14 seconds. Each webhook
 * has nine due deliveries. Meanwhile, the other organization gets 33 deliveries in three rounds. Each must arrive within
 * 5 seconds. Prints one JSON document, and exits with 1 if a delivery arrives later,
 * if there are fewer deliveries, or if the slow endpoints received nothing.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Clock, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Backlog from "./Backlog.ts"
import * as Endpoint from "./Endpoint.ts"
import { Processes } from "./Fixtures.ts"
import * as Limits from "./Limits.ts"
import { summaryOf } from "./Percentiles.ts"
import * as Service from "./Service.ts"

const slow_webhooks = 100
const deliveries_each = 9
/** After how many seconds each round of the other organization begins, counted from the end of the last. */
const pauses = [2, 7, 14]
const deliveries_per_round = 11

const benchmark = Effect.gen(function*() {
  const cluster = yield* Service.cluster(1)
  yield* Processes.serve(cluster.environment, cluster.server)
  const other = yield* Processes.organization(cluster.environment)
  const endpoint = yield* Endpoint.start
  const { port } = new URL(endpoint.url)
  const slow = yield* Effect.forEach(
    Array.from({ length: slow_webhooks }, (_, index) => `http://slow-${index}.localhost:${port}/slow/${index}`),
    (url) => Service.subscribe(cluster.server, cluster.acme.key, url)
  )
  const fast = yield* Service.subscribe(cluster.server, other.key, `http://fast.localhost:${port}/fast`)
  return yield* Effect.gen(function*() {
    yield* Backlog.enqueueDeliveries(cluster.acme.organization_id, slow, deliveries_each)
    for (const seconds of pauses) {
      yield* Effect.sleep(`${seconds} seconds`)
      yield* Backlog.enqueueDeliveries(other.organization_id, [fast], deliveries_per_round)
      yield* Effect.sleep(Limits.fairness.arrival_ms)
    }
    const sql = yield* SqlClient.SqlClient
    const made = yield* sql<{ readonly id: string; readonly at: number }>`
      SELECT event_id AS id, (extract(epoch FROM created_at) * 1000)::float8 AS at
      FROM webhook_deliveries
      WHERE webhook_id = ${fast}
    `
    const { first } = yield* endpoint.received
    const arrived = new Map(first.map(([name, at]) => [name.slice(name.indexOf(" ") + 1), at]))
    const now = yield* Clock.currentTimeMillis
    const delays_ms = made.map(({ at, id }) =>
      (arrived.get(id) ?? Math.max(now, at + Limits.fairness.arrival_ms + 1)) - at
    )
    const late = delays_ms.filter((delay) => !Limits.isDeliveryWithin(delay)).length
    const slow_posts = first.filter(([name]) => name.startsWith("/slow")).length
    const isWhole = made.length === pauses.length * deliveries_per_round && slow_posts > 0
    process.exitCode = late === 0 && isWhole ? 0 : 1
    const { count, max_ms, p50_ms } = summaryOf(delays_ms)
    return { deliveries: count, late, p50_ms, max_ms, slow_posts }
  }).pipe(Effect.provide(Client.layer({ url: Redacted.make(cluster.database_url), connections: 2 })))
})

await Service.run(() => benchmark, { timeout: "3 minutes" })
