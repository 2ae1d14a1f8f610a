/**
 * Posts webhooks with undici to endpoints that may be hostile.
 *
 * Each attempt resolves the name once, checks every address, connects to one
 * of those very addresses and ends with its connection: no attempt shares
 * anything with another, and interrupting one closes its socket.
 */
import { limits } from "@messaging-crm/core/Limits"
import {
  AllowedAddresses,
  type WebhookRequest,
  WebhookRequestFailed,
  WebhookTransport
} from "@messaging-crm/core/WebhookTransport"
import { type Duration, Effect, Layer } from "effect"
import { isIP, type Socket } from "node:net"
import { Client } from "undici"
import { isPublic } from "./WebhookTransport/Addresses.ts"
import { failureOf, hostOf, open } from "./WebhookTransport/Connection.ts"
import { type Resolve, resolve } from "./WebhookTransport/Names.ts"

export interface Options {
  /** The timeout of a whole attempt: 15 seconds. */
  readonly deadline?: Duration.Input
  /** The name resolution: it queries the name servers. */
  readonly resolve?: Resolve
}

const connect_timeout = "5 seconds"
const read_bytes_max = 16_384
const kept_bytes_max = limits.webhook_response_bytes_max

const unanswered = (failure_code: WebhookRequestFailed["failure_code"]) =>
  Effect.fail(new WebhookRequestFailed({ failure_code }))

/** The part of an answer that has been read: its status, and the beginning of its body as text. */
interface Coming {
  status: number | null
  retry_after: string | null
  text: string
  bytes: number
}

/** Opens an HTTP/1.1 client over an existing connection. */
const speak = (url: URL, socket: Socket) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      new Client(url.origin, {
        // Undici ignores an answer that arrives before `connect` has returned.
        connect: (_options, answer) => queueMicrotask(() => answer(null, socket)),
        headersTimeout: 0,
        bodyTimeout: 0
      })
    ),
    (client) => Effect.promise(() => client.destroy())
  )

/**
 * Sends the request and fills in the answer until its body ends, breaks off or
 * is long enough. Which of the three happens does not change the outcome.
 *
 * A stream of the body would be simpler, but its chunks stay in memory until V8's
 * next full garbage collection: an endless answer could fill the memory.
 */
const ask = (client: Client, url: URL, { body, headers }: WebhookRequest, answer: Coming) =>
  Effect.callback<void, WebhookRequestFailed>((resume) => {
    const decoder = new TextDecoder()
    client.dispatch({ path: url.pathname + url.search, method: "POST", headers, body, reset: true }, {
      onRequestStart: () => {},
      onResponseStart: (_controller, status, { "retry-after": retry_after = null }) => {
        if (status < 200) return
        answer.status = status
        answer.retry_after = Array.isArray(retry_after) ? retry_after.join(", ") : retry_after
      },
      onResponseData: (controller, chunk) => {
        const room = Math.max(kept_bytes_max - answer.bytes, 0)
        // Streaming, so that an incomplete character at the end is left out.
        answer.text += decoder.decode(chunk.subarray(0, room), { stream: true })
        answer.bytes += chunk.byteLength
        if (answer.bytes < read_bytes_max) return
        controller.pause()
        resume(Effect.void)
      },
      onResponseEnd: () => resume(Effect.void),
      onResponseError: (_controller, error) =>
        resume(answer.status === null ? Effect.fail(failureOf(error, "protocol_error")) : Effect.void)
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
  const lookup = options.resolve ?? resolve
  const allowed = yield* AllowedAddresses

  /** Public addresses require https. http is for allowed networks only. */
  const mayConnectTo = (url: URL) => (address: string) =>
    allowed?.(address) === true || (url.protocol === "https:" && isPublic(address))

  const addressesOf = Effect.fnUntraced(function*(url: URL) {
    const host = hostOf(url)
    const addresses = isIP(host) === 0 ? yield* lookup(host) : [host]
    if (addresses.length === 0) return yield* unanswered("dns_error")
    if (!addresses.every(mayConnectTo(url))) return yield* unanswered("blocked_address")
    return addresses
  })

  const connect = (url: URL) =>
    Effect.flatMap(addressesOf(url), (addresses) => open(url, addresses)).pipe(
      Effect.timeoutOrElse({ duration: connect_timeout, orElse: () => unanswered("timeout") })
    )

  const post = Effect.fnUntraced(function*(request: WebhookRequest) {
    const url = new URL(request.url)
    const answer: Coming = { status: null, retry_after: null, text: "", bytes: 0 }
    yield* connect(url).pipe(
      Effect.flatMap((socket) => speak(url, socket)),
      Effect.flatMap((client) => ask(client, url, request, answer)),
      Effect.timeoutOption(deadline)
    )
    const { retry_after, status, text } = answer
    return status === null ? yield* unanswered("timeout") : { status, retry_after, body: storable(text) }
  }, Effect.scoped)

  return WebhookTransport.of({ post })
})

/** Layer that posts webhooks over HTTP/1.1 to public addresses and to allowed networks. */
export const layer = (options: Options = {}): Layer.Layer<WebhookTransport> =>
  Layer.effect(WebhookTransport, make(options))
