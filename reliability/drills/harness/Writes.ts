/**
 * Clients that write and retry while a test injects faults, and the comparison of their responses with the stored rows.
 *
 * Each client creates contacts and starts conversations with idempotency keys, and repeats each request until it succeeds.
 * Then it sends some of the requests again, to a random server, and compares the bytes.
 */
import { Clock, Effect, Ref, Schedule, Schema } from "effect"
import { pick } from "../../../packages/server/testing/Pick.ts"
import * as Api from "../../../packages/server/testing/processes/Api.ts"
import type { Cluster } from "../../../packages/server/testing/processes/Cluster.ts"
import { unknownOutcomeTimeout } from "../../../packages/server/testing/programs/shortTimeouts.ts"

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
const isTransient = ({ status, text }: Api.Response): boolean =>
  status >= 500 || status === 429 || text.includes("request_processing")

/** The settings of a server in a drill. Its rate limit is above the rate of the clients, and an unknown outcome ends soon. */
export const environment = {
  RATE_LIMIT_PER_MINUTE: "1000000",
  DATABASE_POOL: "8",
  ...unknownOutcomeTimeout(10),
  LOG_LEVEL: "none"
}

/** The responses that the clients received. */
export interface Outcome {
  readonly completed: ReadonlyArray<CompletedRequest>
  /** The keys of requests with two different responses. */
  readonly differences: ReadonlyArray<string>
}

/** Repeats a request, each time to a random server, until it succeeds. */
const requestUntilSuccess = (
  { acme, servers }: Cluster,
  { json, key, path }: PlannedRequest,
  onTransient: (response: Api.Response) => void
) =>
  Effect.gen(function*() {
    const server = yield* pick(servers)
    const options = { key: acme.key, json, idempotency_key: key }
    const sent_at = yield* Clock.currentTimeMillis
    const response = yield* Api.request(server, "POST", path, options).pipe(Effect.timeout("8 seconds"))
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
    json: Api.newConversation(cluster.acme.channel_id, phone, key)
  }
}

/** The clients of a cluster, with their responses so far. */
interface Writers {
  readonly cluster: Cluster
  readonly onTransient: (response: Api.Response) => void
  readonly completed: Ref.Ref<ReadonlyArray<CompletedRequest>>
  readonly differences: Ref.Ref<ReadonlyArray<string>>
}

/** Repeats a completed request, and compares its responses. */
const repeat = ({ cluster, differences, onTransient }: Writers, request: CompletedRequest) =>
  Effect.flatMap(
    requestUntilSuccess(cluster, request, onTransient),
    ({ text }) => text === request.text ? Effect.void : Ref.update(differences, (keys) => [...keys, request.key])
  )

/** Runs one client until a condition holds. */
const runClient = Effect.fnUntraced(function*(writers: Writers, client: number, isStopping: Effect.Effect<boolean>) {
  const { cluster, completed, onTransient } = writers
  for (let number = 0; !(yield* isStopping); number++) {
    const planned = planRequest(cluster, client, number)
    const { sent_at, text } = yield* requestUntilSuccess(cluster, planned, onTransient)
    const completed_at = yield* Clock.currentTimeMillis
    const { data } = yield* Effect.orDie(Schema.decodeUnknownEffect(Created)(text))
    const request = { ...planned, id: data.id, text, sent_at, completed_at }
    yield* Ref.update(completed, (requests) => [...requests, request])
    if (number % 4 < 2) yield* repeat(writers, request)
  }
})

/** Makes clients of a cluster. `onTransient` gets each response after which a client repeats its request. */
export const make = Effect.fnUntraced(function*(
  cluster: Cluster,
  clients: number,
  onTransient: Writers["onTransient"] = () => {}
) {
  const completed = yield* Ref.make<ReadonlyArray<CompletedRequest>>([])
  const differences = yield* Ref.make<ReadonlyArray<string>>([])
  const writers: Writers = { cluster, onTransient, completed, differences }
  return {
    /** Sends requests until a condition holds, and then waits for their responses. */
    writeUntil: (isStopping: Effect.Effect<boolean>) =>
      Effect.forEach(
        Array.from({ length: clients }).keys(),
        (client) => runClient(writers, client, isStopping),
        { concurrency: "unbounded", discard: true }
      ),
    /** Repeats each completed request, and compares the responses. */
    repeatAll: Effect.flatMap(
      Ref.get(completed),
      (requests) => Effect.forEach(requests, (request) => repeat(writers, request), { concurrency: 8, discard: true })
    ),
    outcome: Effect.map(
      Effect.all([Ref.get(completed), Ref.get(differences)]),
      ([completed, differences]): Outcome => ({ completed, differences })
    )
  }
})

export type Clients = Effect.Success<ReturnType<typeof make>>

/** Waits until there are a number of completed requests that match, and returns them. */
export const untilCompleted = (
  { outcome }: Pick<Clients, "outcome">,
  count: number,
  matches: (request: CompletedRequest) => boolean
) =>
  Effect.repeat(Effect.map(outcome, ({ completed }) => completed.filter(matches)), {
    schedule: Schedule.spaced("10 millis"),
    until: (requests) => requests.length >= count
  })
