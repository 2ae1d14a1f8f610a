/**
 * Kills servers with `kill -9` while clients retry, cuts connections after a commit and before its answer, and counts
 * what was lost or doubled: `npm run kill-test`, or with another number of kills, `-- 20`.
 *
 * Three servers share one database and one telephone network, which is a process
 * of its own. Each client makes contacts and starts conversations, each with an
 * idempotency key, and repeats a request until it is answered for good; then it
 * asks again, of another server, and compares the bytes.
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
const cuts_wanted = Math.ceil(kills_wanted / 2)
const clients = 6
const impatientServer = fileURLToPath(new URL("./server.ts", import.meta.url))

interface Wish {
  readonly key: string
  readonly path: "/contacts" | "/conversations"
  readonly json: unknown
}

interface Granted extends Wish {
  readonly id: string
  readonly text: string
}

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

const isFinal = (status: number): boolean => status === 201 || status === 202

/** Answers after which the same key may simply be used again. */
const isPassing = ({ status, text }: Processes.Answer): boolean =>
  status >= 500 || status === 429 || text.includes("request_processing")

const pick = <A>(values: ReadonlyArray<A>) =>
  Effect.map(Random.nextIntBetween(0, values.length - 1), (index) => values[index] as A) // the index is in range

/** What happened, as the clients and the killers saw it. */
interface Story {
  readonly kills: number
  /** Commits whose answer was lost. */
  readonly cuts: number
  readonly granted: ReadonlyArray<Granted>
  /** Keys of which two answers differed. */
  readonly differences: ReadonlyArray<string>
}

/** What is stored, and what the network took, once nothing is queued any more. */
interface Remains {
  readonly contacts: ReadonlyArray<{ readonly key: string; readonly count: number }>
  readonly sends: ReadonlyArray<
    { readonly id: string; readonly status: string; readonly failure_reason: string | null }
  >
  readonly messages: number
  readonly queued: number
  readonly taken: ReadonlyArray<string>
}

type Cluster = Effect.Success<ReturnType<typeof Processes.cluster>>

/** Keeps one server running, and kills it at a random moment, again and again. */
const killer = Effect.fnUntraced(function*(
  { environment }: Cluster,
  server: Processes.Server,
  kills: Ref.Ref<number>
) {
  while ((yield* Ref.get(kills)) < kills_wanted) {
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Processes.serve(environment, server, impatientServer)
      yield* Effect.sleep(`${yield* Random.nextIntBetween(50, 3000)} millis`)
    }))
    const count = yield* Ref.updateAndGet(kills, (value) => value + 1)
    if (count % 20 === 0) console.log(`${count} kills`)
  }
})

/** Loses the answers of commits, one every now and then. */
const cutter = Effect.fnUntraced(function*({ loseAnswer }: Proxy.Proxy, cuts: Ref.Ref<number>) {
  for (let wanted = 1; wanted <= cuts_wanted; wanted++) {
    yield* loseAnswer((statement) => {
      const isCommit = statement.includes("commit_requires")
      if (isCommit) Effect.runSync(Ref.update(cuts, (count) => count + 1))
      return isCommit
    })
    yield* Ref.get(cuts).pipe(
      Effect.repeat({ schedule: Schedule.spaced("50 millis"), until: (count) => count >= wanted })
    )
    yield* Effect.sleep(`${yield* Random.nextIntBetween(100, 700)} millis`)
  }
})

/** Repeats a request, each time of any server, until it is answered for good. */
const ask = ({ acme, servers }: Cluster, { json, key, path }: Wish) =>
  Effect.gen(function*() {
    const server = yield* pick(servers)
    const options = { key: acme.key, json, idempotency_key: key }
    const answer = yield* Processes.request(server, "POST", path, options).pipe(Effect.timeout("8 seconds"))
    if (isFinal(answer.status)) return answer
    if (isPassing(answer)) return yield* Effect.fail(answer)
    return yield* Effect.die(new Error(`${path} was answered with ${answer.status}: ${answer.text}`))
  }).pipe(Effect.retry({ schedule: Schedule.jittered(Schedule.spaced("60 millis")) }))

const wishFor = (cluster: Cluster, client: number, number: number): Wish => {
  const key = `kill-${client}-${number}`
  if (number % 2 === 0) return { key, path: "/contacts", json: { first_name: key, source: "kill-test" } }
  // Some conversations are with a number that all clients write to.
  const own = `+4915${String(client * 1_000_000 + number * 10 + 100).padStart(9, "0")}`
  const phone = number % 3 === 0 ? "+4917012345670" : own
  return { key, path: "/conversations", json: Processes.greeting(cluster.acme.channel_id, phone, key) }
}

