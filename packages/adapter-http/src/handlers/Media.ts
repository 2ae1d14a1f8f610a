import type { OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { Media, type MediaFile, type OpenedFile } from "@messaging-crm/core/Media"
import { Turns } from "@messaging-crm/core/Turns"
import { Clock, Context, Duration, Effect, Option, Stream } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { addResponseHeaders } from "../middleware/Headers.ts"
import { contentDisposition, contentType, rangeOf } from "./FileHeaders.ts"

/** The time limit of a download. After that its connection is closed, and the client can request the rest as a range. */
export const DownloadTime = Context.Reference<Duration.Duration>(
  "@messaging-crm/adapter-http/handlers/Media/DownloadTime",
  { defaultValue: () => Duration.minutes(10) }
)

/** How many files a process sends at once. A reference, so that a test can set it. */
export const DownloadsAtOnce = Context.Reference<{ readonly of_all: number; readonly of_one: number }>(
  "@messaging-crm/adapter-http/handlers/Media/DownloadsAtOnce",
  { defaultValue: () => ({ of_all: limits.downloads_max, of_one: limits.organization_downloads_max }) }
)

/** The status and headers of a response, and the part of the file that it contains. */
const planOf = (file: MediaFile, { headers: requestHeaders, method }: HttpServerRequest.HttpServerRequest) => {
  // The bytes of an ID never change, so the ID is the version.
  const etag = `"${file.id}"`
  const size = file.byte_size
  const isCurrent = requestHeaders["if-range"] === undefined || requestHeaders["if-range"] === etag
  const range = method === "GET" && isCurrent ? rangeOf(requestHeaders["range"] ?? "", size) : null
  const headers = {
    "accept-ranges": "bytes",
    "content-disposition": contentDisposition(file),
    "content-security-policy": "default-src 'none'; sandbox",
    "content-type": contentType(file),
    etag
  }
  if (range === null) return { status: 200, headers, start: 0, end: size }
  const { end, start } = range
  return { status: 206, headers: { ...headers, "content-range": `bytes ${start}-${end - 1}/${size}` }, start, end }
}

type Plan = ReturnType<typeof planOf>

/** The bytes, read slice by slice as the client reads them, until the time limit. */
const bytesOf = Effect.fnUntraced(function*({ read }: OpenedFile, { end, start }: Plan) {
  const until_millis = (yield* Clock.currentTimeMillis) + Duration.toMillis(yield* DownloadTime)
  const inTime = Effect.flatMap(Clock.currentTimeMillis, (now) => now < until_millis ? Effect.void : Effect.interrupt)
  return Stream.tap(read(start, end), () => inTime)
})

const absent = Errors.respondWith(Texts.mediaLinkInvalid, { status: 404 })

/** How long a download waits for a slot. */
export const DownloadWait = Context.Reference<Duration.Duration>(
  "@messaging-crm/adapter-http/handlers/Media/DownloadWait",
  { defaultValue: () => Duration.seconds(1) }
)

const overloaded = Errors.respondWith(Texts.tooManyDownloads, { status: 503, headers: { "retry-after": "1" } })

/** Layer that serves `/media/{link}`: the link grants access, so the request passes no step of the API. */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const media = yield* Media
  const { of_all, of_one } = yield* DownloadsAtOnce
  const turns = new Turns<OrganizationId>({ places: of_all, share: of_one })

  /** Takes a turn until the response is sent. A link has no key, so the turns are those of organizations. */
  const download = Effect.fnUntraced(function*(opened: OpenedFile, plan: Plan) {
    const turn = turns.acquire(opened.organization_id)
    if (Option.isNone(yield* Effect.timeoutOption(turn, yield* DownloadWait))) return yield* overloaded
    const { end, headers, start, status } = plan
    const contentLength = end - start
    return HttpServerResponse.stream(yield* bytesOf(opened, plan), { status, headers, contentLength })
  })

  const serve = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { link = "" } = yield* HttpRouter.params
    const opened = yield* media.open(link)
    const plan = planOf(opened.file, request)
    const max_age = Math.floor(Duration.toSeconds(opened.expires_in))
    const cached = { "cache-control": `private, max-age=${max_age}, immutable` }
    if (request.method === "HEAD") {
      const headers = { ...plan.headers, "content-length": String(plan.end - plan.start) }
      yield* addResponseHeaders(cached)
      return HttpServerResponse.empty({ status: plan.status, headers })
    }
    const response = yield* download(opened, plan)
    if (response.status < 400) yield* addResponseHeaders(cached)
    return response
  }).pipe(Effect.catchTag("MediaNotFound", () => absent))

  yield* router.add("GET", "/media/:link", serve)
}))
