/** A fast endpoint for webhooks in a process of its own. */
import { Effect, Schema } from "effect"
import { fileURLToPath } from "node:url"
import * as Processes from "../../packages/server/testing/Processes.ts"

const Heard = Schema.fromJsonString(Schema.Struct({
  posts: Schema.Int,
  connections: Schema.Int,
  /** The path and the event of each first post, and when it came. */
  first: Schema.Array(Schema.Tuple([Schema.String, Schema.Number]))
}))

/** Starts an endpoint, which ends with the scope. */
export const start = Effect.gen(function*() {
  const { child } = yield* Processes.start(fileURLToPath(new URL("./endpointProcess.ts", import.meta.url)), [], {})
  const url = yield* Effect.callback<string>((resume) =>
    void child.stdout?.once("data", (line: Buffer) => resume(Effect.succeed(line.toString().trim())))
  )
  const heard = Effect.promise(async () => (await fetch(url)).text()).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Heard))
  )
  return { url, heard }
})
