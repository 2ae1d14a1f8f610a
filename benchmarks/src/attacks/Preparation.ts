/** Prepares a server for an attack, and the attacker's organization on it. */
import { DateTime, Effect, Schedule, Schema } from "effect"
import { get } from "node:http"
import type { Servers } from "../harness/Fixtures.ts"
import { Api, Callbacks, Network, Processes } from "../harness/Fixtures.ts"
import * as Service from "../harness/Service.ts"
import { untilPasses } from "../harness/Waiting.ts"
import { static_paths } from "./StaticPaths.ts"

const endpoints = 16

const Messages = Schema.fromJsonString(Schema.Struct({
  data: Schema.Array(Schema.Struct({ media: Schema.NullOr(Schema.Struct({ url: Schema.String })) }))
}))
const Conversations = Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }))

/** Makes a message that a person sends to the attacker's organization now. */
const messageNow = (channel_id: string) =>
  Effect.map(DateTime.now, (sent_at) => ({
    ...Service.messageFrom("+4915112345678", channel_id, globalThis.crypto.randomUUID()),
    sent_at
  }))

const largest_file = new Uint8Array(16_000_000)

/** Stores a file of the maximum size, and returns the path of a link to it. */
export const linkOf = Effect.fnUntraced(function*({ acme, network_url, server }: Service.Cluster) {
  const { channel_id, key } = acme
  const id = yield* Network.upload(network_url, largest_file, "video/mp4")
  yield* Callbacks.post(server, [{ ...yield* messageNow(channel_id), content: { type: "video", video: { id } } }])
  const list = Effect.flatMap(
    Api.request(server, "GET", "/conversations", { key }),
    ({ text }) => Schema.decodeUnknownEffect(Conversations)(text)
  )
  const { data: [conversation] } = yield* untilPasses(list, {
    interval: "100 millis",
    times: 300,
    until: ({ data }) => data.length > 0
  })
  const messages = yield* Api.request(server, "GET", `/conversations/${conversation?.id}/messages`, { key })
  const { data: [newest] } = yield* Schema.decodeUnknownEffect(Messages)(messages.text)
  return new URL(newest?.media?.url ?? "/", server.url).pathname
})

/** Adds a contact field to the attacker's organization. */
export const addField = ({ acme: { organization_id }, environment }: Service.Cluster) => {
  const field = ["--key", "number", "--name", "Number", "--type", "text"]
  return Processes.command(["contact-fields", "create", "--organization", organization_id, ...field], environment)
}

/** Subscribes hostile endpoints, and raises events for them until it is interrupted. */
export const raiseEvents = Effect.fnUntraced(function*({ acme, server }: Service.Cluster, url: string) {
  const { channel_id, key } = acme
  for (let number = 0; number < endpoints; number++) {
    yield* Service.subscribe(server, key, `${url}/${number}`)
  }
  yield* Effect.repeat(
    Effect.flatMap(messageNow(channel_id), (event) => Callbacks.post(server, [event])),
    Schedule.spaced("500 millis")
  )
})

/** Requests the pages that a server prepares at their first request, so that its memory at rest includes them. */
export const warmUp = ({ url }: Servers.Server) =>
  Effect.forEach(
    static_paths,
    (path) =>
      Effect.callback<void>((resume) =>
        void get(`${url}${path}`, (response) => response.resume().once("end", () => resume(Effect.void)))
      )
  )
