/** Responses that are the same for every request: prepared once and compressed. A client that has the version gets 304. */
import { Digests } from "@messaging-crm/core/Digests"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { addResponseHeaders } from "./middleware/Headers.ts"

const encoder = new TextEncoder()

const gzip = (text: string) =>
  Effect.promise(async () => {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))
    return new Uint8Array(await new Response(stream).arrayBuffer())
  })

const zero_quality = /;\s*q=0(?:\.0*)?\s*$/i

/** Returns whether an `Accept-Encoding` header accepts gzip. */
export const acceptsGzip = (header = ""): boolean => {
  const named = header.split(",").find((each) => /^\s*(?:x-)?gzip\s*(?:;|$)/i.test(each))
  const any = header.split(",").find((each) => /^\s*\*\s*(?:;|$)/.test(each))
  const decisive = named ?? any
  return decisive !== undefined && !zero_quality.test(decisive)
}

/** Returns whether an `If-None-Match` header contains this ETag. */
export const matchesETag = (header = "", etag: string): boolean =>
  header.split(",").some((each) => [etag, "*"].includes(each.trim().replace(/^W\//, "")))

/** Caches can store the response and must revalidate it each time, because a new release can have another one. */
const revalidated = { "cache-control": "no-cache" }

/** One encoding of the response. */
interface Form {
  readonly etag: string
  readonly bytes: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Prepares a response, and returns the effect that responds to each request with it. */
export const prepare = Effect.fnUntraced(function*(
  { content_type, headers = {}, text }: {
    readonly content_type: string
    readonly headers?: Readonly<Record<string, string>>
    readonly text: string
  }
) {
  const { sha256 } = yield* Digests
  const version = (yield* sha256(text)).slice(0, 32)
  const plain: Form = { etag: `"${version}"`, bytes: encoder.encode(text), headers: {} }
  const compressed: Form = {
    etag: `"${version}-gzip"`,
    bytes: yield* gzip(text),
    headers: { "content-encoding": "gzip" }
  }
  return Effect.gen(function*() {
    const { headers: requestHeaders } = yield* HttpServerRequest.HttpServerRequest
    const form = acceptsGzip(requestHeaders["accept-encoding"]) ? compressed : plain
    // Otherwise the header of every response, `no-store`, would replace this one.
    yield* addResponseHeaders(revalidated)
    const versioned = { ...revalidated, vary: "accept-encoding", etag: form.etag }
    if (matchesETag(requestHeaders["if-none-match"], form.etag)) {
      return HttpServerResponse.empty({ status: 304, headers: versioned })
    }
    const all = { ...headers, ...versioned, ...form.headers }
    return HttpServerResponse.uint8Array(form.bytes, { contentType: content_type, headers: all })
  })
})
