/**
 * Measures what slow endpoints of one organization cost another: `npm run bench:fairness`.
 *
 * A hundred webhooks of one organization, each at a host of its own, answer 200 after 14 seconds, and have nine
 * deliveries each. Meanwhile the other organization gets 33 deliveries in three rounds. Each must arrive within
 * 5 seconds. Prints one JSON document, and ends with 1 where one arrived later.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Clock, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "../../packages/server/testing/Processes.ts"
import * as Backlog from "./Backlog.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Service from "./Service.ts"

const arrival_max_ms = 5000
const [slow_webhooks, deliveries_each] = [100, 9]
/** After how many seconds each round of the other organization begins, counted from the end of the last. */
const [pauses, round] = [[2, 7, 14], 11]

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

const benchmark = Effect.gen(function*() {
  const cluster = yield* Service.cluster(1)
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  yield* Processes.serve(cluster.environment, server)
  const other = yield* Processes.organization(cluster.environment)
  const endpoint = yield* Endpoint.start
  const { port } = new URL(endpoint.url)
  const subscribe = (key: string, url: string) =>
    Processes.request(server, "POST", "/webhooks", { key, json: { url, event_types: ["message.received"] } }).pipe(
      Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Created)(text)),
      Effect.map(({ data }) => data.id)
    )
  const slow = yield* Effect.forEach(
    Array.from({ length: slow_webhooks }, (_, index) => `http://slow-${index}.localhost:${port}/slow/${index}`),
    (url) => subscribe(cluster.acme.key, url)
  )
  const fast = yield* subscribe(other.key, `http://fast.localhost:${port}/fast`)
  return yield* Effect.gen(function*() {
    yield* Backlog.enqueueDeliveries(cluster.acme.organization_id, slow, deliveries_each)
    for (const seconds of pauses) {
      yield* Effect.sleep(`${seconds} seconds`)
      yield* Backlog.enqueueDeliveries(other.organization_id, [fast], round)
      yield* Effect.sleep(arrival_max_ms)
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
    const millis = made.map(({ at, id }) => (arrived.get(id) ?? Math.max(now, at + arrival_max_ms + 1)) - at)
      .toSorted((a, b) => a - b)
    const late = millis.filter((each) => each > arrival_max_ms).length
    process.exitCode = late === 0 ? 0 : 1
    const slow_posts = first.filter(([name]) => name.startsWith("/slow")).length
    return { deliveries: millis.length, late, p50_ms: millis[millis.length >> 1], max_ms: millis.at(-1), slow_posts }
  }).pipe(Effect.provide(Client.layer({ url: Redacted.make(cluster.database_url), connections: 2 })))
})

await Service.measure(() => benchmark, { timeout: "3 minutes" })
