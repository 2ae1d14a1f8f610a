/**
 * A program that runs PostgreSQL in a temporary directory until standard input closes, and prints its URL. Its first argument
 * is the name of a template database with the tables of the service, and its second one a folder that it removes at the end.
 */
import { createTemplate } from "@messaging-crm/adapter-postgres/testing/Databases"
import { Effect } from "effect"
import { rm } from "node:fs/promises"
import { start } from "../../src/dev/EmbeddedPostgres.ts"
import { folder } from "../Folder.ts"

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
// After a signal, the test run has not removed its programs.
if (programs !== undefined) await rm(programs, { recursive: true, force: true })
