/** Calls of tools: each is a request to the API, whose result or failure becomes a text for the agent. */
import type { MessagingCrm } from "@messaging-crm/client"
import { Clock, Data, Duration, Effect } from "effect"
import { type ArgumentsInvalid, requestOf, textOf } from "./Requests.ts"
import { sentenceOf } from "./Sentences.ts"
import type { Tool } from "./Tools.ts"

/** A call failed. The message is for the agent. */
class CallFailed extends Data.TaggedError("CallFailed")<{ readonly message: string }> {}

/** Calls a tool, and returns the text of its result. */
export type Call = (
  tool: Tool,
  given: Readonly<Record<string, unknown>>
) => Effect.Effect<string, ArgumentsInvalid | CallFailed>

/**
 * Makes the function that calls a tool. A write has one idempotency key for all its attempts, which the client makes. A call ends
 * after `time_max`, so that a longer `Retry-After` becomes a sentence.
 */
export const callWith = (crm: MessagingCrm, tools: ReadonlyArray<Tool>, time_max: Duration.Duration): Call =>
  Effect.fnUntraced(function*(tool, given) {
    const { body, if_match, path, query } = yield* requestOf(tool, given)
    // The input has the parts that the route declares.
    const input = { path, query, ...(body === undefined ? {} : { body }) } as Parameters<typeof crm.request>[1]
    const until = (yield* Clock.currentTimeMillis) + Duration.toMillis(time_max)
    return yield* Effect.tryPromise({
      try: async (signal) => textOf(await crm.request(tool.route, input, { signal, until, ifMatch: if_match })),
      catch: (error) => error
    }).pipe(
      Effect.catch((error) => {
        const message = sentenceOf(error, tool, tools)
        return message === undefined ? Effect.die(error) : Effect.fail(new CallFailed({ message }))
      })
    )
  })
