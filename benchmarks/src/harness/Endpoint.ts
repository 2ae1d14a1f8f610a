/** Starts a fast webhook endpoint in a separate process. */
import { Effect, Schema } from "effect"
import { fileURLToPath } from "node:url"
import type { Arrival } from "./Arrivals.ts"
import { Processes } from "./Fixtures.ts"
import * as ProcessOutput from "./ProcessOutput.ts"

const Received = Schema.fromJsonString(Schema.Struct({
  posts: Schema.Int,
  connections: Schema.Int,
  /** The first post of each path and event, with its time. */
  first: Schema.Array(Schema.Tuple([Schema.String, Schema.Number]))
}))

/** Returns the arrival of a first post, whose name is its path and its event. */
export const arrivalOf = ([name, at_ms]: readonly [name: string, at_ms: number]): Arrival => [
  name.slice(name.indexOf(" ") + 1),
  at_ms
]

/** Starts an endpoint. The end of the scope stops it. */
export const start = Effect.gen(function*() {
  const { child } = yield* Processes.start(fileURLToPath(new URL("./endpointProcess.ts", import.meta.url)), [], {})
  const url = yield* ProcessOutput.firstLine(child)
  const received = Effect.promise(async () => (await fetch(url)).text()).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Received))
  )
  return { url, received }
})
