/**
 * Posts webhooks with undici to endpoints that may be hostile.
 *
 * Each attempt resolves the name once, checks every address, connects to one
 * of those very addresses and ends with its connection: no attempt shares
 * anything with another, and interrupting one closes its socket.
 */
import {
  AllowedAddresses,
  type WebhookAnswer,
  type WebhookRequest,
  WebhookTransport,
  WebhookUnanswered
} from "@messaging-crm/core/WebhookTransport"
import { type Duration, Effect, Fiber, Layer } from "effect"
import { isIP, type Socket } from "node:net"
import { Client, type Dispatcher } from "undici"
import { isPublic } from "./WebhookTransport/Addresses.ts"
import { failureOf, hostOf, open } from "./WebhookTransport/Connection.ts"
import { type Resolve, resolve } from "./WebhookTransport/Names.ts"

export interface Options {
  /** When an attempt ends, whatever the endpoint does: 15 seconds. */
  readonly deadline?: Duration.Input
  /** How names become addresses: by asking the name servers. */
  readonly resolve?: Resolve
}

const connect_timeout = "5 seconds"
const read_bytes_max = 16_384
const kept_bytes_max = 4096

const unanswered = (failure_code: WebhookUnanswered["failure_code"]) =>
  Effect.fail(new WebhookUnanswered({ failure_code }))

/** Sends the request over a connection that is there, and waits for the status. */
const ask = Effect.fnUntraced(function*(url: URL, socket: Socket, { body, headers }: WebhookRequest) {
  const client = yield* Effect.acquireRelease(
    Effect.sync(() =>
      new Client(url.origin, {
        // Undici overlooks an answer that comes before `connect` has returned.
        connect: (_options, answer) => queueMicrotask(() => answer(null, socket)),
        headersTimeout: 0,
        bodyTimeout: 0
      })
    ),
    (client) => Effect.promise(() => client.destroy())
  )
  return yield* Effect.tryPromise({
    try: (signal) =>
      client.request({
        path: url.pathname + url.search,
        method: "POST",
        headers,
        body,
        signal,
        reset: true,
        highWaterMark: read_bytes_max
      }),
    catch: (error) => failureOf(error, "protocol_error")
  })
})

/** Reads into `kept` until the body ends, breaks off, or is long enough. Whichever it is says nothing about the delivery. */
const read = (body: Dispatcher.ResponseData["body"], kept: Array<Uint8Array>) =>
  Effect.ignore(Effect.tryPromise(async () => {
    let bytes = 0
    for await (const chunk of body) {
      kept.push(chunk)
      bytes += chunk.byteLength
      if (bytes >= read_bytes_max) return
    }
  }))

/** Returns the beginning of a body as text that a database can hold: what is no UTF-8, and NUL, becomes U+FFFD. */
const textOf = (chunks: ReadonlyArray<Uint8Array>): string => {
  const bytes = Buffer.concat(chunks).subarray(0, kept_bytes_max)
  // Streaming, so that a character that was cut in half is left out.
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll("\u0000", "\uFFFD")
  // A replaced byte is three bytes long, so the text may have outgrown the limit.
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(kept_bytes_max)).read)
}

const make = Effect.fnUntraced(function*(options: Options) {
  const deadline = options.deadline ?? "15 seconds"
  const lookup = options.resolve ?? resolve
  const allowed = yield* AllowedAddresses

  /** Public addresses get https only; http stays in networks that are allowed. */
  const mayMeet = (url: URL) => (address: string) =>
    allowed?.(address) === true || (url.protocol === "https:" && isPublic(address))

  const addressesOf = Effect.fnUntraced(function*(url: URL) {
    const host = hostOf(url)
    const addresses = isIP(host) === 0 ? yield* lookup(host) : [host]
    if (addresses.length === 0) return yield* unanswered("dns_error")
    if (!addresses.every(mayMeet(url))) return yield* unanswered("blocked_address")
    return addresses
  })

  const connect = (url: URL) =>
    Effect.flatMap(addressesOf(url), (addresses) => open(url, addresses)).pipe(
      Effect.timeoutOrElse({ duration: connect_timeout, orElse: () => unanswered("timeout") })
    )

  const post = Effect.fnUntraced(function*(request: WebhookRequest) {
    const url = new URL(request.url)
    const expiry = Fiber.join(yield* Effect.forkScoped(Effect.sleep(deadline)))
    const response = yield* Effect.flatMap(connect(url), (socket) => ask(url, socket, request)).pipe(
      Effect.raceFirst(Effect.andThen(expiry, unanswered("timeout")))
    )
    const kept: Array<Uint8Array> = []
    yield* Effect.raceFirst(read(response.body, kept), expiry)
    const { "retry-after": retry_after = null } = response.headers
    return {
      status: response.statusCode,
      body: textOf(kept),
      retry_after: Array.isArray(retry_after) ? retry_after.join(", ") : retry_after
    } satisfies WebhookAnswer
  }, Effect.scoped)

  return WebhookTransport.of({ post })
})

/** Layer that posts webhooks over HTTP/1.1, to public addresses and those that are allowed. */
export const layer = (options: Options = {}): Layer.Layer<WebhookTransport> =>
  Layer.effect(WebhookTransport, make(options))
