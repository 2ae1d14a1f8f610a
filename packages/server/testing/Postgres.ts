/** Starts PostgreSQL once for the whole test run, unless `TEST_DATABASE_URL` is set. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

export const setup = async (): Promise<(() => Promise<void>) | undefined> => {
  if (process.env["TEST_DATABASE_URL"] !== undefined) return undefined
  // A signal ends Vitest without a teardown. It does not reach a detached process, whose standard input closes instead.
  const keeper = spawn(process.execPath, [fileURLToPath(new URL("./PostgresKeeper.ts", import.meta.url))], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"]
  })
  const ended = once(keeper, "exit")
  const [url] = await Promise.race([
    once(keeper.stdout, "data"),
    ended.then(() => Promise.reject(new Error("PostgreSQL did not start.")))
  ])
  process.env["TEST_DATABASE_URL"] = String(url)
  return async () => {
    keeper.stdin.end()
    await ended
  }
}
