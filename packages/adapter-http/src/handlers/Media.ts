import { Media, type MediaFile } from "@messaging-crm/core/Media"
import { Duration, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Errors from "../api/Errors.ts"
import { answerWith } from "../middleware/Headers.ts"
import { contentDisposition, contentType, rangeOf } from "./FileHeaders.ts"

const respond = (file: MediaFile, { headers: asked, method }: HttpServerRequest.HttpServerRequest) => {
  // The bytes of an id never change, so the id is the version.
  const etag = `"${file.id}"`
  const size = file.bytes.byteLength
  const isCurrent = asked["if-range"] === undefined || asked["if-range"] === etag
  const range = method === "GET" && isCurrent ? rangeOf(asked["range"] ?? "", size) : null
  const headers = {
    "accept-ranges": "bytes",
    "content-disposition": contentDisposition(file),
    "content-security-policy": "default-src 'none'; sandbox",
    etag
  }
  const options = { contentType: contentType(file), headers }
  if (range === null) return HttpServerResponse.uint8Array(file.bytes, options)
  const { end, start } = range
  return HttpServerResponse.uint8Array(file.bytes.subarray(start, end), {
    ...options,
    status: 206,
    headers: { ...headers, "content-range": `bytes ${start}-${end - 1}/${size}` }
  })
}

const absent = Effect.map(
  Errors.make("not_found", "The link leads to nothing, or has expired. Read the message again for a new one."),
  (body) => HttpServerResponse.jsonUnsafe(body, { status: 404 })
)

/** Layer that answers `/media/{link}`: the link is all the caller needs, so no step of the API stands before it. */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const media = yield* Media

  const answer = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { link = "" } = yield* HttpRouter.params
    const { expires_in, file } = yield* media.open(link)
    yield* answerWith({ "cache-control": `private, max-age=${Math.floor(Duration.toSeconds(expires_in))}, immutable` })
    return respond(file, request)
  }).pipe(Effect.catchTag("MediaNotFound", () => absent))

  yield* router.add("GET", "/media/:link", answer)
}))
