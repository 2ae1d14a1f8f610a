/** The messaging network of a cluster as a process: the mock network, or the fake Graph API. */
import { Effect, Schema } from "effect"
import { type Environment, start, startMain } from "./Processes.ts"
import { program } from "./Programs.ts"
import type { Server } from "./Servers.ts"

/** A messaging network with the provider that calls it. */
interface Network {
  /** Starts the network as a process, which sends its callbacks to the servers. */
  readonly start: (
    port: number,
    servers: ReadonlyArray<Server>,
    environment: Environment
  ) => ReturnType<typeof startMain>
  /** The path of the messages that it has accepted. */
  readonly accepted_path: string
  /** Returns the settings of the servers, with an account for a channel. */
  readonly settings: (url: string, channel_id: string) => Environment
  /** A template of the channel. */
  readonly template_id: string
}

const mock: Network = {
  start: (port, servers, environment) => {
    const callbacks = servers.flatMap(({ url }) => ["--callback-url", `${url}/ingress/mock`])
    return startMain(["mock-provider", "--port", String(port), ...callbacks], environment)
  },
  accepted_path: "/accepted",
  settings: (url) => ({ PROVIDER: "mock", PROVIDER_URL: url }),
  template_id: "acme.order_ready"
}

/** The settings that the servers and the fake Graph API share. */
const app = { id: "1500000001", secret: "the app's secret", verify_token: "a word" }
const token = "the-token-of-the-channel"

/** The fake Graph API. */
const cloud: Network = {
  start: (port, servers) =>
    start(program("graph"), [], {
      PORT: String(port),
      CALLBACK_URL: servers.map(({ url }) => `${url}/ingress/graph`).join(","),
      APP_SECRET: app.secret,
      ACCESS_TOKEN: token
    }),
  accepted_path: "/fake/accepted",
  settings: (url, channel_id) => ({
    PROVIDER: "cloud",
    GRAPH_URL: url,
    MEDIA_ALLOWED_NETWORKS: "127.0.0.0/8",
    CLOUD_ACCOUNTS: JSON.stringify({
      apps: [app],
      channels: [{
        type: "phone_messaging",
        channel_id,
        app_id: app.id,
        token,
        phone_number_id: "106540352242922",
        business_account_id: "acme"
      }]
    })
  }),
  template_id: "920070352646140"
}

/** The networks by the provider that calls them. */
export const networks = { mock, cloud }

const AcceptedMessage = Schema.Struct({
  reference: Schema.String,
  recipient: Schema.String,
  text: Schema.NullOr(Schema.String)
})

const readAccepted = <A>(message: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ accepted: Schema.Array(message) })))
  return (accepted_url: string) =>
    Effect.promise(async () => (await fetch(accepted_url)).text()).pipe(
      Effect.flatMap(decode),
      Effect.orDie,
      Effect.map(({ accepted }) => accepted)
    )
}

/** Returns the messages that the network has accepted, in order. */
export const accepted = readAccepted(AcceptedMessage)

/** Returns the messages that the mock network has accepted, in order, with the IDs that it gave them. */
export const acceptedByMock = readAccepted(
  Schema.Struct({ ...AcceptedMessage.fields, provider_message_id: Schema.String })
)