/** Runs clients and killers against each other, then calm servers that answer the rest. */
const story = Effect.fnUntraced(function*(cluster: Cluster) {
  const cuts = yield* Ref.make(0)
  const kills = yield* Ref.make(0)
  const granted = yield* Ref.make<ReadonlyArray<Granted>>([])
  const differences = yield* Ref.make<ReadonlyArray<string>>([])

  const compare = (wish: Granted) =>
    Effect.flatMap(
      ask(cluster, wish),
      ({ text }) => text === wish.text ? Effect.void : Ref.update(differences, (keys) => [...keys, wish.key])
    )

  const client = Effect.fnUntraced(function*(name: number) {
    const isOver = Effect.map(
      Effect.all([Ref.get(kills), Ref.get(cuts)]),
      ([killed, cut]) => killed >= kills_wanted && cut >= cuts_wanted
    )
    for (let number = 0; !(yield* isOver); number++) {
      const wish = wishFor(cluster, name, number)
      const { text } = yield* ask(cluster, wish)
      const { data } = yield* Effect.orDie(Schema.decodeUnknownEffect(Created)(text))
      const grant = { ...wish, id: data.id, text }
      yield* Ref.update(granted, (grants) => [...grants, grant])
      if (number % 4 < 2) yield* compare(grant)
    }
  })

  const names = Array.from({ length: clients }, (_, index) => index)
  const asking = yield* Effect.forkChild(Effect.forEach(names, client, { concurrency: "unbounded", discard: true }))
  const proxy = yield* Proxy.make(Redacted.make(cluster.database_url))
  const through: Cluster = {
    ...cluster,
    environment: { ...cluster.environment, DATABASE_URL: Redacted.value(proxy.url) }
  }
  yield* Effect.forkChild(cutter(proxy, cuts))
  yield* Effect.forEach(cluster.servers, (server) => killer(through, server, kills), {
    concurrency: "unbounded",
    discard: true
  })
  yield* Effect.forEach(cluster.servers, (server) => Processes.serve(through.environment, server, impatientServer), {
    concurrency: "unbounded"
  })
  yield* Fiber.join(asking)
  yield* Effect.forEach(yield* Ref.get(granted), compare, { concurrency: 8, discard: true })
  return {
    kills: yield* Ref.get(kills),
    cuts: yield* Ref.get(cuts),
    granted: yield* Ref.get(granted),
    differences: yield* Ref.get(differences)
  } satisfies Story
})

/** Waits until nothing is queued, for 200 seconds at most, and looks at what there is. */
const remains = Effect.fnUntraced(function*({ network_url }: Cluster) {
  const sql = yield* SqlClient.SqlClient
  const queued = sql<{ readonly count: number }>`
    SELECT (SELECT count(*) FROM work)::integer + (SELECT count(*) FROM work_lanes)::integer AS count
  `.pipe(Effect.map(([row]) => row?.count ?? -1))
  yield* queued.pipe(
    Effect.repeat({ schedule: Schedule.spaced("250 millis"), times: 800, until: (count) => count === 0 })
  )
  const [messages] = yield* sql<{ readonly count: number }>`SELECT count(*)::integer AS count FROM messages`
  return {
    contacts: yield* sql<Remains["contacts"][number]>`
      SELECT first_name AS key, count(*)::integer AS count
      FROM contacts
      WHERE source = 'kill-test'
      GROUP BY first_name
    `,
    sends: yield* sql<Remains["sends"][number]>`SELECT id, status, failure_reason FROM sends`,
    messages: messages?.count ?? -1,
    queued: yield* queued,
    taken: (yield* Processes.taken(network_url)).map(({ reference }) => reference)
  } satisfies Remains
})

const sorted = (values: ReadonlyArray<string>): string => values.toSorted().join(" ")

/** Holds what the clients were told against what is stored and what was sent. */
const judge = ({ cuts, differences, granted, kills }: Story, { contacts, messages, queued, sends, taken }: Remains) => {
  const wanted = (path: Wish["path"]) => granted.filter((grant) => grant.path === path)
  const sent = sends.filter(({ status }) => status === "sent")
  const complaints = [
    differences.length === 0 ? null : `replays that differ: ${differences.join(", ")}`,
    contacts.every(({ count }) => count === 1) ? null : "a contact was made twice",
    sorted(contacts.map(({ key }) => key)) === sorted(wanted("/contacts").map(({ key }) => key))
      ? null
      : "the contacts are not those that were answered",
    sorted(sends.map(({ id }) => id)) === sorted(wanted("/conversations").map(({ id }) => id))
      ? null
      : "the sends are not those that were answered",
    new Set(taken).size === taken.length ? null : "a send reached the provider twice",
    sorted(taken) === sorted(sent.map(({ id }) => id)) ? null : "the sends that are sent are not those that were taken",
    sent.length === messages ? null : "a send that is sent has no message, or two",
    cuts >= cuts_wanted ? null : `only ${cuts} answers of commits were lost`,
    queued === 0 ? null : `${queued} rows are left in the queue`
  ].filter((complaint) => complaint !== null)
  const numbers = {
    kills,
    cuts,
    contacts: contacts.length,
    sends: sends.length,
    sent: sent.length,
    taken: taken.length,
    unsent: sends.filter(({ status }) => status !== "sent").map(({ failure_reason, status }) =>
      failure_reason ?? status
    )
  }
  console.log(JSON.stringify({ ...numbers, complaints }))
  return complaints.length === 0
}

const test = Effect.gen(function*() {
  const cluster = yield* Processes.cluster({
    servers: 3,
    environment: {
      RATE_LIMIT_PER_MINUTE: "1000000",
      REQUESTS_AT_ONCE: "1000",
      DATABASE_POOL: "8",
      LOG_LEVEL: "error",
      LOG_FORMAT: "json"
    }
  })
  const told = yield* story(cluster)
  const found = yield* remains(cluster).pipe(
    Effect.provide(Client.layer({ url: Redacted.make(cluster.database_url) }))
  )
  return judge(told, found)
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
