/** The service behind PgBouncer, which it rejects: `PGBOUNCER`, else `/usr/sbin/pgbouncer`. */
import { assert, it } from "@effect/vitest"
import { Config, Effect, Schedule } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../src/dev/FreePort.ts"
import * as Processes from "../testing/processes/Processes.ts"

const program = process.env["PGBOUNCER"] ?? "/usr/sbin/pgbouncer"

const accepts = (port: number) =>
  Effect.callback<void, Error>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.void)
    })
    socket.once("error", (error) => resume(Effect.fail(error)))
  })

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "messaging-crm-pgbouncer-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** Starts PgBouncer before a database, and returns the database's URL through it. */
const pooled = Effect.fnUntraced(function*(database_url: string, settings: ReadonlyArray<string>) {
  const { hostname, password, pathname, port, username } = new URL(database_url)
  const home = yield* directory
  const listen_port = yield* freePort
  const ini = [
    "[databases]",
    `* = host=${hostname} port=${port}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${listen_port}`,
    "unix_socket_dir =",
    "auth_type = scram-sha-256",
    `auth_file = ${join(home, "users.txt")}`,
    ...settings
  ]
  yield* Effect.promise(async () => {
    await writeFile(join(home, "users.txt"), `"${username}" "${password}"\n`)
    await writeFile(join(home, "pgbouncer.ini"), `${ini.join("\n")}\n`)
    await chmod(home, 0o755)
  })
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["--user=nobody"] : []
  yield* Effect.acquireRelease(
    Effect.sync(() => spawn(program, ["--quiet", ...user, join(home, "pgbouncer.ini")], { stdio: "inherit" })),
    (child: ChildProcess) =>
      Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )
  yield* Effect.retry(accepts(listen_port), { schedule: Schedule.spaced("20 millis"), times: 500 })
  return `postgres://${username}:${password}@127.0.0.1:${listen_port}${pathname}`
})

/** Everything that the service sets when a session begins, so that PgBouncer drops it. */
const ignored = [
  "timezone",
  "statement_timeout",
  "transaction_timeout",
  "idle_in_transaction_session_timeout",
  "tcp_keepalives_idle",
  "tcp_keepalives_interval",
  "tcp_keepalives_count",
  "client_connection_check_interval",
  "synchronous_commit",
  "plan_cache_mode",
  "enable_seqscan",
  "enable_hashjoin",
  "enable_mergejoin",
  "lock_timeout",
  "jit",
  "max_parallel_workers_per_gather"
]

const rejection = (url: string) =>
  `The database at DATABASE_URL cannot be used: ${
    new URL(url).host
  } is a connection pooler such as PgBouncer, which does not preserve `
  + "session settings. Point DATABASE_URL at PostgreSQL directly: the service pools its own connections.\n"

for (const mode of ["transaction", "session"]) {
  for (const [name, settings] of Object.entries({ default: [], lenient: [`ignore_startup_parameters = ${ignored}`] })) {
    it.live(`every command rejects PgBouncer in ${mode} mode with ${name} settings, and says what to set`, () =>
      Effect.gen(function*() {
        const database_url = yield* Config.String("TEST_DATABASE_URL")
        const url = yield* pooled(database_url, [`pool_mode = ${mode}`, ...settings])
        const environment = {
          DATABASE_URL: url,
          SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
          PROVIDER: "mock",
          PORT: "0"
        }
        for (const command of ["serve", "worker", "migrate"]) {
          const { code, stderr } = yield* Processes.run([command], environment)
          assert.deepStrictEqual({ command, code, stderr }, { command, code: 1, stderr: rejection(url) })
        }
      }))
  }
}
