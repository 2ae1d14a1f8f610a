/**
 * A program that runs PostgreSQL with a data directory of its own, creates a database with the tables of the service under
 * the name of its first argument, prints its URL, and stops it when standard input closes. Then it removes the folder that
 * its second argument names.
 */
import { Effect } from "effect"
import { rm } from "node:fs/promises"
import { start } from "../src/dev/EmbeddedPostgres.ts"
import { createTemplate } from "./Databases.ts"
import { folder } from "./Folder.ts"

const [, , template = "migrated", programs] = process.argv

const closed = Effect.callback<void>((resume) => {
  process.stdin.resume().once("close", () => resume(Effect.void))
})

const program = Effect.gen(function*() {
  const url = yield* start({ directory: yield* folder, durable: false })
  yield* createTemplate(url, template)
  yield* Effect.sync(() => process.stdout.write(url))
  yield* closed
})

await Effect.runPromise(Effect.scoped(program))
// A test run that was ended by a signal has not removed its programs.
if (programs !== undefined) await rm(programs, { recursive: true, force: true })
