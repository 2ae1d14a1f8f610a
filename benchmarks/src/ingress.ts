/**
 * Measures how callbacks of the Graph API are processed: `npm run bench:ingress`.
 * `-- 20 1500` sets the number of seconds, and of posts per second.
 *
 * One process receives signed posts at a steady rate, with one status or message each, responds
 * to them, and processes them. Then it receives mutated bodies, each with a valid signature,
 * with an invalid one, and without one. Load, server, and database share the machine. Prints
 * one JSON document, and fails if a limit is exceeded.
 */
import { Clock, Effect, Random } from "effect"
import { SqlClient } from "effect/sql"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { Servers } from "./harness/Fixtures.ts"
import { memoryDuring, memoryOf } from "./harness/Memory.ts"
import * as Service from "./harness/Service.ts"
import { untilPasses } from "./harness/Waiting.ts"
import * as Callbacks from "./ingress/Callbacks.ts"
import * as Posts from "./ingress/Posts.ts"
import * as Report from "./ingress/Report.ts"

const { posts_per_second, seconds } = Arguments.numbers({ seconds: 10, posts_per_second: 1000 })
const mutated_bodies = 5000
const warm_up_posts = 1000

/** A running server, and the account whose callbacks it receives. */
interface Receiver {
  readonly url: string
  readonly pid: number
  readonly account: string
  readonly sign: (text: string) => Callbacks.Callback
}

const startReceiver = Effect.fnUntraced(function*({ environment, server }: Service.Cluster) {
  const { child } = yield* Servers.serve(environment, server)
  return { url: server.url, pid: child.pid ?? 0, ...yield* Callbacks.accountOf(environment) } satisfies Receiver
})

/** Posts a number of callbacks, numbered from `first` on, and returns the responses. */
const postCallbacks = ({ account, sign, url }: Receiver, count: number, first: number) => {
  const callbacks = Array.from({ length: count }, (_, index) => sign(Callbacks.bodyAt(account, first + index)))
  return Posts.postSteadily(url, callbacks, posts_per_second)
}

/** Waits until every callback is processed, and returns how long that took. */
const drain = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const started_at = yield* Clock.currentTimeMillis
  const countPending = sql<{ readonly count: number }>`SELECT count(*)::integer AS count FROM provider_callbacks`
  yield* untilPasses(countPending, { interval: "100 millis", times: 3000, until: ([row]) => row?.count === 0 })
  return (yield* Clock.currentTimeMillis) - started_at
})

/** Counts the inbound messages. */
const countStored = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly stored: number }>`SELECT count(*)::integer AS stored FROM messages WHERE direction = 'inbound'`
).pipe(Effect.map(([row]) => row?.stored ?? -1))

const logPhase = (name: string) => Effect.sync(() => process.stderr.write(`${name}\n`))

/** Lets the server run its code once, and returns its memory at rest, in MiB. */
const warmUp = Effect.fnUntraced(function*(receiver: Receiver) {
  yield* logPhase("warming up")
  yield* postCallbacks(receiver, warm_up_posts, 10_000_000)
  yield* drain
  yield* Effect.sleep("3 seconds")
  return memoryOf(receiver.pid)
})

const measurePosts = Effect.fnUntraced(function*(receiver: Receiver) {
  yield* logPhase("posting")
  const responses = yield* postCallbacks(receiver, seconds * posts_per_second, 0)
  yield* logPhase("processing")
  const drain_ms = yield* drain
  const stored = yield* countStored
  yield* logPhase("mutated bodies")
  const { account, sign, url } = receiver
  const mutated = yield* Random.withSeed(Posts.postMutated(url, account, mutated_bodies, sign), "ingress")
  return { responses, drain_ms, stored, mutated }
})

const measureIngress = Effect.gen(function*() {
  const cluster = yield* Service.cluster(1)
  const receiver = yield* startReceiver(cluster)
  const measure = Effect.gen(function*() {
    const rest = yield* warmUp(receiver)
    const { peak_mib, result } = yield* memoryDuring(receiver.pid, measurePosts(receiver))
    return { ...result, memory_mib: { rest, peak: peak_mib } }
  })
  const measurements = yield* Effect.provide(measure, Benchmark.database(cluster.database_url, 1))
  return Report.reportOf(measurements, { seconds, posts_per_second, warm_up_posts })
})

await Benchmark.run(() => Effect.orDie(measureIngress), {
  isWithin: ({ violations }) => violations.length === 0,
  timeout: "5 minutes"
})
