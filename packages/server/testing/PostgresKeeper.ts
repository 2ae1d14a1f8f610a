/** A program that runs PostgreSQL with a data directory of its own, prints its URL, and stops it when standard input closes. */
import { Effect } from "effect"
import { start } from "../src/dev/EmbeddedPostgres.ts"
import { folder } from "./Folder.ts"

const closed = Effect.callback<void>((resume) => {
  process.stdin.resume().once("close", () => resume(Effect.void))
})

const program = Effect.gen(function*() {
  const url = yield* start({ directory: yield* folder, durable: false })
  yield* Effect.sync(() => process.stdout.write(url))
  yield* closed
})

await Effect.runPromise(Effect.scoped(program))
