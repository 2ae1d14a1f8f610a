/**
 * Measures how soon after its creation an event arrives, with and without two
 * misbehaving subscribers: `npm run bench:webhooks`.
 *
 * One process serves the API and delivers events, on a real database. First it
 * measures deliveries per second while many are due. Then a healthy subscriber
 * receives events at a steady rate in three situations: alone; during a replay of
 * stored events to it; and with two other subscribers of the same events, which
 * have many due deliveries. One of them never responds, the other one
 * responds with an endless body. Prints one JSON document. Reads `/proc`, so it works on Linux only.
 */
import { Effect } from "effect"
import * as Arguments from "./harness/Arguments.ts"
import * as Backlog from "./harness/Backlog.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { Subscribers } from "./harness/Fixtures.ts"
import { memoryOf } from "./harness/Memory.ts"
import { measureDelays, measureDuringReplay } from "./webhooks/LiveEvents.ts"
import { disableWebhooks, type RunningService, startService, subscribe } from "./webhooks/RunningService.ts"
import { measureThroughput } from "./webhooks/Throughput.ts"

const { seconds } = Arguments.numbers({ seconds: 30 })
const events_per_second = 20
/** The number of due deliveries of each misbehaving subscriber. */
const queued_each = 10_000
const replayed_events = 100_000

/** Messages whose numbers begin with `first`, which differs for each situation. */
const messagesFrom = (first: number) => ({ first, seconds, per_second: events_per_second })

/** Waits until the process is at rest, and returns its memory. */
const measureRest = ({ pid }: RunningService) =>
  Effect.andThen(Effect.sleep("5 seconds"), Effect.sync(() => Math.round(memoryOf(pid))))

/** Measures one subscriber alone, and then during a replay to it. */
const measureHealthy = Effect.fnUntraced(function*(service: RunningService) {
  const subscriber = yield* subscribe(service, Subscribers.prompt)
  const alone = yield* measureDelays(service, subscriber, messagesFrom(0))
  const during_replay = yield* measureDuringReplay(service, subscriber, {
    messages: messagesFrom(2_000_000),
    stored_events: replayed_events
  })
  // The replay ends with its webhook.
  yield* disableWebhooks
  return { alone, during_replay }
})

/** Measures a healthy subscriber alongside two misbehaving ones. */
const measureWithMisbehaving = Effect.fnUntraced(function*(service: RunningService) {
  const healthy = yield* subscribe(service, Subscribers.prompt)
  const bad = [yield* subscribe(service, Subscribers.unresponsive), yield* subscribe(service, Subscribers.endless)]
  yield* Backlog.enqueueDeliveries(service.acme.organization_id, bad.map(({ webhook_id }) => webhook_id), queued_each)
  const delays = yield* measureDelays(service, healthy, messagesFrom(1_000_000))
  return { ...delays, posted_to_bad: bad.map(({ received }) => received.length) }
})

const measureWebhooks = Effect.gen(function*() {
  const service = yield* startService
  return yield* Effect.gen(function*() {
    const fresh_mib = yield* measureRest(service)
    const one_webhook = yield* measureThroughput(service, 1)
    const eight_webhooks = yield* measureThroughput(service, 8)
    const rested_mib = yield* measureRest(service)
    const { alone, during_replay } = yield* measureHealthy(service)
    const with_misbehaving = yield* measureWithMisbehaving(service)
    return {
      seconds,
      events_per_second,
      queued: 2 * queued_each,
      memory: { fresh_mib, rested_mib },
      one_webhook,
      eight_webhooks,
      alone,
      during_replay,
      with_misbehaving
    }
  }).pipe(Effect.provide(Benchmark.database(service.database_url, 2)))
})

await Benchmark.run(() => measureWebhooks, { timeout: "10 minutes" })
