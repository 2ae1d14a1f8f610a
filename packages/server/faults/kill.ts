/**
 * Kills servers with `kill -9` while clients retry, drops the answers of commits, and counts
 * what was lost or duplicated: `npm run kill-test`, or with another number of kills, `-- 20`,
 * and over the fake Graph API in place of the mock provider, `-- 20 cloud`.
 *
 * Three servers share one database and one network in another process. Each
 * client creates contacts and starts conversations, each with an idempotency key,
 * and repeats a request until it succeeds. Then it sends the request again, to
 * another server, and compares the bytes.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { ConfigProvider, Effect, Fiber, Random, Redacted, Ref, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Proxy from "../../adapter-postgres/testing/Proxy.ts"
import { start as startPostgres } from "../src/EmbeddedPostgres.ts"
import * as Processes from "../testing/Processes.ts"

const kills_wanted = Number(process.argv[2] ?? 120)
const provider = process.argv[3] === "cloud" ? "cloud" : "mock"
const dropped_answers_wanted = Math.ceil(kills_wanted / 2)
const clients = 6
const shortTimeoutServer = fileURLToPath(new URL("./server.ts", import.meta.url))

interface PlannedRequest {
  readonly key: string
  readonly path: "/contacts" | "/conversations"
  readonly json: unknown
}

interface AnsweredRequest extends PlannedRequest {
  readonly id: string
  readonly text: string
}

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

const isFinal = (status: number): boolean => status === 201 || status === 202

/** Returns whether the request can be repeated with the same key. */
const isTransient = ({ status, text }: Processes.Answer): boolean =>
  status >= 500 || status === 429 || text.includes("request_processing")

const pick = <A>(values: ReadonlyArray<A>) =>
  Effect.map(Random.nextIntBetween(0, values.length - 1), (index) => values[index] as A) // the index is in range

/** What the clients and the killers have recorded. */
interface Outcome {
  readonly kills: number
  /** The number of commits whose answer was dropped. */
  readonly dropped_answers: number
  readonly answered: ReadonlyArray<AnsweredRequest>
  /** The keys for which two answers differed. */
  readonly differences: ReadonlyArray<string>
}

/** What is stored, and what the network has accepted, when the queue is empty. */
interface Stored {
  readonly contacts: ReadonlyArray<{ readonly key: string; readonly count: number }>
  readonly sends: ReadonlyArray<
    { readonly id: string; readonly status: string; readonly failure_reason: string | null }
  >
  readonly messages: number
  /** Messages that the network reported as read and that are not. */
  readonly unread: number
  readonly queued: number
  readonly accepted: ReadonlyArray<string>
}

type Cluster = Effect.Success<ReturnType<typeof Processes.cluster>>

/** Runs one server and kills it at a random moment, again and again. */
const killer = Effect.fnUntraced(function*(
  { environment }: Cluster,
  server: Processes.Server,
  kills: Ref.Ref<number>
) {
  while ((yield* Ref.get(kills)) < kills_wanted) {
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Processes.serve(environment, server, shortTimeoutServer)
      yield* Effect.sleep(`${yield* Random.nextIntBetween(50, 3000)} millis`)
    }))
    const count = yield* Ref.updateAndGet(kills, (value) => value + 1)
    if (count % 20 === 0) console.log(`${count} kills`)
  }
})

/** Drops the answers of commits, one at a time, at random intervals. */
const answerDropper = Effect.fnUntraced(function*({ loseAnswer }: Proxy.Proxy, dropped_answers: Ref.Ref<number>) {
  for (let wanted = 1; wanted <= dropped_answers_wanted; wanted++) {
    yield* loseAnswer((statement) => {
      const isCommit = statement.includes("commit_requires")
      if (isCommit) Effect.runSync(Ref.update(dropped_answers, (count) => count + 1))
      return isCommit
    })
    yield* Ref.get(dropped_answers).pipe(
      Effect.repeat({ schedule: Schedule.spaced("50 millis"), until: (count) => count >= wanted })
    )
    yield* Effect.sleep(`${yield* Random.nextIntBetween(100, 700)} millis`)
  }
})

