/** Signed callbacks to several processes at once: each event is stored once. */
import { assert, layer } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { ChannelId } from "@messaging-crm/core/Ids"
import type { ProviderEvent, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Context, DateTime, Effect, Layer, Random, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "../testing/Processes.ts"

/** Three servers on one database, and what calls them back. */
class Service extends Context.Service<Service>()("@messaging-crm/server/test/Inbound/Service", {
  make: Effect.gen(function*() {
    const cluster = yield* Processes.cluster({ servers: 3, environment: { RATE_LIMIT_PER_MINUTE: "100000" } })
    const { acme, database_url, environment, servers } = cluster
    yield* Effect.forEach(servers, (server) => Processes.serve(environment, server), { concurrency: "unbounded" })
    const sql = yield* Effect.map(
      Layer.build(Client.layer({ url: Redacted.make(database_url) })),
      (context) => Context.get(context, SqlClient.SqlClient)
    )
    const callBack = yield* Processes.callbackSender(environment)
    return { acme, callBack, servers, sql }
  })
}) {}

const written = (
  channel_id: string,
  external_id: string,
  number: number,
  at: DateTime.Utc
): ProviderMessageReceived => ({
  event: "message_received",
  channel_id: ChannelId.make(channel_id),
  provider_message_id: `${external_id}.${number}`,
  from: { external_id, display_name: "Kim", username: null },
  type: "text",
  text: `message ${number}`,
  media: null,
  sent_at: at
})

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

const Messages = Schema.fromJsonString(Schema.Struct({
  data: Schema.Array(Schema.Struct({
    provider_message_id: Schema.String,
    text: Schema.NullOr(Schema.String),
    edited_at: Schema.NullOr(Schema.String),
    deleted_at: Schema.NullOr(Schema.String)
  }))
}))

layer(Layer.effect(Service, Service.make), { excludeTestServices: true, timeout: "120 seconds" })("Inbound", (it) => {
  it.effect(
    "200 first messages of one number at once make one contact, one identity, one conversation, 200 messages",
    () =>
      Effect.gen(function*() {
        const { acme, callBack, servers, sql } = yield* Service
        const now = yield* DateTime.now
        const events = numbers(200).map((number) => written(acme.channel_id, "+4915177000001", number, now))
        const calls = events.flatMap((event, index) => {
          const server = servers[index % servers.length]
          return server === undefined ? [] : [callBack(server, [event])]
        })
        const statuses = yield* Effect.all(calls, { concurrency: "unbounded" })
        assert.deepStrictEqual(new Set(statuses), new Set([200]))
        const counts = yield* sql`
        SELECT
          count(*)::integer AS messages,
          count(DISTINCT m.provider_message_id)::integer AS provider_messages,
          count(DISTINCT c.id)::integer AS conversations,
          (SELECT count(*)::integer FROM identities WHERE external_id = '+4915177000001') AS identities,
          (SELECT count(*)::integer FROM contacts WHERE primary_phone = '+4915177000001') AS contacts
        FROM messages m
        JOIN conversations c ON c.organization_id = m.organization_id AND c.id = m.conversation_id
        JOIN identities i ON i.organization_id = c.organization_id AND i.id = c.identity_id
        WHERE i.external_id = '+4915177000001'
      `
        assert.deepStrictEqual(counts, [
          { messages: 200, provider_messages: 200, conversations: 1, identities: 1, contacts: 1 }
        ])
      }),
    60_000
  )

  it.effect(
    "a batch that is delivered five times, shuffled, to whomever, gives each message once",
    () =>
      Effect.gen(function*() {
        const { acme, callBack, servers } = yield* Service
        const now = yield* DateTime.now
        const channel_id = ChannelId.make(acme.channel_id)
        const received = numbers(20).map((number) => written(acme.channel_id, "+4915177000002", number, now))
        const changed = received.flatMap(({ provider_message_id }, number): ReadonlyArray<ProviderEvent> => {
          const at = DateTime.add(now, { seconds: 1 })
          if (number % 4 === 1) {
            return [{ event: "message_edited", channel_id, provider_message_id, text: `edited ${number}`, at }]
          }
          return number % 4 === 2 ? [{ event: "message_deleted", channel_id, provider_message_id, at }] : []
        })
        const batches = yield* Effect.forEach(numbers(5), () => Random.shuffle([...received, ...changed]))
        const statuses = yield* Effect.forEach(batches, (batch, index) => {
          const server = servers[index % servers.length]
          return server === undefined ? Effect.die("no server") : callBack(server, [...batch])
        }, { concurrency: "unbounded" })
        assert.deepStrictEqual(statuses, [200, 200, 200, 200, 200])

        const [server] = servers
        if (server === undefined) return assert.fail("no server")
        const get = (path: string) => Processes.request(server, "GET", path, { key: acme.key })
        const { text: contacts } = yield* get(`/contacts?query=${encodeURIComponent("+4915177000002")}`)
        const [contact] = JSON.parse(contacts).data
        const { text } = yield* get(`/conversations/${contact.last_conversation_id}/messages`)
        const messages = Schema.decodeUnknownSync(Messages)(text).data
        const expected = received.map(({ provider_message_id, text }, number) => ({
          provider_message_id,
          text: number % 4 === 1 ? `edited ${number}` : number % 4 === 2 ? null : text,
          is_edited: number % 4 === 1,
          is_deleted: number % 4 === 2
        }))
        const found = messages.map(({ deleted_at, edited_at, ...message }) => ({
          ...message,
          is_edited: edited_at !== null,
          is_deleted: deleted_at !== null
        }))
        const byId = (a: { readonly provider_message_id: string }, b: { readonly provider_message_id: string }) =>
          a.provider_message_id < b.provider_message_id ? -1 : 1
        assert.deepStrictEqual(found.toSorted(byId), expected.toSorted(byId))
      }),
    60_000
  )
})
