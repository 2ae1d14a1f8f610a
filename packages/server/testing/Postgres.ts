/** Starts PostgreSQL once for the whole test run, unless `TEST_DATABASE_URL` is set. */
import { Effect, Exit, Scope } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { start } from "../src/EmbeddedPostgres.ts"

export const setup = async (): Promise<(() => Promise<void>) | undefined> => {
  if (process.env["TEST_DATABASE_URL"] !== undefined) return undefined
  const directory = await mkdtemp(join(tmpdir(), "messaging-crm-test-"))
  const scope = Scope.makeUnsafe()
  process.env["TEST_DATABASE_URL"] = await Effect.runPromise(
    Effect.provideService(start({ directory, durable: false }), Scope.Scope, scope)
  )
  return async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await rm(directory, { recursive: true, force: true })
  }
}
