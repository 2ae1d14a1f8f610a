/**
 * Measures how soon after its creation, which precedes its commit, an event arrives at followers: `npm run bench:followers`, or
 * with another number of seconds, `-- 15`.
 *
 * One process serves the API and delivers events, on a real database. Messages arrive at an even pace, first alone, then during
 * a replay of 100,000 stored events to a webhook of the same organization. Two followers read streams, and one waits for
 * pages. Prints one JSON document, and exits with 1 if an event is missing or repeated, or if the 99th percentile exceeds its
 * limit (`Limits.areFollowersWithin`).
 */
import { Effect } from "effect"
import * as Arguments from "./harness/Arguments.ts"
import { delaysOf, firstArrivals } from "./harness/Arrivals.ts"
import { untilIdle } from "./harness/Backlog.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { type EventFollower, followPages, followStream } from "./harness/EventFollowers.ts"
import { Subscribers } from "./harness/Fixtures.ts"
import * as Limits from "./harness/Limits.ts"
import { untilPasses } from "./harness/Waiting.ts"
import { sendMessages, startReplay } from "./webhooks/LiveEvents.ts"
import { type RunningService, startService, subscribe } from "./webhooks/RunningService.ts"

const { seconds } = Arguments.numbers({ seconds: 30 })
const events_per_second = 20
const replayed_events = 100_000
const expected = seconds * events_per_second

/** Summarizes what a follower has received of the events that belong to the messages. */
const summarize = Effect.fnUntraced(function*(name: string, { received }: EventFollower) {
  const arrivals = firstArrivals(received)
  const delays = yield* delaysOf(arrivals)
  return { follower: name, ...delays, missing: expected - arrivals.length, repeated: received.length - arrivals.length }
})

/** Sends messages with numbers from `first`, and measures the followers of their events. */
const measure = Effect.fnUntraced(function*(service: RunningService, first: number) {
  const { acme: { key }, server } = service
  const followers = {
    "stream 1": yield* followStream(server, key),
    "stream 2": yield* followStream(server, key),
    pages: yield* followPages(server, key)
  }
  yield* sendMessages(service, { first, seconds, per_second: events_per_second })
  const fewest = Effect.sync(() => Math.min(...Object.values(followers).map(({ received }) => received.length)))
  yield* untilPasses(fewest, { interval: "100 millis", times: 300, until: (count) => count >= expected })
  return yield* Effect.forEach(Object.entries(followers), ([name, follower]) => summarize(name, follower))
}, Effect.scoped)

const measureFollowers = Effect.gen(function*() {
  const service = yield* startService
  return yield* Effect.gen(function*() {
    // The first message of a contact also creates the contact and opens its conversation.
    yield* sendMessages(service, { first: 9_000_000, seconds: 10, per_second: 50 })
    yield* untilIdle
    const alone = yield* measure(service, 0)
    const subscriber = yield* subscribe(service, Subscribers.prompt)
    yield* startReplay(service, subscriber.webhook_id, replayed_events)
    const during_replay = yield* measure(service, 1_000_000)
    return { seconds, events_per_second, alone, during_replay, posted_meanwhile: subscriber.received.length }
  }).pipe(Effect.provide(Benchmark.database(service.database_url, 2)))
})

await Benchmark.run(() => measureFollowers, {
  timeout: "10 minutes",
  isWithin: ({ alone, during_replay }) => Limits.areFollowersWithin([...alone, ...during_replay])
})
