/** The measured operations. Each effect processes items and returns their number. */
import { Array, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { untilIdle } from "../harness/Backlog.ts"
import * as Endpoint from "../harness/Endpoint.ts"
import { Api, Callbacks } from "../harness/Fixtures.ts"
import * as Service from "../harness/Service.ts"
import { untilPasses } from "../harness/Waiting.ts"
import type { Load } from "../load/Load.ts"
import * as Population from "../load/Population.ts"
import { parts, workloads } from "../load/Workloads.ts"

/** The number of contacts in the database before the measurement. */
export const contacts = 100_000

export interface Bench {
  readonly cluster: Service.Cluster
  readonly load: Load
  /** The number of items of a round. */
  readonly items: number
}

/** The number of concurrent requests. */
const concurrency = 16

const key = Population.key(1)

/** Numbers the items of all rounds. */
let used = 0

const take = (count: number): ReadonlyArray<number> => {
  const first = used
  used += count
  return Array.range(first, used - 1)
}

/** Dies unless a write succeeded: the figures count only processed items. */
const requireSuccess = ({ status, text }: Pick<Api.Response, "status" | "text">) =>
  status < 300 ? Effect.void : Effect.die(new Error(`${status}: ${text}`))

/** Sends requests of `npm run bench` for a while. */
const requests = (name: "list" | "read" | "update") => ({ cluster, load }: Bench) =>
  Effect.gen(function*() {
    const workload = workloads.find((each) => each.name === name)
    const all = workload?.requests(contacts, "") ?? []
    const { port } = cluster.server
    const { failed, responses } = yield* load.run({
      port,
      requests: all.map((request) => parts(request, `127.0.0.1:${port}`, `cost-${name}-${take(1)[0]}`)),
      connections: concurrency,
      seconds: 3
    })
    return failed === 0 ? responses : yield* Effect.die(new Error(`${failed} requests failed.`))
  })

/** Creates contacts by upserts of 100. */
const upserts = ({ cluster: { server }, items }: Bench) =>
  Effect.gen(function*() {
    const batches = Array.chunksOf(take(items), 100)
    const upsert = (numbers: ReadonlyArray<number>) =>
      Api.request(server, "POST", "/contacts/upsert", {
        key,
        idempotency_key: `cost-upsert-${numbers[0]}`,
        json: {
          match: "primary_email",
          contacts: numbers.map((number) => ({
            first_name: "Kim",
            last_name: `Berg ${number}`,
            primary_email: `kim.${number}@new.example`,
            primary_phone: `+4915${String(100_000_000 + number)}`,
            company: "Nordwind Logistik",
            job_title: "Head of operations",
            city: "Rotterdam",
            country: "Netherlands",
            source: "import"
          }))
        }
      }).pipe(Effect.flatMap(requireSuccess))
    yield* Effect.forEach(batches, upsert, { concurrency: 4, discard: true })
    return items
  })

/** A person with a conversation, whose number selects no special behavior of the network. */
const personOf = (number: number): number => {
  // The last ones are left, so that ten later is in the organization too.
  const person = 5 * (1 + number * 7919 % (contacts / 5 - 2))
  return person % 10_000 < 10 ? person + 10 : person
}

const phoneOf = (person: number): string => `+316${String(person).padStart(8, "0")}`

/** The channel of the measured messages. */
export const channel_id = Population.id("channel", 1)

/** Receives messages of known people, one per callback. */
const inbound = ({ cluster, items }: Bench) =>
  Effect.gen(function*() {
    const receive = (number: number) =>
      Callbacks.post(cluster.server, [
        Service.messageFrom(phoneOf(personOf(number)), channel_id, `cost-${number}`)
      ]).pipe(
        Effect.flatMap((status) => requireSuccess({ status, text: "callback" }))
      )
    yield* Effect.forEach(take(items), receive, { concurrency, discard: true })
    yield* untilIdle
    return items
  })

const countRead = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly count: number }>`
    SELECT count(*)::int AS count FROM messages WHERE provider_message_id IS NOT NULL AND text LIKE 'cost %' AND status = 'read'
  `
).pipe(Effect.map(([row]) => row?.count ?? 0))

/** Sends texts, each to another person, and waits until the network has reported each as sent, delivered, and read. */
const sends = ({ cluster: { server }, items }: Bench) =>
  Effect.gen(function*() {
    const read = yield* countRead
    const send = (number: number) =>
      Api.request(server, "POST", `/conversations/${Population.id("conversation", personOf(number))}/messages`, {
        key,
        idempotency_key: `cost-send-${number}`,
        json: { type: "text", text: `cost ${number}: we are open on weekdays from nine to half past five.` }
      }).pipe(Effect.flatMap(requireSuccess))
    yield* Effect.forEach(take(items), send, { concurrency, discard: true })
    // Counting reads all messages, so it happens after the network's reports.
    const settle = Effect.andThen(untilIdle, Effect.sleep("1 second"))
    yield* settle
    yield* untilPasses(Effect.andThen(settle, countRead), {
      interval: "1 second",
      times: 300,
      until: (count) => count === read + items
    })
    return items
  })

export const webhooks = 8

/** Receives messages as `inbound` does, with webhooks that get them. */
const delivered = Effect.fnUntraced(function*(bench: Bench) {
  const endpoint = yield* Endpoint.start
  for (let index = 0; index < webhooks; index++) {
    yield* Service.subscribe(bench.cluster.server, key, `${endpoint.url}/hook/${index}`)
  }
  const items = yield* inbound(bench)
  yield* SqlClient.SqlClient.use((sql) =>
    sql`UPDATE webhooks SET status = 'disabled', disabled_at = now() WHERE status = 'active'`
  )
  const { posts } = yield* endpoint.received
  return posts === items * webhooks ? items : yield* Effect.die(new Error(`${posts} posts arrived.`))
}, Effect.scoped)

export const operations = {
  read: requests("read"),
  list: requests("list"),
  update: requests("update"),
  upsert: upserts,
  inbound,
  send: sends,
  delivered
} as const
