/**
 * Measures how soon after its creation an event arrives, with and without two
 * misbehaving subscribers: `npm run bench:webhooks`.
 *
 * One process serves the API and delivers events, on a real database. First it
 * measures deliveries per second while 4,000 are due. Then a healthy subscriber
 * receives 20 events per second in three situations: alone; during a replay of
 * 100,000 stored events to it; and with two other subscribers of the same events,
 * which have 10,000 due deliveries each. One of them never responds, the other one
 * responds with an endless body. Prints one JSON document. Reads `/proc`, so it works on Linux only.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { Clock, DateTime, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Arguments from "./Arguments.ts"
import { type Arrival, delaysOf } from "./Arrivals.ts"
import * as Backlog from "./Backlog.ts"
import { Processes, Subscribers } from "./Fixtures.ts"
import { memoryDuring, memoryOf } from "./Memory.ts"
import * as Service from "./Service.ts"
import { untilPasses } from "./Waiting.ts"

const { seconds } = Arguments.numbers({ seconds: 30 })
const events_per_second = 20
const queued_each = 10_000
const replayed = 100_000

/** A cluster with a running server: its process, and a function that sends a provider's callback to it. */
interface Running extends Service.Cluster {
  readonly pid: number
  readonly callBack: (event: ProviderEvent) => Effect.Effect<void>
}

const messageEvent = (channel_id: string, number: number) =>
  Service.messageReceived(channel_id, `bench-${number}`, `+49151${5_000_000 + number % 500}`)

/** Sends callbacks for messages at an even pace, numbered from `first` on. */
const sendMessages = ({ acme, callBack }: Running, first: number) =>
  Effect.forEach(
    Array.from({ length: seconds * events_per_second }, (_, index) => index),
    (index) =>
      callBack(messageEvent(acme.channel_id, first + index)).pipe(
        Effect.delay(index * 1000 / events_per_second)
      ),
    { concurrency: "unbounded", discard: true }
  )

/** Waits until a subscriber has received a number of different events since it had `before` posts, for at most two minutes. */
const untilReceived = ({ received }: Subscribers.Subscriber, count: number, before = 0) =>
  untilPasses(Effect.sync(() => new Set(received.slice(before).map(({ event_id }) => event_id)).size), {
    interval: "20 millis",
    times: 6000,
    until: (events) => events >= count
  })

/** Returns the first arrival of each event. */
const firstOf = (received: ReadonlyArray<Subscribers.ReceivedEvent>): ReadonlyArray<Arrival> =>
  Array.from(new Map(received.toReversed().map(({ at, event_id }) => [event_id, at])))

/** Sends messages for the set time, and returns how soon a subscriber received their events. */
const measureArrivals = Effect.fnUntraced(function*(service: Running, healthy: Subscribers.Subscriber, first: number) {
  const before = healthy.received.length
  const { peak_mib } = yield* memoryDuring(
    service.pid,
    Effect.andThen(sendMessages(service, first), untilReceived(healthy, seconds * events_per_second, before))
  )
  return { ...yield* delaysOf(firstOf(healthy.received.slice(before))), memory_peak_mib: Math.round(peak_mib) }
})

const subscribe = ({ acme, server }: Running, behavior: Subscribers.Behavior) =>
  Subscribers.subscriber(server, acme.key, { event_types: ["message.received"], behavior })

/** Disables every webhook and empties the queue, except for work that is in flight. */
const clear = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE webhooks SET status = 'disabled', disabled_at = now() WHERE status = 'active'`
  yield* sql`SELECT name FROM work_lanes ORDER BY name FOR UPDATE`
  yield* sql`DELETE FROM work WHERE leased_until IS NULL`
})

/** Measures live events while stored events, as many as `replayed`, are posted to the same webhook again. */
const replaying = Effect.fnUntraced(function*(service: Running, healthy: Subscribers.Subscriber, first: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO webhook_events (organization_id, id, type, body, created_at)
    SELECT ${service.acme.organization_id}, gen_random_uuid(), 'message.received', '{}',
      now() - interval '1 day' + n * interval '1 ms'
    FROM generate_series(1, ${replayed}::integer) n
  `
  const stored = new Set((yield* sql<{ readonly id: string }>`SELECT id FROM webhook_events`).map(({ id }) => id))
  const before = healthy.received.length
  yield* Processes.request(service.server, "POST", `/webhooks/${healthy.webhook_id}/replay`, {
    key: service.acme.key,
    json: { since: DateTime.formatIso(DateTime.subtract(yield* DateTime.now, { days: 2 })) },
    idempotency_key: `replay-${first}`
  })
  const live = Effect.sync(() =>
    firstOf(healthy.received.slice(before).filter(({ event_id }) => !stored.has(event_id)))
  )
  yield* sendMessages(service, first)
  const arrived = yield* untilPasses(live, {
    interval: "100 millis",
    times: 600,
    until: ({ length }) => length >= seconds * events_per_second
  })
  return { ...yield* delaysOf(arrived), replayed_meanwhile: healthy.received.length - before - arrived.length }
})

