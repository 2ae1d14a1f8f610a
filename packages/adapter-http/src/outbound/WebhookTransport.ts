/**
 * Posts webhooks with undici to endpoints that may be hostile.
 *
 * Connections are opened to checked addresses only. One is reused only after a
 * complete response, by one attempt at a time. Any other is closed at the end of
 * its attempt, even if that is interrupted.
 */
import { limits } from "@messaging-crm/core/Limits"
import {
  AllowedAddresses,
  type WebhookRequest,
  WebhookRequestFailed,
  WebhookTransport
} from "@messaging-crm/core/WebhookTransport"
import { type Duration, Effect, Layer, Result } from "effect"
import { type Connection, IdleConnections, makeConnect } from "./Connections.ts"
import type { Resolve } from "./Names.ts"
import { failureOf, NoResponse } from "./NoResponse.ts"

export interface Options {
  /** The timeout of a whole attempt: 15 seconds. */
  readonly deadline?: Duration.Input
  /** The name resolution: it queries the name servers. */
  readonly resolve?: Resolve
}

const read_bytes_max = 16_384
/** The maximum number of interim responses before the final one, whatever their size. */
const announced_max = 10
const kept_bytes_max = limits.webhook_response_bytes_max

const noResponse = (failure_code: NoResponse["failure_code"]) => Effect.fail(new NoResponse({ failure_code }))

/** The part of a response that has been read: its status, and the beginning of its body as text. */
interface PartialResponse {
  status: number | null
  retry_after: string | null
  text: string
  bytes: number
  /** Whether the whole response has been received. */
  isComplete: boolean
}

/**
 * Sends the request, and fills in `response` until the body ends, breaks off or is
 * long enough. Which of the three happens does not change the outcome.
 *
 * A stream of the body would be simpler, but its chunks stay in memory for a while,
 * so an endless response could exhaust the memory.
 */
const dispatch = (
  { client, socket }: Connection,
  url: URL,
  { body, headers }: WebhookRequest,
  response: PartialResponse
) =>
  Effect.callback<void, NoResponse>((resume) => {
    const decoder = new TextDecoder()
    const before = socket.bytesRead
    let announced = 0
    client.dispatch({ path: url.pathname + url.search, method: "POST", headers, body }, {
      onRequestStart: () => {},
      onResponseStart: (controller, status, { "retry-after": retry_after = null }) => {
        if (status < 200) {
          // Interim responses must not cost more than a response.
          if (++announced <= announced_max || socket.bytesRead - before < read_bytes_max) return
          controller.pause()
          return resume(noResponse("protocol_error"))
        }
        response.status = status
        response.retry_after = Array.isArray(retry_after) ? retry_after.join(", ") : retry_after
      },
      onResponseData: (controller, chunk) => {
        const room = Math.max(kept_bytes_max - response.bytes, 0)
        // Streaming, so that an incomplete character at the end is left out.
        response.text += decoder.decode(chunk.subarray(0, room), { stream: true })
        response.bytes += chunk.byteLength
        if (response.bytes < read_bytes_max) return
        controller.pause()
        resume(Effect.void)
      },
      onResponseEnd: () => {
        response.isComplete = response.status !== null
        resume(Effect.void)
      },
      onResponseError: (_controller, error) =>
        resume(response.status === null ? Effect.fail(failureOf(error, "protocol_error")) : Effect.void)
    })
  })

/** Returns text that a database can hold: NUL becomes U+FFFD, as invalid UTF-8 did. */
const storable = (decoded: string): string => {
  const text = decoded.replaceAll("\u0000", "\uFFFD")
  // U+FFFD is three bytes long, so the text may exceed the limit after replacements.
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(kept_bytes_max)).read)
}

const make = Effect.fnUntraced(function*(options: Options) {
  const deadline = options.deadline ?? "15 seconds"
  const connect = makeConnect({ allowed: yield* AllowedAddresses, resolve: options.resolve })

  const idle = yield* Effect.acquireRelease(
    Effect.sync(() => new IdleConnections()),
    (connections) => Effect.sync(() => connections.endAll())
  )

  /** Releases a connection after its attempt: it is kept for reuse after a complete response, and closed otherwise. */
  const release = (response: Pick<PartialResponse, "isComplete">) => (connection: Connection) =>
    Effect.sync(() => response.isComplete ? idle.keep(connection) : connection.end())

  /** Sends the request over an idle connection, or over a new one if there is none or if the endpoint has closed it. */
  const exchange = Effect.fnUntraced(function*(url: URL, request: WebhookRequest, response: PartialResponse) {
    const reused = { isComplete: false }
    const found = yield* Effect.acquireRelease(
      Effect.sync(() => idle.take(url.origin)),
      (connection) => connection === undefined ? Effect.void : release(reused)(connection)
    )
    if (found !== undefined) {
      const sent = yield* Effect.result(dispatch(found, url, request, response))
      if (Result.isSuccess(sent)) {
        reused.isComplete = response.isComplete
        return
      }
      if (sent.failure.failure_code !== "connection_reset") return yield* sent.failure
    }
    const opened = yield* connect(url, release(response))
    yield* dispatch(opened, url, request, response)
  })

  const post = Effect.fnUntraced(
    function*(request: WebhookRequest) {
      const url = new URL(request.url)
      const response: PartialResponse = { status: null, retry_after: null, text: "", bytes: 0, isComplete: false }
      yield* Effect.timeoutOption(exchange(url, request, response), deadline)
      const { retry_after, status, text } = response
      return status === null ? yield* noResponse("timeout") : { status, retry_after, body: storable(text) }
    },
    Effect.scoped,
    Effect.mapError(({ failure_code }) => new WebhookRequestFailed({ failure_code }))
  )

  return WebhookTransport.of({ post })
})

/** Layer that posts webhooks over HTTP/1.1 to public addresses and to allowed networks. */
export const layer = (options: Options = {}): Layer.Layer<WebhookTransport> =>
  Layer.effect(WebhookTransport, make(options))