/** Repeats a request, each time to a random server, until it succeeds. */
const requestUntilAnswered = ({ acme, servers }: Cluster, { json, key, path }: PlannedRequest) =>
  Effect.gen(function*() {
    const server = yield* pick(servers)
    const options = { key: acme.key, json, idempotency_key: key }
    const answer = yield* Processes.request(server, "POST", path, options).pipe(Effect.timeout("8 seconds"))
    if (isFinal(answer.status)) return answer
    if (isTransient(answer)) return yield* Effect.fail(answer)
    return yield* Effect.die(new Error(`${path} was answered with ${answer.status}: ${answer.text}`))
  }).pipe(Effect.retry({ schedule: Schedule.jittered(Schedule.spaced("60 millis")) }))

const planRequest = (cluster: Cluster, client: number, number: number): PlannedRequest => {
  const key = `kill-${client}-${number}`
  if (number % 2 === 0) return { key, path: "/contacts", json: { first_name: key, source: "kill-test" } }
  // Some conversations are with a number that all clients write to.
  const own = `+4915${String(client * 1_000_000 + number * 10 + 100).padStart(9, "0")}`
  const phone = number % 3 === 0 ? "+4917012345670" : own
  return {
    key,
    path: "/conversations",
    json: Processes.greeting(cluster.acme.channel_id, phone, key, cluster.template_id)
  }
}

/** Runs clients while servers are killed, then servers that are not killed, until every request is answered. */
const run = Effect.fnUntraced(function*(cluster: Cluster) {
  const dropped_answers = yield* Ref.make(0)
  const kills = yield* Ref.make(0)
  const answered = yield* Ref.make<ReadonlyArray<AnsweredRequest>>([])
  const differences = yield* Ref.make<ReadonlyArray<string>>([])

  const compare = (planned: AnsweredRequest) =>
    Effect.flatMap(
      requestUntilAnswered(cluster, planned),
      ({ text }) => text === planned.text ? Effect.void : Ref.update(differences, (keys) => [...keys, planned.key])
    )

  const client = Effect.fnUntraced(function*(name: number) {
    const isOver = Effect.map(
      Effect.all([Ref.get(kills), Ref.get(dropped_answers)]),
      ([killed, dropped]) => killed >= kills_wanted && dropped >= dropped_answers_wanted
    )
    for (let number = 0; !(yield* isOver); number++) {
      const planned = planRequest(cluster, name, number)
      const { text } = yield* requestUntilAnswered(cluster, planned)
      const { data } = yield* Effect.orDie(Schema.decodeUnknownEffect(Created)(text))
      const request = { ...planned, id: data.id, text }
      yield* Ref.update(answered, (requests) => [...requests, request])
      if (number % 4 < 2) yield* compare(request)
    }
  })

  const names = Array.from({ length: clients }, (_, index) => index)
  const requesting = yield* Effect.forkChild(Effect.forEach(names, client, { concurrency: "unbounded", discard: true }))
  const proxy = yield* Proxy.make(Redacted.make(cluster.database_url))
  const through: Cluster = {
    ...cluster,
    environment: { ...cluster.environment, DATABASE_URL: Redacted.value(proxy.url) }
  }
  yield* Effect.forkChild(answerDropper(proxy, dropped_answers))
  yield* Effect.forEach(cluster.servers, (server) => killer(through, server, kills), {
    concurrency: "unbounded",
    discard: true
  })
  yield* Effect.forEach(cluster.servers, (server) => Processes.serve(through.environment, server, shortTimeoutServer), {
    concurrency: "unbounded"
  })
  yield* Fiber.join(requesting)
  yield* Effect.forEach(yield* Ref.get(answered), compare, { concurrency: 8, discard: true })
  return {
    kills: yield* Ref.get(kills),
    dropped_answers: yield* Ref.get(dropped_answers),
    answered: yield* Ref.get(answered),
    differences: yield* Ref.get(differences)
  } satisfies Outcome
})

