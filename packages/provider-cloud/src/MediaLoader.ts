/**
 * Media loader: downloads the files of received messages.
 *
 * On phone messaging a file has an id. A request with the id returns a link that
 * is valid for five minutes. The other two networks send the link in the callback.
 */
import { limits } from "@messaging-crm/core/Limits"
import { Context, Data, Effect, Layer, Option, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import type { FileReference } from "./Callback.ts"
import type { CloudAccount } from "./CloudAccounts.ts"
import { CloudSettings } from "./CloudSettings.ts"
import { call, type CallError, rootOf } from "./Graph.ts"
import { lenient } from "./Wire.ts"

/** The file cannot be loaded at the moment. A later attempt may succeed. */
export class FileUnavailable extends Data.TaggedError("FileUnavailable")<{}> {}

/** The file does not exist, or is larger than the limit. */
class NoFile extends Data.TaggedError("NoFile")<{}> {}

/** The link has expired. */
class LinkExpired extends Data.TaggedError("LinkExpired")<{}> {}

const Link = Schema.Struct({
  url: Schema.String,
  /** A text according to the documentation, a number from some partners. */
  file_size: lenient(Schema.Union([Schema.Number, Schema.FiniteFromString]))
})
const decodeLink = Schema.decodeUnknownEffect(Link)

/** The error codes for an id that does not exist (any more). */
const gone_codes = new Set([33, 100, 131052])

/** How many links are requested before the file counts as expired. */
const links_max = 3

/** Only http and https links are opened. */
const web = /^https?:\/\/./i

const linkFailed = (error: CallError) =>
  error._tag === "Refused" && gone_codes.has(error.refusal.code) ? new NoFile() : new FileUnavailable()

/** Reads a file as a stream, and fails as soon as it exceeds the limit. */
const bytesOf = Effect.fnUntraced(function*(response: HttpClientResponse.HttpClientResponse) {
  if (Number(response.headers["content-length"] ?? 0) > limits.media_bytes_max) return yield* new NoFile()
  let byte_size = 0
  const slices = yield* response.stream.pipe(
    Stream.mapError(() => new FileUnavailable()),
    Stream.mapEffect((slice) => {
      byte_size += slice.byteLength
      return byte_size > limits.media_bytes_max ? Effect.fail(new NoFile()) : Effect.succeed(slice)
    }),
    Stream.runCollect
  )
  const bytes = new Uint8Array(byte_size)
  let at = 0
  for (const slice of slices) {
    bytes.set(slice, at)
    at += slice.byteLength
  }
  return bytes
})

/** Port: loads the files of received messages. */
export class MediaLoader extends Context.Service<MediaLoader, {
  /** Returns a file; none where it does not exist or is larger than the limit. */
  readonly load: (
    account: CloudAccount,
    file: FileReference
  ) => Effect.Effect<Option.Option<Uint8Array>, FileUnavailable>
}>()("@messaging-crm/provider-cloud/MediaLoader") {
  static readonly layer = Layer.effect(
    MediaLoader,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const settings = yield* CloudSettings

      const open = Effect.fnUntraced(function*(request: HttpClientRequest.HttpClientRequest) {
        if (!web.test(request.url)) return yield* new NoFile()
        const response = yield* Effect.mapError(client.execute(request), () => new FileUnavailable())
        if (response.status >= 500 || response.status === 429) return yield* new FileUnavailable()
        if (response.status < 200 || response.status > 299) return yield* new LinkExpired()
        return yield* bytesOf(response)
        // The link itself grants access, so it must not appear in traces.
      }, Effect.withTracerEnabled(false))

      /** Requests a link to the file, and opens it. */
      const loadById = Effect.fnUntraced(function*(account: CloudAccount, media_id: string) {
        const about = HttpClientRequest.get(`${rootOf(settings, account)}/${encodeURIComponent(media_id)}`, {
          urlParams: account.type === "phone_messaging" ? { phone_number_id: account.phone_number_id } : {}
        })
        const answer = yield* Effect.mapError(call(client, account, about), linkFailed)
        const { file_size = 0, url } = yield* Effect.mapError(decodeLink(answer), () => new FileUnavailable())
        if (file_size > limits.media_bytes_max) return yield* new NoFile()
        return yield* open(HttpClientRequest.bearerToken(HttpClientRequest.get(url), account.token))
      })

      const load = Effect.fn("MediaLoader.load")((account: CloudAccount, file: FileReference) =>
        ("media_id" in file
          ? loadById(account, file.media_id).pipe(
            Effect.retry({ times: links_max - 1, while: ({ _tag }) => _tag === "LinkExpired" })
          )
          // Such a link needs no token, and its host must not get ours.
          : open(HttpClientRequest.get(file.url))).pipe(
            Effect.map(Option.some),
            Effect.catchTags({
              LinkExpired: () => Effect.succeed(Option.none<Uint8Array>()),
              NoFile: () => Effect.succeed(Option.none<Uint8Array>())
            }),
            Effect.timeoutOrElse({
              duration: settings.file_time_max,
              orElse: () => Effect.fail(new FileUnavailable())
            })
          )
      )

      return MediaLoader.of({ load })
    })
  )
}
