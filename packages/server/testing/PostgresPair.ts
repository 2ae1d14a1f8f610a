/**
 * Two PostgreSQL servers on 127.0.0.1: a primary, and a synchronous standby that
 * can be promoted once the primary was killed. The killed one is rebuilt as
 * standby, as an operator would, from a base backup.
 */
import { PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Redacted, Ref, Schedule, Scope } from "effect"
import { execFile } from "node:child_process"
import {
  appendFile,
  chmod,
  chown,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile
} from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { start } from "../src/dev/EmbeddedPostgres.ts"
import { freePort } from "../src/dev/FreePort.ts"

interface Server {
  readonly directory: string
  readonly port: number
  readonly scope: Scope.Closeable
}

export interface PostgresPair {
  /** The URL that names both servers, as libpq has it. */
  readonly url: string
  /** Kills the primary with all of its processes, as a loss of power does. */
  readonly kill: Effect.Effect<void>
  /** Promotes the standby, after a kill, and waits until it accepts writes. It waits for no standby of its own. */
  readonly promote: Effect.Effect<void>
  /** Rebuilds the server that was killed as the synchronous standby of the other. */
  readonly rebuild: Effect.Effect<void>
  /** Kills the primary as `kill` does, and starts it again as the primary. */
  readonly restart: Effect.Effect<void>
  /** Runs statements on the primary, one after another. */
  readonly run: (...statements: ReadonlyArray<string>) => Effect.Effect<void>
  /** The directory of the primary. */
  readonly directory: Effect.Effect<string>
}

export interface Options {
  /**
   * The MiB of a disk for the data of each server. Its log (WAL) is outside of it, as production should have it. Only root
   * can mount one. By default there is none.
   */
  readonly disk_mib?: number
}

/** The data directory of a server, inside its own. */
const cluster = ({ directory }: Pick<Server, "directory">): string => join(directory, "cluster")

const urlOf = (password: string, ...ports: ReadonlyArray<number>): string =>
  `postgres://postgres:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/postgres`

/** Paths that a base backup omits: files of the running server, and the log, which the standby receives. */
const excluded =
  /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/.|^(postmaster\.|standby\.signal|server\.log)/

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

/** Copies a tree with its owners. A running server may remove files meanwhile. */
const copy = async (from: string, to: string): Promise<void> => {
  const { gid, mode, uid } = await lstat(from)
  await mkdir(to, { mode })
  await chown(to, uid, gid)
  const copyOne = async (path: string): Promise<void> => {
    if (excluded.test(path)) return
    try {
      // Follows the link to a log outside of the directory, of which the copy gets an empty one inside.
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

/** Runs statements on one server, also on a standby, which the service's own client rejects. */
const on = <A, E>(
  url: string,
  use: (query: (sql: string) => Effect.Effect<ReadonlyArray<PgConnection.Row>, never>) => Effect.Effect<A, E>
) =>
  Effect.scoped(Effect.gen(function*() {
    const connection = yield* PgConnection.make({ url: Redacted.make(url) })
    return yield* use((sql) => Effect.orDie(Effect.map(connection.query(sql, [], false), ({ rows }) => rows)))
  })).pipe(Effect.orDie)

/** Copies a running primary into the directory of a server, and makes it its standby. */
const backup = Effect.fnUntraced(function*(primary: Server, standby: Pick<Server, "directory">, password: string) {
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
    // The last of equal settings counts. A promoted standby has no standby of its own yet, and must not wait for one.
    const settings =
      `primary_conninfo = '${conninfo}'\nsynchronous_standby_names = ''\nwal_retrieve_retry_interval = '250ms'\n`
    await appendFile(join(target, "postgresql.auto.conf"), settings)
  })
})

const execute = (file: string, ...args: ReadonlyArray<string>) => Effect.promise(() => promisify(execFile)(file, args))

/** Mounts a disk of its own for a server. */
const mount = (directory: string, mib: number) =>
  Effect.acquireRelease(
    Effect.andThen(
      Effect.promise(() => mkdir(directory, { recursive: true })),
      execute("mount", "-t", "tmpfs", "-o", `size=${mib}m,mode=0711`, "tmpfs", directory)
    ),
    () => execute("umount", "--lazy", directory)
  )

/** Moves the log of a stopped server out of its directory. */
const moveLog = Effect.fnUntraced(function*(server: Pick<Server, "directory">) {
  const [log, moved] = [join(cluster(server), "pg_wal"), `${server.directory}-wal`]
  yield* Effect.promise(() => rm(moved, { recursive: true, force: true }))
  yield* execute("mv", log, moved)
  yield* Effect.promise(() => symlink(moved, log))
})

/** Starts a server on its directory, which is initialised unless it was copied. */
const run = Effect.fnUntraced(function*({ directory, port }: Pick<Server, "directory" | "port">, parent: Scope.Scope) {
  const scope = yield* Scope.fork(parent)
  yield* start({ directory, port }).pipe(
    Scope.provide(scope),
    // Another process may have taken the port for a moment.
    Effect.retry(Schedule.spaced("250 millis").pipe(Schedule.upTo({ times: 20 }))),
    Effect.orDie
  )
  return { directory, port, scope } satisfies Server
})

/** Makes the primary wait for its standby with every commit, from when the standby has all that was written before. */
const synchronize = Effect.fnUntraced(function*(primary: Server, password: string) {
  yield* on(urlOf(password, primary.port), (query) =>
    Effect.gen(function*() {
      yield* query("ALTER SYSTEM SET synchronous_standby_names = '*'")
      yield* query("SELECT pg_reload_conf()")
      const [written] = yield* query("SELECT pg_current_wal_flush_lsn()::text AS lsn")
      const standbys = query(`
        SELECT FROM pg_stat_replication
        WHERE sync_state = 'sync' AND state = 'streaming' AND flush_lsn >= '${String(written?.["lsn"])}'
      `)
      yield* Effect.repeat(standbys, { schedule: Schedule.spaced("50 millis"), until: (rows) => rows.length === 1 })
    }))
})

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It had ended.
  }
}

