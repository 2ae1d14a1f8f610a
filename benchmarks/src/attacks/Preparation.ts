/** Prepares a server for an attack, and the attacker's organization on it. */
import { DateTime, Effect, Schedule, Schema } from "effect"
import { get } from "node:http"
import type { Servers } from "../harness/Fixtures.ts"
import { Api, Callbacks, Processes } from "../harness/Fixtures.ts"
import * as Service from "../harness/Service.ts"
import { static_paths } from "./StaticPaths.ts"

const endpoints = 16

const Messages = Schema.fromJsonString(Schema.Struct({
  data: Schema.Array(Schema.Struct({ media: Schema.NullOr(Schema.Struct({ url: Schema.String })) }))
}))
const Conversations = Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }))

/** Makes the event of a message that a person sends to the attacker's organization now. */
const messageNow = (channel_id: string) =>
  Effect.map(DateTime.now, (sent_at) => ({
    ...Service.messageReceived(channel_id, globalThis.crypto.randomUUID(), "+4915112345678"),
    sent_at
  }))

const largest_file = {
  kind: "video",
  mime_type: "video/mp4",
  filename: null,
  transcript: null,
  bytes: new Uint8Array(16_000_000)
} as const

/** Stores a file of the maximum size, and returns the path of a link to it. */
export const linkOf = Effect.fnUntraced(function*({ acme, environment, server }: Service.Cluster) {
  const { channel_id, key } = acme
  const callBack = yield* Callbacks.makeSender(environment)
  yield* callBack(server, [{ ...yield* messageNow(channel_id), type: "video", media: largest_file }])
  const conversations = yield* Api.request(server, "GET", "/conversations", { key })
  const { data: [conversation] } = yield* Schema.decodeUnknownEffect(Conversations)(conversations.text)
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
export const raiseEvents = Effect.fnUntraced(function*({ acme, environment, server }: Service.Cluster, url: string) {
  const { channel_id, key } = acme
  const callBack = yield* Callbacks.makeSender(environment)
  for (let number = 0; number < endpoints; number++) {
    yield* Service.subscribe(server, key, `${url}/${number}`)
  }
  yield* Effect.repeat(
    Effect.flatMap(messageNow(channel_id), (event) => callBack(server, [event])),
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
