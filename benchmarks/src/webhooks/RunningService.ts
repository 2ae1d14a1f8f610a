/** The service of the webhook benchmark: one process that serves the API and delivers events. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Callbacks, Servers, Subscribers } from "../harness/Fixtures.ts"
import * as Service from "../harness/Service.ts"
import { untilPasses } from "../harness/Waiting.ts"

/** A cluster with a running server: its process, and a function that sends a provider's callback to it. */
export interface RunningService extends Service.Cluster {
  readonly pid: number
  readonly callBack: (message: Callbacks.Message) => Effect.Effect<void>
}

export const startService = Effect.gen(function*() {
  const cluster = yield* Service.cluster(1)
  const { child } = yield* Servers.serve(cluster.environment, cluster.server)
  const callBack = (message: Callbacks.Message) =>
    Effect.flatMap(
      Callbacks.post(cluster.server, [message]),
      (status) =>
        status === 200 ? Effect.void : Effect.die(new Error(`The response to a callback has the status ${status}.`))
    )
  return { ...cluster, pid: child.pid ?? 0, callBack } satisfies RunningService
})

export const subscribe = ({ acme, server }: RunningService, behavior: Subscribers.Behavior) =>
  Subscribers.subscriber(server, acme.key, { event_types: ["message.received"], behavior })

/** Waits until a subscriber has received a number of different events since it had `before` posts, for at most two minutes. */
export const untilReceived = ({ received }: Subscribers.Subscriber, count: number, before = 0) =>
  untilPasses(Effect.sync(() => new Set(received.slice(before).map(({ event_id }) => event_id)).size), {
    interval: "20 millis",
    times: 6000,
    until: (events) => events >= count
  })

/** Disables every webhook and empties the queue, except for work that is in progress. */
export const disableWebhooks = SqlClient.SqlClient.use((sql) =>
  sql.withTransaction(Effect.gen(function*() {
    yield* sql`UPDATE webhooks SET status = 'disabled', disabled_at = now() WHERE status = 'active'`
    yield* sql`SELECT name FROM work_lanes ORDER BY name FOR UPDATE`
    yield* sql`DELETE FROM work WHERE leased_until IS NULL`
  }))
)
