/** The service under measurement: a separate PostgreSQL in a temporary directory, and its processes. */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { ChannelId } from "@messaging-crm/core/Ids"
import type { ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { start } from "@messaging-crm/server/EmbeddedPostgres"
import { ConfigProvider, DateTime, type Duration, Effect, Redacted, Schema, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { ChildProcess } from "node:child_process"
import { cpus, loadavg } from "node:os"
import { bundled, folder, Processes } from "./Fixtures.ts"

/** Connects to a database. The default number of connections is that of the service. */
export const database = (url: string, connections = 10) => Client.layer({ url: Redacted.make(url), connections })

/** Starts PostgreSQL in a new directory, both removed with the scope. */
const postgres = Effect.fnUntraced(function*(settings: Readonly<Record<string, string>>) {
  const directory = yield* folder
  if (Object.keys(settings).length === 0) return yield* start({ directory })
  const configure = Effect.fnUntraced(function*() {
    const url = yield* start({ directory })
    yield* SqlClient.SqlClient.use((sql) =>
      Effect.forEach(
        Object.entries(settings),
        ([name, value]) => sql.unsafe(`ALTER SYSTEM SET ${name} = '${value}'`)
      )
    ).pipe(Effect.provide(database(url)))
  })
  // The settings take effect at the next start.
  yield* Effect.scoped(configure())
  return yield* start({ directory })
})

const unlimited = { LOG_FORMAT: "json", RATE_LIMIT_PER_MINUTE: "1000000", REQUESTS_AT_ONCE: "1000" }

/**
 * Makes a cluster whose webhooks reach this machine, by default without limits on requests. Its servers are not started
 * yet; `server` is the first one.
 */
export const cluster = Effect.fnUntraced(function*(
  servers: number,
  provider: "cloud" | "mock" = "mock",
  settings: Processes.Environment = unlimited
) {
  const environment = { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8", ...settings }
  const cluster = yield* Processes.cluster({ servers, provider, environment })
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  return { ...cluster, server }
})

export type Cluster = Effect.Success<ReturnType<typeof cluster>>

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

/** Subscribes a URL to events, and returns the ID of the webhook. */
export const subscribe = (
  server: Processes.Server,
  key: string,
  url: string,
  event_types: ReadonlyArray<string> = ["message.received"]
) =>
  Processes.request(server, "POST", "/webhooks", { key, json: { url, event_types } }).pipe(
    Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Created)(text)),
    Effect.map(({ data }) => data.id)
  )

/** Makes the event of a text that a person sent. */
export const messageReceived = (
  channel_id: string,
  provider_message_id: string,
  external_id: string
): ProviderMessageReceived => ({
  event: "message_received",
  channel_id: ChannelId.make(channel_id),
  provider_message_id,
  from: { external_id, display_name: "Kim", username: null },
  type: "text",
  text: "How are you?",
  media: null,
  sent_at: DateTime.makeUnsafe("2026-01-01T12:00:00Z")
})

/** Waits for the first line that a process prints, and returns it. */
export const firstLine = (child: ChildProcess) =>
  Effect.callback<string>((resume) => {
    child.stdout?.once("data", (data: Buffer) => resume(Effect.succeed(data.toString().trim())))
    child.once("exit", (code) => resume(Effect.die(new Error(`The process ended with ${code}.`))))
  })

/** Returns a function for the last whole line that a process has printed since this call. */
export const lastLine = (child: ChildProcess): () => string => {
  let printed = ""
  child.stdout?.on("data", (data: Buffer) => {
    printed += data.toString()
  })
  return () => printed.split("\n").at(-2) ?? ""
}

/**
 * Runs a benchmark of the image's program on a new PostgreSQL. Prints its results and the machine as one JSON document, and
 * exits.
 */
export const run = async <A extends object, E>(
  benchmark: (database_url: string) => Effect.Effect<A, E, Scope.Scope>,
  options: {
    /** An extension's library, preloaded. */
    readonly library?: string
    /** Further settings of PostgreSQL. */
    readonly settings?: Readonly<Record<string, string>>
    readonly timeout?: Duration.Input
    /** False when the benchmark prints its results itself. */
    readonly print?: boolean
  } = {}
): Promise<never> => {
  const program = Effect.gen(function*() {
    const [load_before] = loadavg()
    const preloaded = options.library === undefined ? {} : { shared_preload_libraries: options.library }
    const database_url = yield* postgres({ ...preloaded, ...options.settings })
    const environment = ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: database_url }))
    const results = yield* Effect.provide(benchmark(database_url), environment).pipe(
      Effect.provideService(Processes.Program, bundled())
    )
    const machine = { processors: cpus().length, model: cpus()[0]?.model, node: process.version, load_before }
    return { machine, ...results }
  }).pipe(Effect.scoped, Effect.timeout(options.timeout ?? "1 hour"))
  const results = await Effect.runPromise(program)
  if (options.print ?? true) console.log(JSON.stringify(results, null, 2))
  // A benchmark with limits has set another code if one is exceeded.
  process.exit()
}
