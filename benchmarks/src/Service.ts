/** The service under measurement: a PostgreSQL of its own in a temporary directory, and the processes on it. */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { start } from "@messaging-crm/server/EmbeddedPostgres"
import { ConfigProvider, type Duration, Effect, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { cpus, loadavg } from "node:os"
import { bundled } from "../../packages/server/testing/Bundle.ts"
import { folder } from "../../packages/server/testing/Folder.ts"
import * as Processes from "../../packages/server/testing/Processes.ts"

export type Cluster = Effect.Success<ReturnType<typeof Processes.cluster>>

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
    ).pipe(Effect.provide(Client.layer({ url: Redacted.make(url) })))
  })
  // The settings take effect at the next start.
  yield* Effect.scoped(configure())
  return yield* start({ directory })
})

/** A cluster without limits on requests, whose webhooks reach this machine. Its servers are not started yet. */
export const cluster = (servers: number, provider: "cloud" | "mock" = "mock") =>
  Processes.cluster({
    servers,
    provider,
    environment: {
      WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
      LOG_FORMAT: "json",
      RATE_LIMIT_PER_MINUTE: "1000000",
      REQUESTS_AT_ONCE: "1000"
    }
  })

/** Runs a benchmark of the image's program on a new PostgreSQL, prints its results and the machine's as one JSON document, and exits. */
export const measure = async <A extends object, E>(
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
  // A benchmark with limits has set another code where one is exceeded.
  process.exit()
}
