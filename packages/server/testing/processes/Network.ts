/** The messaging network of a cluster: the fake Graph API as a process. */
import { Effect, Schema } from "effect"
import { type Environment, start as startProcess } from "./Processes.ts"
import { program } from "./Programs.ts"
import type { Server } from "./Servers.ts"

/** The settings that the servers and the fake Graph API share. */
export const app = { id: "1500000001", secret: "the app's secret", verify_token: "a word" }
export const token = "the-token-of-the-channel"

/** The business account of every channel. */
const business_account_id = "acme"

/** A template of every channel. */
export const template_id = "920070352646140"

/** The path of the messages that the network has accepted. */
export const accepted_path = "/fake/accepted"

/** Starts the network on a port. It sends its callbacks to the servers. */
export const start = (port: number, servers: ReadonlyArray<Server>) =>
  startProcess(program("graph"), [], {
    PORT: String(port),
    CALLBACK_URL: servers.map(({ url }) => `${url}/ingress/graph`).join(","),
    APP_SECRET: app.secret,
    ACCESS_TOKEN: token
  })

/** Returns the settings of the servers, with an account for each channel: its ID on the network is the channel's own. */
export const settings = (url: string, channel_ids: ReadonlyArray<string>): Environment => ({
  PROVIDER: "cloud",
  GRAPH_URL: url,
  MEDIA_ALLOWED_NETWORKS: "127.0.0.0/8",
  CLOUD_ACCOUNTS: JSON.stringify({
    apps: [app],
    channels: channel_ids.map((channel_id) => ({
      type: "phone_messaging",
      channel_id,
      app_id: app.id,
      token,
      phone_number_id: channel_id,
      business_account_id
    }))
  })
})

const Accepted = Schema.fromJsonString(Schema.Struct({
  accepted: Schema.Array(Schema.Struct({
    /** The network's ID of the message. */
    id: Schema.String,
    reference: Schema.String,
    /** In digits, without `+`. */
    recipient: Schema.String,
    /** Null for a template. */
    text: Schema.NullOr(Schema.String),
    /** The request. */
    body: Schema.Unknown
  }))
}))

/** Returns the messages that the network has accepted, in order. */
export const accepted = (accepted_url: string) =>
  Effect.promise(async () => (await fetch(accepted_url)).text()).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Accepted)),
    Effect.orDie,
    Effect.map(({ accepted }) => accepted)
  )

/** Stores a file on the network, and returns its ID. */
export const upload = (network_url: string, bytes: Uint8Array<ArrayBuffer>, mime_type: string) =>
  Effect.promise(async () => {
    const form = new FormData()
    form.set("messaging_product", "whatsapp")
    form.set("file", new Blob([bytes], { type: mime_type }), "file")
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${network_url}/v1/any/media`, { method: "POST", headers, body: form })
    return response.text()
  }).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))),
    Effect.orDie,
    Effect.map(({ id }) => id)
  )
