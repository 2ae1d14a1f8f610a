/** The processor time of processes, in microseconds. Reads `/proc`, so it works on Linux only. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readdir, readFile } from "node:fs/promises"

/** The length of a tick of the kernel's accounting, in microseconds. */
const tick = 10_000

/** Returns the text of a file, which is empty when its process has ended. */
const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")

/** Reads the fields of `/proc/PID/stat` after the name, which may contain any character. */
const statOf = async (pid: number | string): Promise<ReadonlyArray<number>> => {
  const text = await textOf(`/proc/${pid}/stat`)
  return text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number)
}

const parentOf = async (pid: number | string): Promise<number> => (await statOf(pid))[1] ?? 0

/** The time of children that have ended. */
const endedOf = async (pid: number): Promise<number> => {
  const stat = await statOf(pid)
  return ((stat[13] ?? 0) + (stat[14] ?? 0)) * tick
}

/** The scheduler's own count for each thread: ticks miss most of a process that runs for less than one at a time. */
const timeOf = async (pid: number | string): Promise<number> => {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const texts = await Promise.all(threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/schedstat`)))
  return texts.reduce((sum, text) => sum + Number(text.split(" ")[0]), 0) / 1000
}

/** The processor time of one process, without its children. */
export const ofProcess = (pid: number): Effect.Effect<number> => Effect.promise(() => timeOf(pid))

/** The processor time of all PostgreSQL processes together. */
export const ofPostgres = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
  return yield* Effect.promise(async () => {
    const postmaster = await parentOf(row?.pid ?? 0)
    const pids = (await readdir("/proc")).filter((name) => /^[0-9]+$/.test(name))
    const parents = await Promise.all(pids.map(parentOf))
    const own = pids.filter((pid, index) => Number(pid) === postmaster || parents[index] === postmaster)
    const times = await Promise.all(own.map(timeOf))
    return times.reduce((sum, time) => sum + time, await endedOf(postmaster))
  })
})

/** The time that the machine's processors were busy, or taken by its host. */
export const ofMachine = Effect.promise(async () => {
  const [line = ""] = (await textOf("/proc/stat")).split("\n")
  const [user = 0, nice = 0, system = 0, _idle, _waiting, interrupts = 0, soft = 0, stolen = 0] = line.split(/ +/)
    .slice(1).map(Number)
  return (user + nice + system + interrupts + soft + stolen) * tick
})
