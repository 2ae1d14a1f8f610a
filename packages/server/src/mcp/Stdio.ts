/** The Model Context Protocol over stdin and stdout, for an agent's program on this machine. It calls a service with an API key. */
import { MessagingCrm } from "@messaging-crm/client"
import { Duration, Effect, Option, Redacted, Stdio, Stream } from "effect"
import { callWith } from "./Calls.ts"
import * as Protocol from "./Protocol.ts"
import { makeTools } from "./Tools.ts"

export interface Options {
  readonly base_url: string
  readonly api_key: Redacted.Redacted
  /** Whether the tools that write are offered. */
  readonly write: boolean
}

/** The time limit of a call: an agent's program gives up after a minute by default, and gets the outcome of each write. */
const call_time_max = Duration.seconds(45)

/** How many messages are in progress. */
const messages_at_once = 64

const parse = Option.liftThrowable((line: string): unknown => JSON.parse(line))

/** Serves an agent's program until stdin ends. A message is a line of JSON. */
export const serve = Effect.fnUntraced(function*({ api_key, base_url, write }: Options) {
  const tools = makeTools()
  const how_to_write = "Ask the user to start this server with --write."
  const respond = Protocol.make({ how_to_write, tools, write })
  const crm = new MessagingCrm({ apiKey: Redacted.value(api_key), baseUrl: base_url })
  const call = callWith(crm, tools, call_time_max)
  const respondTo = (line: string) => {
    const message = parse(line)
    if (Option.isNone(message)) return Effect.succeed(Protocol.errorOf("parse_error", "The line is not JSON."))
    return respond(call, message.value)
  }
  const { stdin, stdout } = yield* Stdio.Stdio
  yield* Stream.decodeText(stdin).pipe(
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== ""),
    Stream.mapEffect(respondTo, { concurrency: messages_at_once, unordered: true }),
    Stream.filter((response) => response !== null),
    Stream.map((response) => `${JSON.stringify(response)}\n`),
    Stream.run(stdout({ endOnDone: false }))
  )
})
