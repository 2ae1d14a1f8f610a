/**
 * Two PostgreSQL servers on 127.0.0.1: a primary, and a synchronous standby that
 * can be promoted after the primary was killed. The killed server is rebuilt as
 * standby from a base backup, as an operator does.
 */
import { Effect, Exit, Ref, Scope } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { start } from "../../src/dev/EmbeddedPostgres.ts"
import { freePort } from "../../src/dev/FreePort.ts"
import { backup, cluster, mount, moveLog, on, run, type Server, synchronize, urlOf } from "./PostgresStandby.ts"

export interface PostgresPair {
  /** The URL that names both servers, as libpq has it. */
  readonly url: string
  /** Kills the primary with all of its processes, as a power failure does. */
  readonly kill: Effect.Effect<void>
  /** Promotes the standby after a kill, and waits until it accepts writes. Its commits wait for no standby. */
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
   * The size in MiB of a disk for the data of each server, whose log (WAL) is outside of it, as recommended for production.
   * Only root can mount a disk. By default, the servers have no disk of their own.
   */
  readonly disk_mib?: number
}

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // The process has already ended.
  }
}

/** The pair with its current roles. */
interface State {
  readonly disk_mib: number | undefined
  readonly password: string
  /** The scope of all servers, including those that start later. */
  readonly scope: Scope.Scope
  readonly servers: Ref.Ref<readonly [primary: Server, standby: Server]>
}

const makeStandby = Effect.fnUntraced(function*(
  { disk_mib, password }: Pick<State, "disk_mib" | "password">,
  primary: Server,
  standby: Pick<Server, "directory">
) {
  yield* backup(primary, standby, password)
  if (disk_mib !== undefined) yield* moveLog(standby)
})

const killPrimary = Effect.fnUntraced(function*({ password, servers }: State) {
  const [primary] = yield* Ref.get(servers)
  const rows = yield* on(urlOf(password, primary.port), (query) => query("SELECT pid FROM pg_stat_activity"))
  const file = yield* Effect.promise(() => readFile(join(cluster(primary), "postmaster.pid"), "utf8"))
  for (const pid of [Number.parseInt(file), ...rows.map(({ pid }) => Number(pid))]) kill(pid)
})

const rebuild = Effect.fnUntraced(function*(state: State) {
  const { password, scope, servers } = state
  const [killed, primary] = yield* Ref.get(servers)
  yield* Scope.close(killed.scope, Exit.void)
  yield* makeStandby(state, primary, killed)
  const standby = yield* run(killed, scope)
  yield* synchronize(primary, password)
  yield* Ref.set(servers, [primary, standby])
})

const restart = Effect.fnUntraced(function*(state: State) {
  const { scope, servers } = state
  const [primary, standby] = yield* Ref.get(servers)
  yield* killPrimary(state)
  yield* Scope.close(primary.scope, Exit.void)
  yield* Ref.set(servers, [yield* run(primary, scope), standby])
})

/** Mounts the disks of both servers, and initializes the primary with its log outside of its disk. */
const prepareDisks = Effect.fnUntraced(
  function*(directory: string, port: number, disk_mib: number, scope: Scope.Scope) {
    for (const name of ["a", "b"]) yield* Scope.provide(mount(join(directory, name), disk_mib), scope)
    yield* Effect.orDie(Effect.scoped(start({ directory: join(directory, "a"), port })))
    yield* moveLog({ directory: join(directory, "a") })
  }
)

/** Starts both servers. */
const startServers = Effect.fnUntraced(function*(directory: string, disk_mib: number | undefined) {
  // One scope for all servers, so that their users close before any server, and their disks close last.
  const disks = yield* Scope.fork(yield* Effect.scope)
  const scope = yield* Scope.fork(yield* Effect.scope)
  const [a, b] = yield* Effect.all([freePort, freePort])
  if (disk_mib !== undefined) yield* prepareDisks(directory, a, disk_mib, disks)
  const first = yield* run({ directory: join(directory, "a"), port: a }, scope)
  const password = yield* Effect.promise(() => readFile(join(first.directory, "password"), "utf8"))
  // The primary keeps the log of the backup, from which the standby starts.
  yield* on(
    urlOf(password, a),
    (query) => Effect.andThen(query("ALTER SYSTEM SET wal_keep_size = '1GB'"), query("SELECT pg_reload_conf()"))
  )
  const copied = { directory: join(directory, "b"), port: b }
  yield* makeStandby({ disk_mib, password }, first, copied)
  const second = yield* run(copied, scope)
  yield* synchronize(first, password)
  const servers: State["servers"] = yield* Ref.make([first, second] as const)
  const state: State = { disk_mib, password, scope, servers }
  return { state, url: `${urlOf(password, a, b)}?target_session_attrs=read-write` }
})

/** Starts the pair in a directory. Both servers stop when the scope closes. */
export const make = Effect.fnUntraced(function*(directory: string, { disk_mib }: Options = {}) {
  const { state, url } = yield* startServers(directory, disk_mib)
  const { password, servers } = state
  return {
    url,
    kill: killPrimary(state),
    promote: Effect.gen(function*() {
      const [, standby] = yield* Ref.get(servers)
      yield* on(urlOf(password, standby.port), (query) => query("SELECT pg_promote()"))
    }),
    rebuild: rebuild(state),
    restart: restart(state),
    run: Effect.fnUntraced(function*(...statements: ReadonlyArray<string>) {
      const [primary] = yield* Ref.get(servers)
      yield* on(urlOf(password, primary.port), (query) => Effect.forEach(statements, query, { discard: true }))
    }),
    directory: Effect.map(Ref.get(servers), ([{ directory }]) => directory)
  } satisfies PostgresPair
})
