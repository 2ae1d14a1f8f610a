/**
 * Clients that write and retry until they succeed, and what must be stored and
 * sent when they are done: the bookkeeping of the tests that kill something.
 *
 * Each client creates contacts and starts conversations, each with an idempotency
 * key, and repeats a request until it succeeds. Then it sends the request again, to
 * another server, and compares the bytes.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Clock, Effect, Fiber, Redacted, Ref, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { pick } from "./Pick.ts"
import * as Processes from "./Processes.ts"

interface PlannedRequest {
  readonly key: string
  readonly path: "/contacts" | "/conversations"
  readonly json: unknown
}

export interface CompletedRequest extends PlannedRequest {
  readonly id: string
  readonly text: string
  /** When the successful attempt was sent and when its response arrived, in milliseconds. */
  readonly sent_at: number
  readonly completed_at: number
}

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

const isFinal = (status: number): boolean => status === 201 || status === 202

/** Returns whether the request can be repeated with the same key. */
const isTransient = ({ status, text }: Processes.Response): boolean =>
  status >= 500 || status === 429 || text.includes("request_processing")

/** The responses that the clients received. */
export interface Outcome {
  readonly completed: ReadonlyArray<CompletedRequest>
  /** The keys of requests with two different responses. */
  readonly differences: ReadonlyArray<string>
}

/** The stored rows and the messages that the network accepted, read when the queue is empty. */
export interface Stored {
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

export type Cluster = Effect.Success<ReturnType<typeof Processes.cluster>>

/** Repeats a request, each time to a random server, until it succeeds. */
const requestUntilSuccess = (
  { acme, servers }: Cluster,
  { json, key, path }: PlannedRequest,
  onTransient: (response: Processes.Response) => void
) =>
  Effect.gen(function*() {
    const server = yield* pick(servers)
    const options = { key: acme.key, json, idempotency_key: key }
    const sent_at = yield* Clock.currentTimeMillis
    const response = yield* Processes.request(server, "POST", path, options).pipe(Effect.timeout("8 seconds"))
    if (isFinal(response.status)) return { ...response, sent_at }
    if (isTransient(response)) {
      onTransient(response)
      return yield* Effect.fail(response)
    }
    return yield* Effect.die(new Error(`${path} returned ${response.status}: ${response.text}`))
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

/** Makes a number of clients of a cluster. They report each response after which they repeat a request. */
export const make = Effect.fnUntraced(function*(
  cluster: Cluster,
  clients: number,
  onTransient: (response: Processes.Response) => void = () => {}
) {
  const completed = yield* Ref.make<ReadonlyArray<CompletedRequest>>([])
  const differences = yield* Ref.make<ReadonlyArray<string>>([])

  const compare = (planned: CompletedRequest) =>
    Effect.flatMap(
      requestUntilSuccess(cluster, planned, onTransient),
      ({ text }) => text === planned.text ? Effect.void : Ref.update(differences, (keys) => [...keys, planned.key])
    )

  const client = Effect.fnUntraced(function*(name: number, isStopping: Effect.Effect<boolean>) {
    for (let number = 0; !(yield* isStopping); number++) {
      const planned = planRequest(cluster, name, number)
      const { sent_at, text } = yield* requestUntilSuccess(cluster, planned, onTransient)
      const completed_at = yield* Clock.currentTimeMillis
      const { data } = yield* Effect.orDie(Schema.decodeUnknownEffect(Created)(text))
      const request = { ...planned, id: data.id, text, sent_at, completed_at }
      yield* Ref.update(completed, (requests) => [...requests, request])
      if (number % 4 < 2) yield* compare(request)
    }
  })

  const names = Array.from({ length: clients }, (_, index) => index)
  return {
    /** Sends requests until a condition holds, and then awaits their responses. */
    writeUntil: (isStopping: Effect.Effect<boolean>) =>
      Effect.forEach(names, (name) => client(name, isStopping), { concurrency: "unbounded", discard: true }),
    /** Repeats each completed request, and compares the responses. */
    repeatAll: Effect.flatMap(
      Ref.get(completed),
      (requests) => Effect.forEach(requests, compare, { concurrency: 8, discard: true })
    ),
    outcome: Effect.map(
      Effect.all([Ref.get(completed), Ref.get(differences)]),
      ([completed, differences]): Outcome => ({ completed, differences })
    )
  }
})

/** Waits until the queue is empty, for at most 200 seconds, and loads what is stored. */
export const loadStored = Effect.fnUntraced(function*({ accepted_url }: Cluster) {
  const sql = yield* SqlClient.SqlClient
  const queued = sql<{ readonly count: number }>`
    SELECT (
      (SELECT count(*) FROM work)
      + (SELECT count(*) FROM work_lanes WHERE emptied_at IS NULL)
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

/** Returns every difference between the stored and sent messages and the responses that the clients received. */
export const violationsOf = (
  { completed, differences }: Outcome,
  { accepted, contacts, messages, queued, sends, unread }: Stored
): ReadonlyArray<string> => {
  const wanted = (path: PlannedRequest["path"]) => completed.filter((request) => request.path === path)
  const sent = sends.filter(({ status }) => status === "sent")
  return [
    differences.length === 0 ? null : `replays that differ: ${differences.join(", ")}`,
    contacts.every(({ count }) => count === 1) ? null : "a contact was created twice",
    sorted(contacts.map(({ key }) => key)) === sorted(wanted("/contacts").map(({ key }) => key))
      ? null
      : "the contacts are not those of the responses",
    sorted(sends.map(({ id }) => id)) === sorted(wanted("/conversations").map(({ id }) => id))
      ? null
      : "the sends are not those of the responses",
    new Set(accepted).size === accepted.length ? null : "a send reached the provider twice",
    sorted(accepted) === sorted(sent.map(({ id }) => id))
      ? null
      : "the sends with status sent are not those that the provider accepted",
    sent.length === messages ? null : "a send with status sent has no message, or two",
    unread === 0 ? null : `${unread} messages were reported as read and are not`,
    queued === 0 ? null : `${queued} rows are left in the queue`
  ].filter((violation) => violation !== null)
}

/** Returns the numbers of a report. */
export const countsOf = ({ accepted, contacts, sends }: Stored) => ({
  contacts: contacts.length,
  sends: sends.length,
  sent: sends.filter(({ status }) => status === "sent").length,
  accepted: accepted.length,
  unsent: sends.filter(({ status }) => status !== "sent").map(({ failure_reason, status }) => failure_reason ?? status)
})

/** Ends the writing of clients, repeats each request, and returns what was lost or duplicated, if anything. */
export const finish = Effect.fnUntraced(function*<E>(
  cluster: Cluster,
  writers: Effect.Success<ReturnType<typeof make>>,
  writing: Fiber.Fiber<void, E>,
  isStopping: Ref.Ref<boolean>
) {
  yield* Ref.set(isStopping, true)
  yield* Fiber.join(writing)
  yield* writers.repeatAll
  const outcome = yield* writers.outcome
  const stored = yield* Effect.provide(
    loadStored(cluster),
    Client.layer({ url: Redacted.make(cluster.database_url) })
  )
  return { ...countsOf(stored), violations: violationsOf(outcome, stored) }
})
