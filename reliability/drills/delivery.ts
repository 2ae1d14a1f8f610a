/**
 * Kills workers with `kill -9` while they deliver 10,000 events, and counts
 * what was lost: `npm run delivery-test`, or with another number of kills,
 * `-- 20`.
 *
 * One server without workers receives messages. Three workers process them and deliver the events
 * to eight subscribers, which verify every signature. Each worker is killed at a
 * random moment and started again, until all kills are done. The drill fails if
 * the deliveries end before the kills.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { kind_rules } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Fiber, Random, Redacted, Ref, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Callbacks from "../../packages/server/testing/processes/Callbacks.ts"
import * as Cluster from "../../packages/server/testing/processes/Cluster.ts"
import * as Processes from "../../packages/server/testing/processes/Processes.ts"
import { program } from "../../packages/server/testing/processes/Programs.ts"
import * as Servers from "../../packages/server/testing/processes/Servers.ts"
import * as Subscribers from "../../packages/server/testing/processes/Subscribers.ts"
import { runDrill, withPostgres } from "./harness/Drill.ts"
import { occurredViolations } from "./harness/Violations.ts"

const kills_wanted = Number(process.argv[2] ?? 100)
const messages = 1600
const subscribers = 8
const workers = 3
/** The maximum number of deliveries between the start of a worker and its kill, so that kills are spread over the run. */
const progress_max = 300
/** The maximum number of deliveries that one worker has in flight. */
const in_flight_max = subscribers * kind_rules.webhook_delivery.cap

/** The kills so far. */
interface Kills {
  readonly kills: number
  /** The kills at which a delivery was in flight. */
  readonly kills_in_flight: number
}

const messageOf = (channel_id: string, number: number): Callbacks.Message => ({
  channel_id,
  provider_message_id: `hello-${number}`,
  from: `+49151${String(5_000_000 + number % 50)}`,
  content: Callbacks.text(`Hello ${number} 👋`),
  sent_at: DateTime.makeUnsafe("2026-01-01T12:00:00Z")
})

const batchesOf = <A>(values: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, index) => values.slice(index * size, (index + 1) * size))

/** Sends callbacks for all messages, as fast as the server accepts them. */
const postCallbacks = Effect.fnUntraced(function*({ acme, servers: [server] }: Cluster.Cluster) {
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  const all = Array.from({ length: messages }, (_, number) => messageOf(acme.channel_id, number))
  yield* Effect.forEach(batchesOf(all, 10), (batch) =>
    Effect.flatMap(
      Callbacks.post(server, batch),
      (status) => status === 200 ? Effect.void : Effect.die(new Error(`A callback got ${status}`))
    ), { concurrency: 4, discard: true })
})

const readQueue = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly left: number; readonly leased: number; readonly lanes: number }>`
    SELECT
      count(*)::integer AS left,
      count(leased_until)::integer AS leased,
      (SELECT count(*)::integer FROM work_lanes) AS lanes
    FROM work
  `
).pipe(Effect.map(([row]) => row ?? { left: -1, leased: -1, lanes: -1 }))

/** Starts a worker and waits until it is running. */
const startWorker = Effect.fnUntraced(function*(environment: Processes.Environment) {
  yield* Processes.untilOutput(yield* Processes.start(program("worker"), [], environment))
})

const countSucceeded = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly count: number }>`
    SELECT count(*)::integer AS count
    FROM webhook_deliveries
    WHERE status = 'succeeded'
  `
).pipe(Effect.map(([row]) => row?.count ?? -1))

/** Waits until that many more deliveries have succeeded, for at most six seconds. */
const awaitDeliveries = Effect.fnUntraced(function*(deliveries: number) {
  const before = yield* countSucceeded
  yield* countSucceeded.pipe(
    Effect.repeat({ schedule: Schedule.spaced("100 millis"), until: (count) => count >= before + deliveries }),
    Effect.timeoutOption("6 seconds")
  )
})

/** Runs one worker and kills it at a random moment, again and again, while deliveries are left. */
const killWorkers = Effect.fnUntraced(function*({ environment }: Cluster.Cluster, counts: Ref.Ref<Kills>) {
  while ((yield* Ref.get(counts)).kills < kills_wanted) {
    const { leased, left } = yield* Effect.scoped(Effect.gen(function*() {
      yield* startWorker(environment)
      yield* awaitDeliveries(yield* Random.nextIntBetween(0, progress_max))
      yield* Effect.sleep(`${yield* Random.nextIntBetween(0, 100)} millis`)
      return yield* readQueue
    }))
    if (left === 0) return
    const { kills } = yield* Ref.updateAndGet(counts, (before) => ({
      kills: before.kills + 1,
      kills_in_flight: before.kills_in_flight + (leased > 0 ? 1 : 0)
    }))
    if (kills % 20 === 0) console.log(`${kills} kills, ${left} deliveries left`)
  }
})