/** Waits until the queue is empty, for at most 200 seconds, and loads what is stored. */
const loadStored = Effect.fnUntraced(function*({ accepted_url }: Cluster) {
  const sql = yield* SqlClient.SqlClient
  const queued = sql<{ readonly count: number }>`
    SELECT (
      (SELECT count(*) FROM work)
      + (SELECT count(*) FROM work_lanes)
      + (SELECT count(*) FROM provider_callbacks)
    )::integer AS count
  `.pipe(Effect.map(([row]) => row?.count ?? -1))
  yield* queued.pipe(
    Effect.repeat({ schedule: Schedule.spaced("250 millis"), times: 800, until: (count) => count === 0 })
  )
  const counted = sql<{ readonly messages: number; readonly unread: number }>`
    SELECT count(*)::integer AS messages, count(*) FILTER (WHERE read_at IS NULL)::integer AS unread
    FROM messages
  `.pipe(Effect.map(([row]) => row ?? { messages: -1, unread: -1 }))
  // The network may still be reporting.
  const { messages, unread } = yield* counted.pipe(
    Effect.repeat({ schedule: Schedule.spaced("250 millis"), times: 120, until: ({ unread }) => unread === 0 })
  )
  return {
    contacts: yield* sql<Stored["contacts"][number]>`
      SELECT first_name AS key, count(*)::integer AS count
      FROM contacts
      WHERE source = 'kill-test'
      GROUP BY first_name
    `,
    sends: yield* sql<Stored["sends"][number]>`SELECT id, status, failure_reason FROM sends`,
    messages,
    unread,
    queued: yield* queued,
    accepted: (yield* Processes.accepted(accepted_url)).map(({ reference }) => reference)
  } satisfies Stored
})

const sorted = (values: ReadonlyArray<string>): string => values.toSorted().join(" ")

/** Compares the answers with what is stored and sent. Prints the result and returns whether the test passed. */
const verify = (
  { dropped_answers, differences, answered, kills }: Outcome,
  { contacts, messages, queued, sends, accepted, unread }: Stored
) => {
  const wanted = (path: PlannedRequest["path"]) => answered.filter((request) => request.path === path)
  const sent = sends.filter(({ status }) => status === "sent")
  // The network is never down, so a send that was not accepted is one whose answer was lost.
  const isVisible = ({ failure_reason, status }: Stored["sends"][number]) =>
    status === "sent" || failure_reason === "outcome_unknown"
  const violations = [
    differences.length === 0 ? null : `replays that differ: ${differences.join(", ")}`,
    contacts.every(({ count }) => count === 1) ? null : "a contact was created twice",
    sorted(contacts.map(({ key }) => key)) === sorted(wanted("/contacts").map(({ key }) => key))
      ? null
      : "the contacts are not those that were answered",
    sorted(sends.map(({ id }) => id)) === sorted(wanted("/conversations").map(({ id }) => id))
      ? null
      : "the sends are not those that were answered",
    new Set(accepted).size === accepted.length ? null : "a send reached the provider twice",
    sorted(accepted) === sorted(sent.map(({ id }) => id))
      ? null
      : "the sends with status sent are not those that the provider accepted",
    sent.length === messages ? null : "a send with status sent has no message, or two",
    sends.every(isVisible) ? null : "a lost answer was neither settled nor ended as outcome_unknown",
    unread === 0 ? null : `${unread} messages were reported as read and are not`,
    dropped_answers >= dropped_answers_wanted ? null : `only ${dropped_answers} answers of commits were dropped`,
    queued === 0 ? null : `${queued} rows are left in the queue`
  ].filter((violation) => violation !== null)
  const numbers = {
    provider,
    kills,
    dropped_answers,
    contacts: contacts.length,
    sends: sends.length,
    sent: sent.length,
    accepted: accepted.length,
    unsent: sends.filter(({ status }) => status !== "sent").map(({ failure_reason, status }) =>
      failure_reason ?? status
    )
  }
  console.log(JSON.stringify({ ...numbers, violations }))
  return violations.length === 0
}

const test = Effect.gen(function*() {
  const cluster = yield* Processes.cluster({
    servers: 3,
    provider,
    environment: {
      RATE_LIMIT_PER_MINUTE: "1000000",
      REQUESTS_AT_ONCE: "1000",
      DATABASE_POOL: "8",
      LOG_LEVEL: "error",
      LOG_FORMAT: "json"
    }
  })
  const outcome = yield* run(cluster)
  const stored = yield* loadStored(cluster).pipe(
    Effect.provide(Client.layer({ url: Redacted.make(cluster.database_url) }))
  )
  return verify(outcome, stored)
}).pipe(Effect.scoped)

const directory = await mkdtemp(join(tmpdir(), "messaging-crm-kill-"))
const passed = await Effect.runPromise(
  Effect.gen(function*() {
    const url = yield* startPostgres({ directory })
    const environment = ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: url }))
    return yield* Effect.provide(test, environment)
  }).pipe(Effect.scoped, Effect.timeout("20 minutes"))
)
await rm(directory, { recursive: true, force: true })
process.exit(passed ? 0 : 1)
