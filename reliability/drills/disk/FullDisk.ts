/**
 * The full-disk drill: clients write to a server with workers and read from it while the disk of its database is full, and
 * continue when the disk has space. It restarts no process.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { start } from "@messaging-crm/server/EmbeddedPostgres"
import { Effect, Redacted, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { open, rm } from "node:fs/promises"
import { join } from "node:path"
import { mount, moveLog } from "../../../packages/server/testing/databases/PostgresStandby.ts"
import { eventually } from "../../../packages/server/testing/Eventually.ts"
import type * as Cluster from "../../../packages/server/testing/processes/Cluster.ts"
import { program } from "../../../packages/server/testing/processes/Programs.ts"
import * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import * as StoredWrites from "../harness/StoredWrites.ts"
import * as Writes from "../harness/Writes.ts"

/** A disk that can be filled and emptied. */
export interface Disk {
  readonly fill: Effect.Effect<void>
  readonly free: Effect.Effect<void>
}

/** Writes zeros into a file until the disk has no space left. */
export const writeUntilFull = async (path: string): Promise<void> => {
  const block = new Uint8Array(65_536)
  const file = await open(path, "a")
  try {
    for (let size = block.byteLength; size > 0;) {
      const isWritten = await file.write(block, 0, size).then(() => true, () => false)
      if (!isWritten) size = Math.floor(size / 2)
    }
  } finally {
    await file.close()
  }
}

/**
 * Starts PostgreSQL with its data on its own file system of 256 MiB and its log (WAL) on another one, as recommended for
 * production. Returns its URL and the disk. Only root can mount a file system.
 */
export const mounted = Effect.fnUntraced(function*(directory: string) {
  const data = join(directory, "data")
  yield* mount(data, 256)
  yield* Effect.scoped(start({ directory: data }))
  yield* moveLog({ directory: data })
  const url = yield* start({ directory: data })
  const ballast = join(data, "ballast")
  const disk: Disk = {
    fill: Effect.promise(() => writeUntilFull(ballast)),
    free: Effect.promise(() => rm(ballast))
  }
  return { url, disk }
})

/** Simulates a full disk without root privileges: each statement that writes fails as on a full disk. */
export const rejecting = (database_url: string): Disk => {
  const inDatabase = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
    effect.pipe(Effect.provide(Client.layer({ url: Redacted.make(database_url), connections: 1 })), Effect.orDie)
  /** Runs a statement for each table separately, because a statement that locks all tables would deadlock with writers. */
  const forEachTable = (statement: (table: string) => string) =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* sql<{ readonly name: string }>`
        SELECT oid::regclass::text AS name
        FROM pg_class
        WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
      `
      yield* Effect.forEach(tables, ({ name }) => Effect.retry(sql.unsafe(statement(name)), { times: 10 }))
    })
  return {
    fill: inDatabase(Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        CREATE OR REPLACE FUNCTION a_full_disk() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$
      `
      yield* forEachTable((table) =>
        `CREATE OR REPLACE TRIGGER a_full_disk BEFORE INSERT OR UPDATE OR DELETE ON ${table} EXECUTE FUNCTION a_full_disk()`
      )
    })),
    free: inDatabase(forEachTable((table) => `DROP TRIGGER IF EXISTS a_full_disk ON ${table}`))
  }
}

const statusOf = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers })
    await response.arrayBuffer()
    return response.status
  })

const untilReadyIs = ({ url }: Servers.Server, status: number) =>
  eventually(statusOf(`${url}/health/ready`), (current) => current === status)

const count = (values: ReadonlyArray<number>) =>
  Object.fromEntries(Array.from(Map.groupBy(values, (value) => value), ([value, { length }]) => [value, length]))

/** Reads from a server, and returns the statuses. */
const readMany = ({ acme }: Cluster.Cluster, { url }: Servers.Server, reads: number) => {
  const headers = { authorization: `Bearer ${acme.key}` }
  const paths = ["/contacts?page_size=5", "/conversations", "/tags", "/contacts?query=kill", "/members"]
  return Effect.forEach(
    Array.from({ length: reads }, (_, number) => `${url}/v1${paths[number % paths.length]}`),
    (path) => statusOf(path, headers),
    { concurrency: 4 }
  )
}

/** Runs the drill on a cluster's database, and returns the statuses of the reads and the lost and duplicated writes. */
export const drill = Effect.fnUntraced(function*(cluster: Cluster.Cluster, disk: Disk, options: {
  readonly clients: number
  /** The number of reads while the disk is full. */
  readonly reads: number
}) {
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("The cluster has no server."))
  yield* Servers.serve(cluster.environment, server, program("server"))
  const isStopping = yield* Ref.make(false)
  const writers = yield* Writes.make(cluster, options.clients)
  const writing = yield* Effect.forkChild(writers.writeUntil(Ref.get(isStopping)))
  const untilMoreCompleted = Effect.flatMap(
    writers.outcome,
    ({ completed }) => Writes.untilCompleted(writers, completed.length + 40, () => true)
  )

  yield* untilMoreCompleted
  yield* disk.fill
  yield* untilReadyIs(server, 503)
  const reads = yield* readMany(cluster, server, options.reads)
  const [live, ready] = [yield* statusOf(`${server.url}/health/live`), yield* statusOf(`${server.url}/health/ready`)]
  yield* disk.free
  yield* untilReadyIs(server, 200)
  yield* untilMoreCompleted
  const finished = yield* StoredWrites.finish(cluster, writers, writing, isStopping)
  return { reads: count(reads), live, ready, ...finished }
})
