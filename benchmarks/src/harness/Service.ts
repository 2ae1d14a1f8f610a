/** The service under measurement: its processes, and requests that prepare it. */
import { DateTime, Effect, Schema } from "effect"
import type { Processes, Servers } from "./Fixtures.ts"
import { Api, Callbacks, Cluster } from "./Fixtures.ts"

const unlimited = { LOG_FORMAT: "json", RATE_LIMIT_PER_MINUTE: "1000000", REQUESTS_AT_ONCE: "1000" }

/**
 * Makes a cluster whose webhooks reach this machine, by default without limits on requests. Its servers are not started
 * yet; `server` is the first one.
 */
export const cluster = Effect.fnUntraced(function*(
  servers: number,
  settings: Processes.Environment = unlimited
) {
  const environment = { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8", ...settings }
  const cluster = yield* Cluster.make({ servers, environment })
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  return { ...cluster, server }
})

export type Cluster = Effect.Success<ReturnType<typeof cluster>>

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

/** Subscribes a URL to events, and returns the ID of the webhook. */
export const subscribe = (
  server: Servers.Server,
  key: string,
  url: string,
  event_types: ReadonlyArray<string> = ["message.received"]
) =>
  Api.request(server, "POST", "/webhooks", { key, json: { url, event_types } }).pipe(
    Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Created)(text)),
    Effect.map(({ data }) => data.id)
  )

/** Makes a text that a person sends. */
export const messageFrom = (from: string, channel_id: string, provider_message_id: string): Callbacks.Message => ({
  channel_id,
  provider_message_id,
  from,
  content: Callbacks.text("How are you?"),
  sent_at: DateTime.makeUnsafe("2026-01-01T12:00:00Z")
})
