/**
 * The service as several real processes on one database, with the mock provider
 * as another process. Everything listens on 127.0.0.1 and ends with the scope.
 */
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { RootKeys, Secrets } from "@messaging-crm/core/Secrets"
import * as Protocol from "@messaging-crm/provider-mock/http/Protocol"
import { Effect, Layer, Option, Schema } from "effect"
import { freePort } from "../src/dev/FreePort.ts"
import { settings } from "../src/settings/Config.ts"
import { type Environment, start, startMain, untilUp } from "./ChildProcesses.ts"
import * as Databases from "./Databases.ts"
import { organization } from "./Organizations.ts"
import { program } from "./Programs.ts"

export * from "./ChildProcesses.ts"
export { organization } from "./Organizations.ts"

/** A new database on the test server, dropped when the scope closes. */
export const database = Databases.empty

/** The address of a server. The port stays the same when the server is restarted. */
export interface Server {
  readonly port: number
  readonly url: string
}

/** The mock network as a process. */
const startMock = Effect.fnUntraced(function*(port: number, servers: ReadonlyArray<Server>, environment: Environment) {
  const callbacks = servers.flatMap(({ url }) => ["--callback-url", `${url}/ingress/mock`])
  yield* startMain(["mock-provider", "--port", String(port), ...callbacks], environment)
  yield* untilUp(`http://127.0.0.1:${port}/accepted`)
})

/** The settings that the servers and the fake Graph API share. */
const app = { id: "1500000001", secret: "the app's secret", verify_token: "a word" }
const token = "the-token-of-the-channel"

/** Returns the settings for the fake Graph API, with an account for a channel. */
const cloudSettings = (network_url: string, channel_id: string): Environment => ({
  PROVIDER: "cloud",
  GRAPH_URL: network_url,
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
})

/** The fake Graph API as a process. */
const startGraph = Effect.fnUntraced(function*(port: number, servers: ReadonlyArray<Server>) {
  const CALLBACK_URL = servers.map(({ url }) => `${url}/ingress/graph`).join(",")
  yield* start(program("graph"), [], { PORT: String(port), CALLBACK_URL, APP_SECRET: app.secret, ACCESS_TOKEN: token })
  yield* untilUp(`http://127.0.0.1:${port}/fake/accepted`)
})

/** Returns the address of a server on a free port. */
const reserveServer = Effect.map(freePort, (port): Server => ({ port, url: `http://127.0.0.1:${port}` }))

/** A migrated database, the network, an organization, and the addresses of servers that are not started yet. */
export const cluster = Effect.fnUntraced(
  function*(options: {
    readonly servers: number
    readonly environment: Environment
    /** The provider, and with it the network. Default: mock. */
    readonly provider?: "cloud" | "mock"
  }) {
    const isCloud = options.provider === "cloud"
    const database_url = yield* Databases.migrated
    const network_port = yield* freePort
    const network_url = `http://127.0.0.1:${network_port}`
    const shared: Environment = {
      DATABASE_URL: database_url,
      SECRET_KEY: Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
      HOST: "127.0.0.1",
      ...options.environment
    }
    const servers = yield* Effect.forEach(Array.from({ length: options.servers }), () => reserveServer)
    const acme = yield* organization(shared)
    const provider: Environment = isCloud
      ? cloudSettings(network_url, acme.channel_id)
      : { PROVIDER: "mock", PROVIDER_URL: network_url }
    const environment = { ...provider, ...shared }
    yield* isCloud ? startGraph(network_port, servers) : startMock(network_port, servers, environment)
    const template_id = isCloud ? "920070352646140" : "acme.order_ready"
    const accepted_url = `${network_url}${isCloud ? "/fake/accepted" : "/accepted"}`
    return { acme, database_url, environment, network_url, servers, accepted_url, template_id }
  }
)

const startServer = Effect.fnUntraced(function*(
  args: ReadonlyArray<string>,
  environment: Environment,
  { port, url }: Server,
  file: string | null
) {
  const serve = ["serve", ...args, "--port", String(port)]
  const process = yield* file === null ? startMain(serve, environment) : start(file, serve, environment)
  yield* untilUp(`${url}/health/ready`)
  return process
})

/** Starts a server with workers, from another file if one is given, and waits until it is ready. */
export const serve = (environment: Environment, server: Server, file: string | null = null) =>
  startServer([], environment, server, file)

/** Starts a server without workers, as `serve` does. */
export const serveApi = (environment: Environment, server: Server, file: string | null = null) =>
  startServer(["--no-worker"], environment, server, file)

const AcceptedMessages = Schema.fromJsonString(Schema.Struct({
  accepted: Schema.Array(
    Schema.Struct({ reference: Schema.String, recipient: Schema.String, text: Schema.NullOr(Schema.String) })
  )
}))

/** Returns the messages that the network has accepted, in order. */
export const accepted = (accepted_url: string) =>
  Effect.promise(async () => (await fetch(accepted_url)).text()).pipe(
    Effect.flatMap((text) => Effect.orDie(Schema.decodeUnknownEffect(AcceptedMessages)(text))),
    Effect.map((response) => response.accepted)
  )

const encodeCallback = Schema.encodeEffect(Schema.fromJsonString(Protocol.Callback))

/** Makes a function that posts signed callbacks to a server, as the mock provider does, and returns the status. */
export const callbackSender = Effect.fnUntraced(function*(environment: Environment) {
  const keys = Option.getOrThrow(settings.secret_key.parse(environment["SECRET_KEY"] ?? ""))
  const secrets = yield* Effect.provide(Secrets, Secrets.layer.pipe(Layer.provide(Layer.succeed(RootKeys, keys))))
  return Effect.fnUntraced(function*({ url }: Server, events: ReadonlyArray<ProviderEvent>) {
    const body = yield* Effect.orDie(encodeCallback({ events }))
    const signature = yield* Effect.provideService(Protocol.sign(body), Secrets, secrets)
    const headers = { "content-type": "application/json", [Protocol.signature_header]: signature }
    return yield* Effect.promise(async () => {
      const response = await fetch(`${url}/ingress/mock`, { method: "POST", headers, body })
      await response.arrayBuffer()
      return response.status
    })
  })
})

export interface Response {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Sends one request. Fails when the connection does. */
export const request = (
  server: Server,
  method: "GET" | "PATCH" | "POST",
  path: string,
  options: { readonly key: string; readonly json?: unknown; readonly idempotency_key?: string }
) =>
  Effect.tryPromise(async (signal): Promise<Response> => {
    const headers = new Headers({ authorization: `Bearer ${options.key}` })
    if (options.idempotency_key !== undefined) headers.set("idempotency-key", options.idempotency_key)
    if (options.json !== undefined) headers.set("content-type", "application/json")
    const body = options.json === undefined ? null : JSON.stringify(options.json)
    const init = body === null ? { method, headers, signal } : { method, headers, signal, body }
    const response = await fetch(`${server.url}/v1${path}`, init)
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

/** The body that starts a conversation with a number. */
export const greeting = (channel_id: string, phone: string, name: string, template_id = "acme.order_ready") => ({
  channel_id,
  phone,
  template: {
    id: template_id,
    components: [
      { type: "header", parameters: [{ type: "text", text: "1" }] },
      { type: "body", parameters: [{ type: "text", text: name }, { type: "text", text: "1" }] },
      { type: "button", sub_type: "url", index: 0, parameters: [{ type: "text", text: "1" }] }
    ]
  }
})
