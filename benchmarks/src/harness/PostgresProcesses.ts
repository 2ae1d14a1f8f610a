/** The processes of a PostgreSQL server, which can be stopped and killed. Reads `/proc`, so it works on Linux only. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readdir, readFile } from "node:fs/promises"
import * as ProcessorTime from "./ProcessorTime.ts"

const parentOf = async (pid: string): Promise<number> =>
  ProcessorTime.ofStat(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")).parent

/** Returns the process IDs of the connected server, its first process last. */
const pids = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
  return yield* Effect.promise(async () => {
    const postmaster = await parentOf(String(row?.pid ?? 0))
    const all = (await readdir("/proc")).filter((name) => /^[0-9]+$/.test(name))
    const parents = await Promise.all(all.map(parentOf))
    return [...all.filter((_, index) => parents[index] === postmaster).map(Number), postmaster]
  })
})

/** Sends a signal to all processes of the connected server. */
export const makeSignal = Effect.map(pids, (all) => (signal: "SIGCONT" | "SIGKILL" | "SIGSTOP") =>
  Effect.sync(() => {
    for (const pid of all) {
      try {
        process.kill(pid, signal)
      } catch {
        // The process has ended.
      }
    }
  }))
