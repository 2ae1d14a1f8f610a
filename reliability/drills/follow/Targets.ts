/** The services whose events are followed, one on each store, and how their writers commit. */
import * as Memory from "@messaging-crm/adapter-memory"
import * as MemoryWebhookTransport from "@messaging-crm/adapter-memory/WebhookTransport"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import type { StalledCommit } from "@messaging-crm/conformance/FollowedOrder"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import * as Changes from "@messaging-crm/core/Changes"
import type { Commit } from "@messaging-crm/core/Commit"
import * as Crm from "@messaging-crm/core/Crm"
import { EventId, Ids, OrganizationId } from "@messaging-crm/core/Ids"
import * as Mock from "@messaging-crm/provider-mock"
import { Context, DateTime, Effect, Layer, Redacted, References } from "effect"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import * as Listener from "../../../packages/server/src/http/Listener.ts"
import * as Layers from "../../../packages/server/src/Layers.ts"
import * as Api from "../../../packages/server/testing/processes/Api.ts"
import * as Cluster from "../../../packages/server/testing/processes/Cluster.ts"
import * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import * as Subscribers from "../../../packages/server/testing/processes/Subscribers.ts"
import { createOrganization } from "../../../packages/server/testing/TestOrganization.ts"

/** How long a commit stays open per step of its stall. */
const stall = Effect.sleep("10 millis")

type Services = Commit | Ids

export interface Target {
  readonly base_url: string
  readonly key: string
  readonly organization_id: OrganizationId
  /** Runs a commit that stalls and can be rolled back. */
  readonly run: (stalled: StalledCommit<Services>) => Effect.Effect<void>
  readonly services: Context.Context<Services>
  /** The number of events that are stored before the writers begin. */
  readonly stored: number
  /** The number of events that replays have posted so far. */
  readonly replayed: () => number
}

/** A service in this process. A commit in memory is one step: it stalls before it, and a rollback never begins it. */
export const memory = Effect.gen(function*() {
  const crm = Crm.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Memory.layer, Mock.layer, MemoryWebhookTransport.layer)),
    Layer.provideMerge(Layer.mergeAll(
      Ids.layer,
      Layer.succeed(References.MinimumLogLevel, "None"),
      Layer.succeed(RequestsPerMinute, 1_000_000)
    ))
  )
  const services = yield* Layer.build(crm)
  const server = yield* Layers.api(Effect.succeed(true), { ingress: Layer.empty }).pipe(
    Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
    Layer.provide(Layer.succeedContext(services)),
    Layer.build
  )
  const address = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), server)
  const { key, organization_id } = yield* Effect.orDie(Effect.provideContext(createOrganization, services))
  return {
    base_url: `${address}/v1`,
    key,
    organization_id,
    run: ({ commit, isRolledBack, stalls }) =>
      Effect.replicateEffect(stall, stalls, { discard: true }).pipe(
        Effect.andThen(isRolledBack ? Effect.void : Effect.provideContext(commit, services))
      ),
    services,
    stored: 0,
    replayed: () => 0
  } satisfies Target
})

/** The type of the events that are replayed, which the writers do not raise. */
const replayed_type = "conversation.opened"

/** Stores events for replays. */
const storeReplayed = Effect.fnUntraced(function*(organization_id: OrganizationId, count: number) {
  for (let stored = 0; stored < count; stored += 100) {
    const events = yield* Effect.replicateEffect(
      Effect.gen(function*() {
        const [id, conversation_id] = [EventId.make(yield* Fixtures.uuid), yield* Fixtures.uuid]
        const created_at = yield* DateTime.now
        const body = JSON.stringify({
          id,
          type: replayed_type,
          timestamp: DateTime.formatIso(created_at),
          data: { conversation_id, contact_id: yield* Fixtures.uuid }
        })
        return yield* Fixtures.newEvent({ id, type: replayed_type, body, created_at })
      }),
      100
    )
    yield* Fixtures.mustCommit(organization_id, ...events.map(Changes.raise))
  }
})

/** A service in a process of its own, which replays stored events all the time, and writers with connections of their own. */
export const postgres = Effect.fnUntraced(function*(replayed_events: number) {
  const cluster = yield* Cluster.make({
    servers: 1,
    environment: { RATE_LIMIT_PER_MINUTE: "1000000", WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" }
  })
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  yield* Servers.serve(cluster.environment, server)
  // A quarter of the connections, for the transactions of 32 writers.
  const database = Client.layer({ url: Redacted.make(cluster.database_url), connections: 136 })
  const services = yield* Layer.build(Layer.mergeAll(Postgres.layer, Ids.layer).pipe(Layer.provideMerge(database)))
  const sql = Context.get(services, SqlClient.SqlClient)
  const { key } = cluster.acme
  const organization_id = OrganizationId.make(cluster.acme.organization_id)
  yield* Effect.provideContext(storeReplayed(organization_id, replayed_events), services)
  const options = { event_types: [replayed_type], behavior: Subscribers.prompt }
  const { received, webhook_id } = yield* Subscribers.subscriber(server, key, options)
  const json = { since: new Date(Date.now() - 3_600_000).toISOString() }
  // A second request gets 409 while the first replay is in progress.
  const replay = Api.request(server, "POST", `/webhooks/${webhook_id}/replay`, {
    key,
    json,
    idempotency_key: crypto.randomUUID()
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.ignore(replay), Effect.sleep("1 second"))))
  return {
    base_url: `${server.url}/v1`,
    key,
    organization_id,
    run: ({ commit, isRolledBack, stalls }) =>
      sql.withTransaction(Effect.gen(function*() {
        yield* Effect.provideContext(commit, services)
        yield* Effect.replicateEffect(stall, stalls, { discard: true })
        if (isRolledBack) yield* Effect.fail("roll back")
      })).pipe(Effect.catchIf((error) => error === "roll back", () => Effect.void), Effect.orDie),
    services,
    stored: replayed_events,
    replayed: () => received.length
  } satisfies Target
})
