/** The resident memory of a process. Reads `/proc`, so it works on Linux only. */
import { readFileSync } from "node:fs"

/** Returns the resident memory of a process, in MiB. */
export const memoryOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
