/**
 * Measures whether slow endpoints delay the deliveries of others: `npm run bench:fairness`. `-- "three at one host"` runs the
 * named cases only.
 *
 * In each case, some webhooks of an organization have due deliveries, and their endpoints respond after a long time or never.
 * Meanwhile, another webhook gets deliveries in several rounds. Prints one JSON document, and exits with 1 if the results of
 * a case are not within its limit (`Limits.fairness`).
 */
import { Clock, Effect, Struct } from "effect"
import { SqlClient } from "effect/sql"
import * as Arguments from "./harness/Arguments.ts"
import type { Arrival } from "./harness/Arrivals.ts"
import * as Backlog from "./harness/Backlog.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import * as Endpoint from "./harness/Endpoint.ts"
import { Organizations, Servers } from "./harness/Fixtures.ts"
import * as Limits from "./harness/Limits.ts"
import { percentile, summaryOf } from "./harness/Percentiles.ts"
import * as Service from "./harness/Service.ts"

/** A number of slow webhooks, and the webhook whose deliveries are measured. */
interface Case {
  readonly slow_webhooks: number
  /** The deliveries of each slow webhook. */
  readonly deliveries: number
  /** Whether an endpoint responds after 14 seconds, or never. */
  readonly path: "slow" | "hanging"
  readonly hosts: "one" | "own"
  /** Whether the measured webhook is one of the same organization, at one of the hosts. */
  readonly is_same: boolean
}

const hanging = { deliveries: 50, path: "hanging", is_same: true } as const

const cases: Readonly<Record<Limits.FairnessCase, Case>> = {
  "another organization": { slow_webhooks: 100, deliveries: 9, path: "slow", hosts: "own", is_same: false },
  "three at one host": { ...hanging, slow_webhooks: 3, hosts: "one" },
  "thirty at one host": { ...hanging, slow_webhooks: 30, hosts: "one" },
  "thirty at thirty hosts": { ...hanging, slow_webhooks: 30, hosts: "own" }
}

const selected = Arguments.select("The cases", Struct.keys(cases), process.argv.slice(2))

/** After how many seconds each round of the measured webhook begins, counted from the end of the last. */
const pauses = [2, 7, 14]
const deliveries_per_round = 11

const urlAt = (host: number, port: string, path: string): string => `http://host-${host}.localhost:${port}/${path}`

/** Subscribes the slow endpoints, and returns the IDs of their webhooks. */
const subscribeSlow = ({ acme, server }: Service.Cluster, port: string, { hosts, path, slow_webhooks }: Case) =>
  Effect.forEach(
    Array.from({ length: slow_webhooks }, (_, index) => urlAt(hosts === "one" ? 0 : index, port, `${path}/${index}`)),
    (url) => Service.subscribe(server, acme.key, url)
  )

/** Enqueues the rounds of the measured webhook, and waits after each until its deliveries must have arrived. */
const enqueueRounds = Effect.fnUntraced(function*(organization_id: string, webhook_id: string) {
  for (const seconds of pauses) {
    yield* Effect.sleep(`${seconds} seconds`)
    yield* Backlog.enqueueDeliveries(organization_id, [webhook_id], deliveries_per_round)
    yield* Effect.sleep(Limits.arrival_ms)
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
    (arrivedAt.get(event_id) ?? Math.max(now, created_at + Limits.arrival_ms + 1)) - created_at
  )
})

const measureCase = Effect.fnUntraced(function*(name: Limits.FairnessCase) {
  const { deliveries, hosts, is_same } = cases[name]
  const cluster = yield* Service.cluster(1)
  yield* Servers.serve(cluster.environment, cluster.server)
  const measured = is_same ? cluster.acme : yield* Organizations.create(cluster.environment)
  const endpoint = yield* Endpoint.start
  const { port } = new URL(endpoint.url)
  const slow = yield* subscribeSlow(cluster, port, cases[name])
  const url = urlAt(is_same ? 0 : slow.length, port, "fast")
  const fast = yield* Service.subscribe(cluster.server, measured.key, url)
  return yield* Effect.gen(function*() {
    yield* Backlog.enqueueDeliveries(cluster.acme.organization_id, slow, deliveries)
    yield* enqueueRounds(measured.organization_id, fast)
    const { first } = yield* endpoint.received
    const delays = yield* delaysOf(fast, first.map(Endpoint.arrivalOf))
    const slow_posts = first.filter(([post]) => !post.startsWith("/fast")).length
    const { count, max_ms, p50_ms } = summaryOf(delays)
    const row = { case: name, hosts, deliveries: count, p50_ms, p95_ms: percentile(delays, 0.95), max_ms, slow_posts }
    return { ...row, within: Limits.isFairnessWithin(row, pauses.length * deliveries_per_round) }
  }).pipe(Effect.provide(Benchmark.database(cluster.database_url, 2)))
}, Effect.scoped)

await Benchmark.run(() => Effect.map(Effect.forEach(selected, measureCase), (rows) => ({ cases: rows })), {
  isWithin: ({ cases }) => cases.every(({ within }) => within),
  timeout: "5 minutes"
})
