/**
 * Measures how callbacks of the Graph API are processed: `npm run bench:ingress`.
 * `-- 20 1500` sets the number of seconds, and of posts per second.
 *
 * One process receives 1,000 signed posts per second, with one status or message each, responds
 * to them, and processes them. Then it receives 5,000 mutated bodies, each with a valid signature,
 * with an invalid one, and without one. Load, server, and database share the machine. Prints
 * one JSON document, and fails if a limit is exceeded.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Clock, Effect, Random, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import { Agent, request } from "node:http"
import { performance } from "node:perf_hooks"
import * as Arguments from "./Arguments.ts"
import { CallbackBodies, mutatedBody, Processes } from "./Fixtures.ts"
import * as Limits from "./Limits.ts"
import { memoryDuring, memoryOf } from "./Memory.ts"
import { summaryOf } from "./Percentiles.ts"
import * as Service from "./Service.ts"
import { untilPasses } from "./Waiting.ts"

const { posts_per_second, seconds } = Arguments.numbers({ seconds: 10, posts_per_second: 1000 })
const mutated_bodies = 5000
const warm_up_posts = 1000

const Setting = Schema.fromJsonString(Schema.Struct({
  apps: Schema.NonEmptyArray(Schema.Struct({ secret: Schema.String })),
  channels: Schema.NonEmptyArray(Schema.Struct({ phone_number_id: Schema.String }))
}))

interface Post {
  readonly body: Buffer
  readonly signature: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Posts a body, and returns the status; 0 if there was no response. */
const send = (url: string, { body, signature }: Post): Promise<number> =>
  new Promise((resolve) => {
    const headers = { "content-type": "application/json", "x-hub-signature-256": signature }
    request(`${url}/ingress/graph`, { method: "POST", agent, headers }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0))
    }).once("error", () => resolve(0)).end(body)
  })

const signedWith = (secret: string) => (text: string): Post => {
  const body = Buffer.from(text)
  return { body, signature: `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` }
}

/** Returns a body of the most frequent kinds: for each inbound message, three statuses of a message that another system sent. */
const bodyAt = (phone_number_id: string, index: number): string => {
  const at = Math.floor(Date.now() / 1000)
  const person = `49151${String(10_000_000 + index % 5000).padStart(8, "0")}`
  const part = index % 4 === 0
    ? CallbackBodies.messagePart(phone_number_id, { wa_id: person, name: "Ana Lima" }, {
      id: `wamid.${index}`,
      timestamp: String(at),
      type: "text",
      text: { body: `Message ${index} 👋` }
    })
    : CallbackBodies.statusPart(phone_number_id, {
      id: `wamid.sent.${index - index % 4}`,
      status: (["sent", "delivered", "read"] as const)[index % 4 - 1] ?? "read",
      timestamp: at,
      recipient_id: person,
      reference: null
    })
  return CallbackBodies.bodyOf([part])
}

/** Returns the number of messages in a number of posts: the first of four is a message, the others are its statuses. */
const messagesIn = (posts: number): number => Math.ceil(posts / 4)

/** Posts at a steady rate, regardless of response times. Returns the status of each, and the time since it was due. */
const load = (url: string, posts: ReadonlyArray<Post>) =>
  Effect.promise(() =>
    new Promise<ReadonlyArray<{ readonly status: number; readonly elapsed_ms: number }>>((resolve) => {
      const results: Array<{ readonly status: number; readonly elapsed_ms: number }> = []
      const begun = performance.now()
      let next = 0
      const timer = setInterval(() => {
        const due = Math.min(posts.length, Math.floor((performance.now() - begun) / 1000 * posts_per_second))
        for (; next < due; next++) {
          const post = posts[next]
          if (post === undefined) continue
          const due_at = begun + next / posts_per_second * 1000
          void send(url, post).then((status) => {
            results.push({ status, elapsed_ms: performance.now() - due_at })
            if (results.length === posts.length) resolve(results)
          })
        }
        if (next === posts.length) clearInterval(timer)
      }, 5)
    })
  )

const rounded = (ms: number): number => Math.round(10 * ms) / 10

const countBy = (statuses: ReadonlyArray<number>) =>
  Object.fromEntries(Array.from(Map.groupBy(statuses, (status) => status), ([status, all]) => [status, all.length]))

