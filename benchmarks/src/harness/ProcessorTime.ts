/** The CPU time of processes, in microseconds. Reads `/proc`, so it works on Linux only. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readdir, readFile } from "node:fs/promises"
import { basename } from "node:path"

/** The length of a tick of the kernel's accounting, in microseconds. */
const tick = 10_000

interface Times {
  readonly parent: number
  readonly own: number
  /** The time of child processes that have ended. */
  readonly ended: number
}

/** Returns the text of a file, which is empty when its process has ended. */
const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")

/** Reads the scheduler's count of each thread: ticks miss most of a process that runs for less than one tick at a time. */
const ownOf = async (pid: number | string): Promise<number> => {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const texts = await Promise.all(threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/schedstat`)))
  return texts.reduce((sum, text) => sum + Number(text.split(" ")[0]), 0) / 1000
}

/** Returns the parent of a process, and the time of its ended children, from its `stat`, whose name can contain any character. */
export const ofStat = (text: string): Omit<Times, "own"> => {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number)
  const at = (index: number): number => fields[index] ?? 0
  return { parent: at(1), ended: (at(13) + at(14)) * tick }
}

/** Reads `/proc/PID`. */
const read = async (pid: number | string): Promise<Times> => ({
  ...ofStat(await textOf(`/proc/${pid}/stat`)),
  own: await ownOf(pid)
})

/** The time that the machine's processors were busy, or taken by its host. */
export const ofMachine = Effect.promise(async () => {
  const [line = ""] = (await textOf("/proc/stat")).split("\n")
  const [user = 0, nice = 0, system = 0, _idle, _waiting, interrupts = 0, soft = 0, stolen = 0] = line.split(/ +/)
    .slice(1).map(Number)
  return (user + nice + system + interrupts + soft + stolen) * tick
})

/** The CPU time of one process, without its children. */
export const ofProcess = (pid: number): Effect.Effect<number> => Effect.promise(async () => (await read(pid)).own)

const readPids = async (): Promise<ReadonlyArray<string>> =>
  (await readdir("/proc")).filter((name) => /^[0-9]+$/.test(name))

/** The CPU time of all PostgreSQL processes in total. */
export const ofPostgres = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
  return yield* Effect.promise(async () => {
    const { parent: postmaster } = await read(row?.pid ?? 0)
    const pids = await readPids()
    const processes = await Promise.all(pids.map(read))
    const { ended, own } = await read(postmaster)
    return processes.reduce((sum, each) => each.parent === postmaster ? sum + each.own : sum, own + ended)
  })
})

/** The name of a child process: its first argument after the file, or the file's name. */
const nameOf = async (pid: string): Promise<string> => {
  const [, file = "", first] = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0")
  return first === undefined || first === "" ? basename(file) : first
}

/** The CPU time of this process and of the Node processes that it started, by name, and that of PostgreSQL. */
export const byName = Effect.gen(function*() {
  const postgres = yield* ofPostgres
  return yield* Effect.promise(async () => {
    const pids = await readPids()
    const times: Record<string, number> = { postgres, benchmark: (await read(process.pid)).own }
    for (const pid of pids) {
      const { own, parent } = await read(pid)
      if (parent !== process.pid) continue
      const name = await nameOf(pid)
      // PostgreSQL's first argument, which is counted above.
      if (name !== "-D") times[name] = (times[name] ?? 0) + own
    }
    return times
  })
})