/** Raises the events, kills the workers, and lets workers that are not killed do the rest, for at most ten minutes. */
const run = Effect.fnUntraced(function*(cluster: Cluster.Cluster) {
  const counts = yield* Ref.make<Kills>({ kills: 0, kills_in_flight: 0 })
  const posting = yield* Effect.forkChild(postCallbacks(cluster))
  yield* readQueue.pipe(Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: ({ left }) => left > 1000 }))
  const names = Array.from({ length: workers })
  yield* Effect.forEach(names, () => killWorkers(cluster, counts), { concurrency: "unbounded", discard: true })
  yield* Effect.forEach(names, () => startWorker(cluster.environment), { concurrency: "unbounded", discard: true })
  yield* Fiber.join(posting)
  // A sweep removes a lane that has been empty for 15 seconds.
  yield* readQueue.pipe(
    Effect.repeat({
      schedule: Schedule.spaced("250 millis"),
      times: 2400,
      until: ({ lanes, left }) => left === 0 && lanes === 0
    })
  )
  return yield* Ref.get(counts)
})

/** Reads the stored messages, events, and deliveries of a queue that has become empty. */
const readStored = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [counted] = yield* sql<{ readonly messages: number }>`SELECT count(*)::integer AS messages FROM messages`
  return {
    messages: counted?.messages ?? -1,
    events: yield* sql<
      { readonly id: string; readonly body: string }
    >`SELECT id, body FROM webhook_events WHERE type = 'message.received'`,
    deliveries: yield* sql<{ readonly webhook_id: string; readonly event_id: string; readonly status: string }>`
      SELECT webhook_id, event_id, status
      FROM webhook_deliveries
    `,
    queue: yield* readQueue
  }
})

/** Compares what the subscribers received with what is stored. Prints the result and returns whether the drill passed. */
const verify = (
  { kills, kills_in_flight }: Kills,
  { deliveries, events, messages: stored_messages, queue }: Effect.Success<typeof readStored>,
  receivers: ReadonlyArray<Subscribers.Subscriber>
) => {
  const bodies = new Map(events.map(({ body, id }) => [id, body]))
  const received = receivers.flatMap(({ received, webhook_id }) => received.map((each) => ({ ...each, webhook_id })))
  const pair = (each: { readonly webhook_id: string; readonly event_id: string }) =>
    `${each.webhook_id} ${each.event_id}`
  const arrived = new Set(received.map(pair))
  const lost = deliveries.filter((delivery) => !arrived.has(pair(delivery)))
  const repeats = received.length - arrived.size
  const violations = occurredViolations({
    "everything was delivered before the kills were done": kills < kills_wanted,
    "an event is missing, or there is one too many": stored_messages !== messages || events.length !== messages,
    "a delivery is missing, or there is one too many": deliveries.length !== messages * subscribers,
    [`${lost.length} deliveries never arrived`]: lost.length > 0,
    "something arrived that is not stored": arrived.size !== deliveries.length,
    "other bytes arrived than are stored": received.some(({ body, event_id }) => body !== bodies.get(event_id)),
    "a signature was not valid": receivers.some(({ forged }) => forged.length > 0),
    "a delivery did not succeed": deliveries.some(({ status }) => status !== "succeeded"),
    "there are more repeats than the kills explain": repeats > kills * in_flight_max,
    [`the queue is not empty: ${JSON.stringify(queue)}`]: queue.left !== 0 || queue.lanes !== 0
  })
  const numbers = { kills, kills_in_flight, events: events.length, deliveries: deliveries.length }
  console.log(JSON.stringify({ ...numbers, arrivals: received.length, repeats, lost: lost.length, violations }))
  return violations.length === 0
}

const drill = Effect.gen(function*() {
  const cluster = yield* Cluster.make({
    servers: 1,
    environment: { DATABASE_POOL: "8", LOG_FORMAT: "json", WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" }
  })
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  yield* Servers.serveApi(cluster.environment, server)
  const receivers = yield* Effect.forEach(
    Array.from({ length: subscribers }),
    () =>
      Subscribers.subscriber(server, cluster.acme.key, {
        event_types: ["message.received"],
        behavior: Subscribers.delayed(150)
      })
  )
  const database = Client.layer({ url: Redacted.make(cluster.database_url), connections: 4 })
  return yield* Effect.gen(function*() {
    return verify(yield* run(cluster), yield* readStored, receivers)
  }).pipe(Effect.provide(database))
})

await runDrill(withPostgres(drill).pipe(Effect.timeout("20 minutes")))
