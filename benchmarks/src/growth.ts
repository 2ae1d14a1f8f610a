/**
 * Measures how the cost of an operation grows with the number of contacts: at 1,000
 * and at 1,000,000, or at others with `npm run bench:growth -- 1000 100000`.
 *
 * Both databases are generated inside one PostgreSQL, and every operation runs on
 * them in turn, one at a time, as the service runs it: with the same prepared
 * statements, generic plans, and settings. Its cost is the time that PostgreSQL
 * spends on all its statements. Prints one JSON document. At 1,000,000 it takes
 * about nine minutes and 6 GB of disk.
 */
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as OperationCosts from "./growth/OperationCosts.ts"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { Crowd } from "./harness/Fixtures.ts"

const texts = process.argv.length > 2 ? process.argv.slice(2) : ["1000", "1000000"]
const sizes = texts.map((text) => Arguments.positive("contacts", text))
const runs = 100

/** Creates and fills a database, and returns its size and URL. */
const generate = Effect.fnUntraced(function*(server_url: string, contacts: number) {
  const name = `growth_${contacts}`
  yield* SqlClient.SqlClient.use((sql) => sql`CREATE DATABASE ${sql(name)}`.unprepared)
  const url = new URL(server_url)
  url.pathname = name
  yield* Effect.andThen(Migrations.run, Crowd.fillWith(contacts)).pipe(
    Effect.provide(Benchmark.database(url.href))
  )
  return [contacts, url.href] as const
})

const measureGrowth = (server_url: string) =>
  Effect.gen(function*() {
    yield* SqlClient.SqlClient.use((sql) => sql`CREATE EXTENSION pg_stat_statements`)
    const urls = yield* Effect.forEach(sizes, (contacts) => generate(server_url, contacts))
    return { runs, results: yield* OperationCosts.compare(Object.fromEntries(urls), { runs }) }
  }).pipe(Effect.provide(Benchmark.database(server_url, 1)))

await Benchmark.run(measureGrowth, {
  library: "pg_stat_statements",
  settings: { shared_buffers: "1GB", max_wal_size: "4GB" },
  timeout: "20 minutes"
})
