/** The measured parts of a worker: deliveries, sends, and inbound messages. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Backlog from "../harness/Backlog.ts"
import * as Endpoint from "../harness/Endpoint.ts"
import { Api, Callbacks, Processes } from "../harness/Fixtures.ts"
import * as ProcessOutput from "../harness/ProcessOutput.ts"
import * as Service from "../harness/Service.ts"
import { measureBacklog, untilQueueIsEmpty } from "./Costs.ts"

/** The number of items that a worker processes before it is measured. */
const warm_up = 600
/** The network accepts every send to this number and to those that follow. The last four digits 0001 to 0009 select another behavior. */
const first_number = 5_000_010

/** Starts a worker, and returns its process ID. */
const startWorker = Effect.fnUntraced(function*(environment: Processes.Environment) {
  const profile = process.env["PROFILE"]
  const flags = profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }
  const { child, exited } = yield* Processes.startMain(["worker", "--json"], { ...environment, ...flags })
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.sync(() => child.kill("SIGTERM")), Effect.timeoutOption(exited, "10 seconds"))
  )
  yield* ProcessOutput.firstLine(child)
  return child.pid ?? 0
})

/** Dies unless the status of a response is 2xx: the figures count only processed items. */
const requireSuccess = (status: number): Effect.Effect<void> =>
  status >= 200 && status < 300 ? Effect.void : Effect.die(new Error(`A response has the status ${status}.`))

/** Measures deliveries to a number of webhooks, all due from the start. */
export const deliveries = Effect.fnUntraced(function*(cluster: Service.Cluster, items: number, webhooks: number) {
  const endpoint = yield* Endpoint.start
  const ids = yield* Effect.forEach(
    Array.from({ length: webhooks }, (_, index) => index),
    (index) => Service.subscribe(cluster.server, cluster.acme.key, `${endpoint.url}/hook/${index}`)
  )
  const pid = yield* startWorker(cluster.environment)
  const enqueue = (count: number) => Backlog.enqueueDeliveries(cluster.acme.organization_id, ids, count)
  yield* Effect.andThen(enqueue(Math.ceil(warm_up / webhooks)), untilQueueIsEmpty)
  const per_webhook = Math.ceil(items / webhooks)
  const cost = yield* measureBacklog(pid, per_webhook * webhooks, enqueue(per_webhook))
  const { connections, posts } = yield* endpoint.received
  yield* SqlClient.SqlClient.use((sql) =>
    sql`UPDATE webhooks SET status = 'disabled', disabled_at = now() WHERE status = 'active'`
  )
  return { ...cost, posts, connections }
}, Effect.scoped)

/** Measures sends to different numbers, all due from the start. */
export const sends = Effect.fnUntraced(function*(cluster: Service.Cluster, count: number) {
  const { acme, server } = cluster
  const start = (number: number) =>
    Api.request(server, "POST", "/conversations", {
      key: acme.key,
      json: Api.newConversation(acme.channel_id, `+49151${first_number + number}`, `n${number}`),
      idempotency_key: `bench-start-${number}`
    }).pipe(Effect.flatMap(({ status }) => requireSuccess(status)))
  const startAll = (first: number, sends: number) =>
    Effect.forEach(Array.from({ length: sends }, (_, index) => first + index), start, {
      concurrency: 16,
      discard: true
    })
  const pid = yield* startWorker(cluster.environment)
  yield* Effect.andThen(startAll(count, warm_up), untilQueueIsEmpty)
  return yield* measureBacklog(pid, count, startAll(0, count))
}, Effect.scoped)

/** Measures inbound messages of 1,000 people, whose callbacks are all stored from the start. */
export const inbound = Effect.fnUntraced(function*({ acme, environment, server }: Service.Cluster, count: number) {
  const messageOf = (number: number) =>
    Service.messageFrom(`+49152${5_000_000 + number % 1000}`, acme.channel_id, `bench-${number}`)
  const postAll = (first: number, messages: number) =>
    Effect.forEach(
      Array.from({ length: messages }, (_, index) => messageOf(first + index)),
      (message) => Effect.flatMap(Callbacks.post(server, [message]), requireSuccess),
      { concurrency: 16, discard: true }
    )
  const pid = yield* startWorker(environment)
  yield* Effect.andThen(postAll(count, warm_up), untilQueueIsEmpty)
  return yield* measureBacklog(pid, count, postAll(0, count))
}, Effect.scoped)
