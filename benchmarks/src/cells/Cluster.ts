/** Four cells on two PostgreSQL servers, with organizations of equal size in each. */
import { Effect, Layer } from "effect"
import * as Benchmark from "../harness/Benchmark.ts"
import { Processes, Schemas } from "../harness/Fixtures.ts"
import * as ProcessorTime from "../harness/ProcessorTime.ts"
import * as PopulationRows from "../load/PopulationRows.ts"

/** The settings of both servers. */
export const settings = {
  shared_buffers: "1GB",
  max_wal_size: "4GB",
  checkpoint_timeout: "30min",
  // `tidy` does its work before each measurement with writes.
  autovacuum: "off"
}

/** The cells with the numbers of their organizations. Those of one server follow one another. */
const ranges = [
  { name: "a-1", server: 0, first: 1, last: 13 },
  { name: "a-2", server: 0, first: 14, last: 26 },
  { name: "b-1", server: 1, first: 27, last: 38 },
  { name: "b-2", server: 1, first: 39, last: 50 }
] as const

export type Name = typeof ranges[number]["name"]

export interface Cell {
  readonly name: Name
  readonly server: 0 | 1
  readonly url: string
  /** The numbers of its organizations. */
  readonly first: number
  readonly last: number
}

/** Creates the cells on two servers, and fills them with `contacts` in each organization. */
export const make = Effect.fnUntraced(function*(first_server: string, contacts: number) {
  const servers = [first_server, yield* Benchmark.postgres(settings)] as const
  const cells = yield* Effect.forEach(
    ranges,
    (range) =>
      Effect.map(Schemas.create(servers[range.server], [range.name]), ([url = ""]): Cell => ({ ...range, url }))
  )
  const environment = {
    HOST: "127.0.0.1",
    PROVIDER: "mock",
    SECRET_KEY: Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(32))).toString("base64")
  }
  const settingOf = (...names: ReadonlyArray<Name>): string =>
    cells.filter(({ name }) => names.includes(name)).map(({ name, url }) => `${name}=${url}`).join("\n")
  const all = settingOf(...cells.map(({ name }) => name))
  yield* Processes.command(["migrate"], { ...environment, CELLS: all })
  yield* Effect.forEach([0, 1] as const, (server) =>
    Effect.forEach(
      cells.filter((cell) => cell.server === server),
      ({ first, last, url }) => Effect.promise(() => PopulationRows.fillOrganizations(url, { first, last, contacts })),
      { discard: true }
    ), { concurrency: 2, discard: true })
  return { cells, environment, servers, settingOf }
})

export type Cluster = Effect.Success<ReturnType<typeof make>>

/** Returns the CPU time of both servers in total. */
export const makeReadPostgres = Effect.fnUntraced(function*(servers: ReadonlyArray<string>) {
  const reads = yield* Effect.forEach(servers, (url) =>
    Effect.map(
      Effect.flatMap(Effect.scope, (scope) => Layer.buildWithScope(Benchmark.database(url, 1), scope)),
      (context) => Effect.orDie(Effect.provideContext(ProcessorTime.ofPostgres, context))
    ))
  return Effect.map(Effect.all(reads), (times) => times.reduce((sum, time) => sum + time, 0))
})