/** Measures deliveries per second to a number of webhooks, and the peak memory of the process. */
const throughput = Effect.fnUntraced(function*(service: Running, webhooks: number) {
  const subscribers = yield* Effect.replicateEffect(subscribe(service, Subscribers.prompt), webhooks)
  const count = 4000 / webhooks
  // The time to queue them does not count.
  process.kill(service.pid, "SIGSTOP")
  yield* Backlog.enqueueDeliveries(service.acme.organization_id, subscribers.map(({ webhook_id }) => webhook_id), count)
  const begun = yield* Clock.currentTimeMillis
  process.kill(service.pid, "SIGCONT")
  const { peak_mib } = yield* memoryDuring(
    service.pid,
    Effect.forEach(subscribers, (subscriber) => untilReceived(subscriber, count), { concurrency: "unbounded" })
  )
  const lasted = (yield* Clock.currentTimeMillis) - begun
  yield* SqlClient.SqlClient.use((sql) => sql.withTransaction(clear))
  return { deliveries_per_second: Math.round(count * webhooks * 1000 / lasted), memory_peak_mib: Math.round(peak_mib) }
})

const startService = Effect.gen(function*() {
  const cluster = yield* Service.cluster(1)
  const { child } = yield* Processes.serve(cluster.environment, cluster.server)
  const post = yield* Processes.callbackSender(cluster.environment)
  const callBack = (event: ProviderEvent) =>
    Effect.flatMap(
      post(cluster.server, [event]),
      (status) =>
        status === 200 ? Effect.void : Effect.die(new Error(`The response to a callback has the status ${status}.`))
    )
  return { ...cluster, pid: child.pid ?? 0, callBack } satisfies Running
})

const benchmark = Effect.gen(function*() {
  const service = yield* startService
  const database = Client.layer({ url: Redacted.make(service.database_url), connections: 2 })
  const resting = Effect.andThen(Effect.sleep("5 seconds"), Effect.sync(() => Math.round(memoryOf(service.pid))))
  return yield* Effect.gen(function*() {
    const fresh_mib = yield* resting
    const one_webhook = yield* throughput(service, 1)
    const eight_webhooks = yield* throughput(service, 8)
    const rested_mib = yield* resting
    const first = yield* subscribe(service, Subscribers.prompt)
    const alone = yield* measureArrivals(service, first, 0)
    const during_replay = yield* replaying(service, first, 2_000_000)
    // The replay ends with its webhook.
    yield* SqlClient.SqlClient.use((sql) => sql.withTransaction(clear))
    const healthy = yield* subscribe(service, Subscribers.prompt)
    const bad = [yield* subscribe(service, Subscribers.unresponsive), yield* subscribe(service, Subscribers.endless)]
    yield* Backlog.enqueueDeliveries(service.acme.organization_id, bad.map(({ webhook_id }) => webhook_id), queued_each)
    const with_misbehaving = yield* measureArrivals(service, healthy, 1_000_000)
    const posted_to_bad = bad.map(({ received }) => received.length)
    const memory = { fresh_mib, rested_mib }
    return {
      seconds,
      events_per_second,
      queued: 2 * queued_each,
      memory,
      one_webhook,
      eight_webhooks,
      alone,
      during_replay,
      with_misbehaving: { ...with_misbehaving, posted_to_bad }
    }
  }).pipe(Effect.provide(database))
})

await Service.run(() => benchmark, { timeout: "10 minutes" })
