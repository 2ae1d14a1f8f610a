/** A program that runs PostgreSQL with a data directory of its own, prints its URL, and stops it when standard input closes. */
import { Effect } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { start } from "../src/dev/EmbeddedPostgres.ts"

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "messaging-crm-test-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const closed = Effect.callback<void>((resume) => {
  process.stdin.resume().once("close", () => resume(Effect.void))
})

const program = Effect.gen(function*() {
  const url = yield* start({ directory: yield* directory, durable: false })
  yield* Effect.sync(() => process.stdout.write(url))
  yield* closed
})

await Effect.runPromise(Effect.scoped(program))
