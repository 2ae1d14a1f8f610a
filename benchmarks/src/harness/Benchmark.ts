/** Runs a benchmark: with its own PostgreSQL in a temporary directory, until its results are printed. */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { start } from "@messaging-crm/server/EmbeddedPostgres"
import { ConfigProvider, type Duration, Effect, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { cpus, loadavg } from "node:os"
import { bundled, folder, Processes } from "./Fixtures.ts"

/** Prints the progress of a benchmark, with the load of the machine. */
export const note = (text: string) =>
  Effect.sync(() => process.stderr.write(`${text}, load ${loadavg()[0]?.toFixed(1)}\n`))

/** Connects to a database. The default number of connections is that of the service. */
export const database = (url: string, connections = 10) => Client.layer({ url: Redacted.make(url), connections })

/** Starts PostgreSQL in a new directory, both removed with the scope. */
export const postgres = Effect.fnUntraced(function*(settings: Readonly<Record<string, string>>) {
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
    /** Returns whether the results are within the limits of the benchmark, which otherwise exits with 1. */
    readonly isWithin?: (results: A) => boolean
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
    return { machine, results }
  }).pipe(Effect.scoped, Effect.timeout(options.timeout ?? "1 hour"))
  const { machine, results } = await Effect.runPromise(program)
  if (options.print ?? true) console.log(JSON.stringify({ machine, ...results }, null, 2))
  process.exit(options.isWithin?.(results) ?? true ? 0 : 1)
}