/** Posts mutated bodies, a few at once, each with a valid signature, with an invalid one, and without one. */
const postMutated = Effect.fnUntraced(function*(url: string, account: string, sign: (text: string) => Post) {
  const bodies = yield* Effect.forEach(
    Array.from({ length: mutated_bodies }, (_, index) => index),
    (index) => mutatedBody(account, index)
  )
  const postAll = (signatureOf: (post: Post) => string) =>
    Effect.forEach(
      bodies,
      ({ text }) => {
        const post = sign(text)
        return Effect.promise(() => send(url, { ...post, signature: signatureOf(post) }))
      },
      { concurrency: 16 }
    )
  const unsigned = [
    ...yield* postAll(() => `sha256=${"0".repeat(64)}`),
    ...yield* postAll(() => "")
  ]
  return { signed: yield* postAll(({ signature }) => signature), unsigned }
})

/** Waits until every body is processed, and returns how long that took. */
const drained = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const begun = yield* Clock.currentTimeMillis
  const left = sql<{ readonly count: number }>`SELECT count(*)::integer AS count FROM provider_callbacks`
  yield* untilPasses(left, { interval: "100 millis", times: 3000, until: ([row]) => row?.count === 0 })
  return (yield* Clock.currentTimeMillis) - begun
})

/** Counts the inbound messages. */
const countStored = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly stored: number }>`SELECT count(*)::integer AS stored FROM messages WHERE direction = 'inbound'`
).pipe(Effect.map(([row]) => row?.stored ?? -1))

interface Measured {
  readonly results: Effect.Success<ReturnType<typeof load>>
  readonly drain_ms: number
  readonly stored: number
  readonly mutated: Effect.Success<ReturnType<typeof postMutated>>
  readonly memory_mib: { readonly rest: number; readonly peak: number }
}

/** Returns what is printed: the figures, and the exceeded limits. */
const reportOf = ({ drain_ms, memory_mib, mutated: { signed, unsigned }, results, stored }: Measured) => {
  const { max_ms, p50_ms, p99_ms } = summaryOf(results.map(({ elapsed_ms }) => elapsed_ms))
  const figures = {
    posts: results.length,
    posts_per_second,
    statuses: countBy(results.map(({ status }) => status)),
    response: { p50_ms: rounded(p50_ms), p99_ms: rounded(p99_ms), max_ms: rounded(max_ms) },
    drain_ms,
    processed_per_second: Math.round(results.length / (seconds + drain_ms / 1000)),
    messages: { posted: messagesIn(results.length) + messagesIn(warm_up_posts), stored },
    mutated: { signed: countBy(signed), unsigned: countBy(unsigned) }
  }
  const violations = Limits.ingressViolations({ ...figures, memory_mib })
  const { peak, rest } = memory_mib
  return { ...figures, memory_mib: { rest: Math.round(rest), peak: Math.round(peak) }, violations }
}

const stage = (name: string) => Effect.sync(() => process.stderr.write(`${name}\n`))

const benchmark = Effect.gen(function*() {
  const { database_url, environment, server } = yield* Service.cluster(1, "cloud")
  const { apps: [app], channels: [account] } = yield* Schema.decodeUnknownEffect(Setting)(environment["CLOUD_ACCOUNTS"])
  const sign = signedWith(app.secret)
  const { child } = yield* Processes.serve(environment, server)
  const pid = child.pid ?? 0
  const bodies = (count: number, first: number) =>
    Array.from({ length: count }, (_, index) => sign(bodyAt(account.phone_number_id, first + index)))
  const database = Client.layer({ url: Redacted.make(database_url), connections: 1 })

  yield* stage("warming up")
  // Memory at rest is that of a process whose code has run.
  yield* load(server.url, bodies(warm_up_posts, 10_000_000))
  yield* Effect.provide(drained, database)
  yield* Effect.sleep("3 seconds")
  const rest = memoryOf(pid)
  const measure = Effect.gen(function*() {
    yield* stage("posting")
    const results = yield* load(server.url, bodies(seconds * posts_per_second, 0))
    yield* stage("processing")
    const drain_ms = yield* drained
    const stored = yield* countStored
    yield* stage("mutated bodies")
    const mutated = yield* Random.withSeed(postMutated(server.url, account.phone_number_id, sign), "ingress")
    return { results, drain_ms, stored, mutated }
  })
  const { peak_mib, result } = yield* Effect.provide(memoryDuring(pid, measure), database)
  const report = reportOf({ ...result, memory_mib: { rest, peak: peak_mib } })
  if (report.violations.length > 0) process.exitCode = 1
  return report
})

await Service.run(() => Effect.orDie(benchmark), { timeout: "5 minutes" })
