/** The delay of events that occur at an even pace. */
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { delaysOf, firstArrivals } from "../harness/Arrivals.ts"
import { Api, type Subscribers } from "../harness/Fixtures.ts"
import { memoryDuring } from "../harness/Memory.ts"
import * as Service from "../harness/Service.ts"
import { untilPasses } from "../harness/Waiting.ts"
import { type RunningService, untilReceived } from "./RunningService.ts"

/** Messages at an even pace. Their numbers begin with `first`. */
export interface Messages {
  readonly first: number
  readonly seconds: number
  readonly per_second: number
}

const messageOf = (channel_id: string, number: number) =>
  Service.messageFrom(`+49151${5_000_000 + number % 500}`, channel_id, `bench-${number}`)

/** Sends a callback for each message. */
export const sendMessages = ({ acme, callBack }: RunningService, { first, per_second, seconds }: Messages) =>
  Effect.forEach(
    Array.from({ length: seconds * per_second }, (_, index) => index),
    (index) =>
      callBack(messageOf(acme.channel_id, first + index)).pipe(
        Effect.delay(index * 1000 / per_second)
      ),
    { concurrency: "unbounded", discard: true }
  )

/** Sends messages, and returns the delay until a subscriber received their events. */
export const measureDelays = Effect.fnUntraced(
  function*(service: RunningService, subscriber: Subscribers.Subscriber, messages: Messages) {
    const before = subscriber.received.length
    const count = messages.seconds * messages.per_second
    const { peak_mib } = yield* memoryDuring(
      service.pid,
      Effect.andThen(sendMessages(service, messages), untilReceived(subscriber, count, before))
    )
    const delays = yield* delaysOf(firstArrivals(subscriber.received.slice(before)))
    return { ...delays, memory_peak_mib: Math.round(peak_mib) }
  }
)

/** How many events a statement stores, so that it ends in time on a slow machine. */
const stored_at_once = 10_000

/** Inserts events of the last day, and returns the IDs of all stored events. */
const storeEvents = Effect.fnUntraced(function*(organization_id: string, count: number) {
  const sql = yield* SqlClient.SqlClient
  for (let first = 1; first <= count; first += stored_at_once) {
    const last = Math.min(count, first + stored_at_once - 1)
    yield* sql`
      INSERT INTO webhook_events (organization_id, id, type, body, created_at)
      SELECT ${organization_id}, gen_random_uuid(), 'message.received', '{}', now() - interval '1 day' + n * interval '1 ms'
      FROM generate_series(${first}::integer, ${last}::integer) n
    `
  }
  const events = yield* sql<{ readonly id: string }>`SELECT id FROM webhook_events`
  return new Set(events.map(({ id }) => id))
})

/** Stores events, and starts a replay of them to a webhook. Returns the IDs of all stored events. */
export const startReplay = Effect.fnUntraced(
  function*({ acme, server }: RunningService, webhook_id: string, count: number) {
    const stored = yield* storeEvents(acme.organization_id, count)
    yield* Api.request(server, "POST", `/webhooks/${webhook_id}/replay`, {
      key: acme.key,
      json: { since: DateTime.formatIso(DateTime.subtract(yield* DateTime.now, { days: 2 })) },
      idempotency_key: `replay-${webhook_id}`
    })
    return stored
  }
)

/** Measures live events during a replay of a number of stored events to the same webhook. */
export const measureDuringReplay = Effect.fnUntraced(function*(
  service: RunningService,
  { received, webhook_id }: Subscribers.Subscriber,
  { messages, stored_events }: { readonly messages: Messages; readonly stored_events: number }
) {
  const before = received.length
  const stored = yield* startReplay(service, webhook_id, stored_events)
  const liveArrivals = Effect.sync(() =>
    firstArrivals(received.slice(before).filter(({ event_id }) => !stored.has(event_id)))
  )
  yield* sendMessages(service, messages)
  const arrivals = yield* untilPasses(liveArrivals, {
    interval: "100 millis",
    times: 600,
    until: ({ length }) => length >= messages.seconds * messages.per_second
  })
  return { ...yield* delaysOf(arrivals), replayed_meanwhile: received.length - before - arrivals.length }
})
