/** Steps of an operator who sets up a synchronous standby of a PostgreSQL server. */
import { PgConnection } from "@effect/sql-pg"
import { Effect, Redacted, Schedule, Scope } from "effect"
import { execFile } from "node:child_process"
import {
  appendFile,
  chmod,
  chown,
  copyFile,
  lstat,
  mkdir,
  readdir,
  rm,
  stat,
  symlink,
  writeFile
} from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { start } from "../../src/dev/EmbeddedPostgres.ts"
import { eventually } from "../Eventually.ts"

export interface Server {
  readonly directory: string
  readonly port: number
  readonly scope: Scope.Closeable
}

/** Returns the data directory of a server, which is inside the directory of the server. */
export const cluster = ({ directory }: Pick<Server, "directory">): string => join(directory, "cluster")

export const urlOf = (password: string, ...ports: ReadonlyArray<number>): string =>
  `postgres://postgres:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/postgres`

/** Paths that a base backup omits: files of the running server, and the log, which the standby receives. */
const excluded =
  /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/.|^(postmaster\.|standby\.signal|server\.log)/

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

/** Copies a tree with its owners. A running server can remove files during the copy. */
const copy = async (from: string, to: string): Promise<void> => {
  const { gid, mode, uid } = await lstat(from)
  await mkdir(to, { mode })
  await chown(to, uid, gid)
  const copyOne = async (path: string): Promise<void> => {
    if (excluded.test(path)) return
    try {
      // Follows the link to a log outside of the directory. The copy gets an empty log inside.
      const entry = await stat(join(from, path))
      const target = join(to, path)
      await (entry.isDirectory() ? mkdir(target, { mode: entry.mode }) : copyFile(join(from, path), target))
      await chown(target, entry.uid, entry.gid)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
  for (const path of await readdir(from, { recursive: true })) await copyOne(path)
}

/** Runs statements on one server. It can be a standby, which the client of the service rejects. */
export const on = <A, E>(
  url: string,
  use: (query: (sql: string) => Effect.Effect<ReadonlyArray<PgConnection.Row>, never>) => Effect.Effect<A, E>
) =>
  Effect.scoped(Effect.gen(function*() {
    const connection = yield* PgConnection.make({ url: Redacted.make(url) })
    return yield* use((sql) => Effect.orDie(Effect.map(connection.query(sql, [], false), ({ rows }) => rows)))
  })).pipe(Effect.orDie)

/** Copies a running primary into the directory of a server, which becomes its standby. */
export const backup = Effect.fnUntraced(
  function*(primary: Server, standby: Pick<Server, "directory">, password: string) {
    const target = cluster(standby)
    yield* Effect.promise(async () => {
      await mkdir(standby.directory, { recursive: true })
      // Its disk stays mounted.
      for (const name of await readdir(standby.directory)) await rm(join(standby.directory, name), { recursive: true })
      await chmod(standby.directory, (await lstat(primary.directory)).mode)
      for (const file of ["password", "initialised"]) {
        await copyFile(join(primary.directory, file), join(standby.directory, file))
      }
    })
    const [stopped] = yield* on(urlOf(password, primary.port), (query) =>
      Effect.gen(function*() {
        yield* query("SELECT FROM pg_backup_start('standby', true)")
        yield* Effect.promise(() => copy(cluster(primary), target))
        return yield* query("SELECT labelfile FROM pg_backup_stop(false)")
      }))
    const conninfo = `host=127.0.0.1 port=${primary.port} user=postgres password=${password}`
    yield* Effect.promise(async () => {
      await writeFile(join(target, "backup_label"), String(stopped?.["labelfile"]))
      await writeFile(join(target, "standby.signal"), "")
      // The last of equal settings applies. A promoted standby has no standby yet, and must not wait for one.
      const settings =
        `primary_conninfo = '${conninfo}'\nsynchronous_standby_names = ''\nwal_retrieve_retry_interval = '250ms'\n`
      await appendFile(join(target, "postgresql.auto.conf"), settings)
    })
  }
)

const execute = (file: string, ...args: ReadonlyArray<string>) => Effect.promise(() => promisify(execFile)(file, args))

/** Mounts a disk for a server. */
export const mount = (directory: string, mib: number) =>
  Effect.acquireRelease(
    Effect.andThen(
      Effect.promise(() => mkdir(directory, { recursive: true })),
      execute("mount", "-t", "tmpfs", "-o", `size=${mib}m,mode=0711`, "tmpfs", directory)
    ),
    () => execute("umount", "--lazy", directory)
  )

/** Moves the log of a stopped server out of its directory. */
export const moveLog = Effect.fnUntraced(function*(server: Pick<Server, "directory">) {
  const [log, moved] = [join(cluster(server), "pg_wal"), `${server.directory}-wal`]
  yield* Effect.promise(() => rm(moved, { recursive: true, force: true }))
  yield* execute("mv", log, moved)
  yield* Effect.promise(() => symlink(moved, log))
})

/** Starts a server on its directory, which is initialized unless it was copied. */
export const run = Effect.fnUntraced(
  function*({ directory, port }: Pick<Server, "directory" | "port">, parent: Scope.Scope) {
    const scope = yield* Scope.fork(parent)
    yield* start({ directory, port }).pipe(
      Scope.provide(scope),
      // Another process can use the port for a moment.
      Effect.retry(Schedule.spaced("250 millis").pipe(Schedule.upTo({ times: 20 }))),
      Effect.orDie
    )
    return { directory, port, scope } satisfies Server
  }
)

/** Makes each commit of the primary wait for the standby, and waits until the standby has all earlier writes. */
export const synchronize = Effect.fnUntraced(function*(primary: Server, password: string) {
  yield* on(urlOf(password, primary.port), (query) =>
    Effect.gen(function*() {
      yield* query("ALTER SYSTEM SET synchronous_standby_names = '*'")
      yield* query("SELECT pg_reload_conf()")
      const [written] = yield* query("SELECT pg_current_wal_flush_lsn()::text AS lsn")
      const standbys = query(`
        SELECT FROM pg_stat_replication
        WHERE sync_state = 'sync' AND state = 'streaming' AND flush_lsn >= '${String(written?.["lsn"])}'
      `)
      yield* eventually(standbys, (rows) => rows.length === 1)
    }))
})
