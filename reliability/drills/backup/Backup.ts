/**
 * The backup drill: while clients write, the drill makes a base backup with pgBackRest and a dump with `pg_dump`. It restores
 * the dump into an empty server, then destroys the first server, and restores it with pgBackRest to a time between two writes.
 */
import { onServer } from "@messaging-crm/adapter-postgres/testing/Databases"
import { Clock, Effect, Fiber, Ref } from "effect"
import { on } from "../../../packages/server/testing/databases/PostgresStandby.ts"
import { eventually } from "../../../packages/server/testing/Eventually.ts"
import * as Cluster from "../../../packages/server/testing/processes/Cluster.ts"
import { program } from "../../../packages/server/testing/processes/Programs.ts"
import * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import type { Debian } from "../harness/Debian.ts"
import { occurredViolations } from "../harness/Violations.ts"
import * as Writes from "../harness/Writes.ts"
import { differingReplays, markOf, storedIn } from "./Restored.ts"
import * as Server from "./Server.ts"
import * as Tables from "./Tables.ts"

const dump_file = "/backup/crm.dump"

const databaseIn = (server: string, database_url: string): string =>
  server.replace(/[^/]*$/, database_url.split("/").at(-1) ?? "")

/** Dumps a database while it is written to, and returns the contents of its tables in the dump's snapshot. */
const dump = (debian: Debian, url: string) =>
  on(url, (query) =>
    Effect.gen(function*() {
      yield* query("BEGIN ISOLATION LEVEL REPEATABLE READ")
      const [snapshot] = yield* query("SELECT pg_export_snapshot() AS id")
      yield* debian.run(
        "pg_dump",
        `--snapshot=${String(snapshot?.["id"])}`,
        "-Fc",
        `--file=${dump_file}`,
        `--dbname=${url}`
      )
      return yield* Tables.contentsOf(query)
    }))

/** Restores the dump into a new server, compares every table, and starts the service on it. */
const restoreDump = Effect.fnUntraced(
  function*(
    debian: Debian,
    cluster: Cluster.Cluster,
    { contents, dumped }: Pick<Written, "contents" | "dumped">
  ) {
    const { url: server } = yield* Server.make(debian, "restored", { isBackedUp: false })
    const url = databaseIn(server, cluster.database_url)
    yield* debian.run("createdb", `--maintenance-db=${server}`, url.split("/").at(-1) ?? "")
    yield* debian.run("pg_restore", "--exit-on-error", `--dbname=${url}`, dump_file)
    const differing = Tables.differences(contents, yield* on(url, Tables.contentsOf))
    const replays = yield* differingReplays(cluster, url, dumped)
    return occurredViolations({
      [`tables of the dump that differ: ${differing}`]: differing.length > 0,
      [`responses that differ after the restore of the dump: ${replays}`]: replays.length > 0
    })
  },
  Effect.scoped
)

/** Destroys the server, restores it to the target, and starts the service on it. */
const restoreToTarget = Effect.fnUntraced(
  function*(debian: Debian, server: Server.Server, cluster: Cluster.Cluster, { completed, target }: Written) {
    yield* server.destroy
    const time = new Date(target).toISOString().replace("T", " ").replace("Z", "+00")
    yield* debian.run(
      "pgbackrest",
      "--stanza=crm",
      "--type=time",
      `--target=${time}`,
      "--target-action=promote",
      "restore"
    )
    yield* server.start
    const { database_url } = cluster
    yield* eventually(
      on(server.url, (query) => query("SELECT pg_is_in_recovery() AS recovering")),
      ([row]) => row?.["recovering"] === false
    )
    const stored = yield* storedIn(database_url)
    const before = completed.filter(({ completed_at }) => completed_at < target)
    const after = completed.filter(({ sent_at }) => sent_at > target)
    const lost = before.filter((request) => !stored.has(markOf(request)))
    const kept = after.filter((request) => stored.has(markOf(request)))
    const replays = yield* differingReplays(cluster, database_url, before)
    const violations = occurredViolations({
      "no write was acknowledged before the target, or none was sent after it": before.length * after.length === 0,
      [`writes before the target that are missing: ${lost.map(({ key }) => key)}`]: lost.length > 0,
      [`writes after the target that were restored: ${kept.map(({ key }) => key)}`]: kept.length > 0,
      [`responses that differ after the restore to the target: ${replays}`]: replays.length > 0
    })
    return { before_target: before.length, after_target: after.length, violations }
  }
)

interface Written {
  /** The contents of the dump. */
  readonly contents: ReadonlyMap<string, Tables.Contents>
  /** The requests that had completed before the dump began. */
  readonly dumped: ReadonlyArray<Writes.CompletedRequest>
  /** The time to restore to, in milliseconds. */
  readonly target: number
  readonly completed: ReadonlyArray<Writes.CompletedRequest>
}

/** Lets clients write to a server with workers, and backs its database up meanwhile. */
const writeAndBackUp = Effect.fnUntraced(
  function*(debian: Debian, cluster: Cluster.Cluster, options: { readonly clients: number; readonly writes: number }) {
    const [server] = cluster.servers
    if (server === undefined) return yield* Effect.die(new Error("The cluster has no server."))
    yield* Servers.serve(cluster.environment, server, program("server"))
    const isStopping = yield* Ref.make(false)
    const writers = yield* Writes.make(cluster, options.clients)
    const writing = yield* Effect.forkChild(writers.writeUntil(Ref.get(isStopping)))
    const untilSent = (since: number) =>
      Writes.untilCompleted(writers, options.writes, ({ sent_at }) => sent_at > since)

    yield* untilSent(0)
    yield* debian.run("pgbackrest", "--stanza=crm", "backup")
    const { completed: dumped } = yield* writers.outcome
    const contents = yield* dump(debian, cluster.database_url)
    yield* untilSent(yield* Clock.currentTimeMillis)
    const target = yield* Clock.currentTimeMillis
    yield* untilSent(target)
    yield* Ref.set(isStopping, true)
    yield* Fiber.join(writing)
    // Archives the log up to here.
    yield* debian.run("pgbackrest", "--stanza=crm", "check")
    const { completed } = yield* writers.outcome
    return { contents, dumped, target, completed } satisfies Written
  },
  Effect.scoped
)

/** Runs the drill, and returns counts and the violations. */
export const drill = Effect.fnUntraced(
  function*(debian: Debian, options: { readonly clients: number; readonly writes: number }) {
    const server = yield* Server.make(debian, "primary", { isBackedUp: true })
    yield* debian.run("pgbackrest", "--stanza=crm", "stanza-create")
    const cluster = yield* onServer(server.url)(Cluster.make({ servers: 1, environment: Writes.environment }))
    const written = yield* writeAndBackUp(debian, cluster, options)
    const differing = yield* restoreDump(debian, cluster, written)
    const { violations, ...counts } = yield* restoreToTarget(debian, server, cluster, written)
    const rows = Array.from(written.contents.values(), ({ rows }) => rows).reduce((sum, count) => sum + count, 0)
    return { tables: written.contents.size, rows, ...counts, violations: [...differing, ...violations] }
  }
)
