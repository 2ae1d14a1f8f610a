/** The resources that process tests share in a test run: a PostgreSQL server, unless `TEST_DATABASE_URL` is set, and bundled programs. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle } from "../scripts/bundle.ts"
import { sources } from "./processes/Programs.ts"

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Starts a server unless a variable has the URL of one, which it then has. The server removes a folder of programs at its end. */
export const startPostgres = async (variable: string, programs?: string): Promise<() => Promise<void>> => {
  if (process.env[variable] !== undefined) return async () => {}
  const template = "migrated"
  // A signal ends Vitest without a teardown. A detached process gets no signal, and stops when its standard input closes.
  const keeper = spawn(process.execPath, [
    pathOf("./databases/PostgresKeeper.ts"),
    template,
    ...programs === undefined ? [] : [programs]
  ], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"]
  })
  const ended = once(keeper, "exit")
  const [url] = await Promise.race([
    once(keeper.stdout, "data"),
    ended.then(() => Promise.reject(new Error("PostgreSQL did not start.")))
  ])
  process.env[variable] = String(url)
  process.env["TEST_DATABASE_TEMPLATE"] = template
  return async () => {
    keeper.stdin.end()
    await ended
  }
}

const bundlePrograms = async (folder: string) => {
  await bundle(folder, sources)
  process.env["TEST_PROGRAMS"] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}

/** The message at the start of the tests. AGENTS.md contains the same numbers. */
export const announcement =
  "Starting PostgreSQL. All tests take about 3 minutes on 2 processors; `npm test -- packages/core` runs a part of them.\n"

export const setup = async (): Promise<() => Promise<void>> => {
  process.stdout.write(announcement)
  const build = pathOf("../build")
  mkdirSync(build, { recursive: true })
  const programs = mkdtempSync(join(build, "test-"))
  const [stopPostgres, removePrograms] = await Promise.all([
    startPostgres("TEST_DATABASE_URL", programs),
    bundlePrograms(programs)
  ])
  return async () => {
    removePrograms()
    await stopPostgres()
  }
}