/** Starts the pair in a directory. Both servers stop when the scope closes. */
export const make = Effect.fnUntraced(function*(directory: string, { disk_mib }: Options = {}) {
  // One scope for all servers to come: who uses them closes before any of them, and their disks stay until then.
  const disks = yield* Scope.fork(yield* Effect.scope)
  const scope = yield* Scope.fork(yield* Effect.scope)
  const [a, b] = yield* Effect.all([freePort, freePort])
  if (disk_mib !== undefined) {
    for (const name of ["a", "b"]) yield* Scope.provide(mount(join(directory, name), disk_mib), disks)
    yield* Effect.orDie(Effect.scoped(start({ directory: join(directory, "a"), port: a })))
    yield* moveLog({ directory: join(directory, "a") })
  }
  const first = yield* run({ directory: join(directory, "a"), port: a }, scope)
  const password = yield* Effect.promise(() => readFile(join(first.directory, "password"), "utf8"))
  // A standby begins with what was written during its backup, which the primary keeps for it.
  yield* on(
    urlOf(password, a),
    (query) => Effect.andThen(query("ALTER SYSTEM SET wal_keep_size = '1GB'"), query("SELECT pg_reload_conf()"))
  )
  const copied = { directory: join(directory, "b"), port: b }
  const makeStandby = Effect.fnUntraced(function*(primary: Server, standby: Pick<Server, "directory">) {
    yield* backup(primary, standby, password)
    if (disk_mib !== undefined) yield* moveLog(standby)
  })
  yield* makeStandby(first, copied)
  const second = yield* run(copied, scope)
  yield* synchronize(first, password)
  const servers = yield* Ref.make<readonly [primary: Server, standby: Server]>([first, second])

  const killPrimary = Effect.gen(function*() {
    const [primary] = yield* Ref.get(servers)
    const rows = yield* on(urlOf(password, primary.port), (query) => query("SELECT pid FROM pg_stat_activity"))
    const file = yield* Effect.promise(() => readFile(join(cluster(primary), "postmaster.pid"), "utf8"))
    for (const pid of [Number.parseInt(file), ...rows.map(({ pid }) => Number(pid))]) kill(pid)
  })

  return {
    url: `${urlOf(password, a, b)}?target_session_attrs=read-write`,
    kill: killPrimary,
    promote: Effect.gen(function*() {
      const [, standby] = yield* Ref.get(servers)
      yield* on(urlOf(password, standby.port), (query) => query("SELECT pg_promote()"))
    }),
    rebuild: Effect.gen(function*() {
      const [killed, primary] = yield* Ref.get(servers)
      yield* Scope.close(killed.scope, Exit.void)
      yield* makeStandby(primary, killed)
      const standby = yield* run(killed, scope)
      yield* synchronize(primary, password)
      yield* Ref.set(servers, [primary, standby])
    }),
    restart: Effect.gen(function*() {
      const [primary, standby] = yield* Ref.get(servers)
      yield* killPrimary
      yield* Scope.close(primary.scope, Exit.void)
      yield* Ref.set(servers, [yield* run(primary, scope), standby])
    }),
    run: Effect.fnUntraced(function*(...statements: ReadonlyArray<string>) {
      const [primary] = yield* Ref.get(servers)
      yield* on(urlOf(password, primary.port), (query) => Effect.forEach(statements, query, { discard: true }))
    }),
    directory: Effect.map(Ref.get(servers), ([{ directory }]) => directory)
  } satisfies PostgresPair
})
