/** PostgreSQL servers of a Debian folder, on 127.0.0.1. */
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { freePort } from "../../../packages/server/src/dev/FreePort.ts"
import type { Debian } from "../harness/Debian.ts"

export interface Server {
  readonly url: string
  readonly start: Effect.Effect<void>
  /** Ends the server as a power failure does, and removes its data. */
  readonly destroy: Effect.Effect<void>
}

/** pgBackRest's configuration, and the settings of the server that it backs up. */
const backedUp = Effect.fnUntraced(function*({ root, run }: Debian, data: string, port: number) {
  const configuration = [
    "[global]",
    "repo1-path=/backup",
    "repo1-retention-full=2",
    "start-fast=y",
    "lock-path=/tmp/pgbackrest",
    "log-level-file=off",
    "log-level-console=warn",
    "[crm]",
    `pg1-path=${data}`,
    `pg1-port=${port}`,
    "pg1-socket-path=/tmp",
    "pg1-user=postgres"
  ]
  yield* Effect.promise(() => writeFile(join(root, "etc/pgbackrest.conf"), `${configuration.join("\n")}\n`))
  yield* run(
    "sh",
    "-c",
    `cat >> ${data}/postgresql.conf <<'EOF'
archive_mode = on
archive_command = 'pgbackrest --stanza=crm archive-push %p'
EOF`
  )
})

/** Initializes a server, and starts it. It stops when the scope closes. */
export const make = Effect.fnUntraced(
  function*(debian: Debian, name: string, options: { readonly isBackedUp: boolean }) {
    const { root, run } = debian
    const data = `/data/${name}`
    const port = yield* freePort
    const password = randomBytes(24).toString("hex")
    yield* Effect.promise(() => writeFile(join(root, "tmp", name), password, { mode: 0o644 }))
    const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    const authentication = ["--username=postgres", `--pwfile=/tmp/${name}`, "--auth-local=trust"]
    yield* run("initdb", `--pgdata=${data}`, ...authentication, "--auth-host=scram-sha-256", ...locale)
    if (options.isBackedUp) yield* backedUp(debian, data, port)
    const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=/tmp -c max_connections=200`
    const start = run("pg_ctl", "start", "-w", "-D", data, "-l", `/tmp/${name}.log`, "-o", settings)
    const stop = Effect.ignoreCause(run("pg_ctl", "stop", "-m", "immediate", "-D", data))
    yield* Effect.acquireRelease(start, () => stop)
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      start: Effect.asVoid(start),
      destroy: Effect.andThen(stop, Effect.promise(() => rm(join(root, data), { recursive: true })))
    } satisfies Server
  }
)
