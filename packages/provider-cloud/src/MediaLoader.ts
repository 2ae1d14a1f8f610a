/**
 * Media loader: downloads the files of received messages, as streams.
 *
 * On WhatsApp a file has an ID. A request with the ID returns a link that
 * is valid for five minutes. The other two networks send the link in the callback.
 */
import { Downloads } from "@messaging-crm/core/Downloads"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { limits } from "@messaging-crm/core/Limits"
import { FileAbsent, type FileStream, FileUnavailable } from "@messaging-crm/core/Media"
import { Context, Data, DateTime, Duration, Effect, Layer, Redacted, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { FileReference } from "./Callback.ts"
import type { CloudAccount } from "./CloudAccounts.ts"
import { CloudSettings } from "./CloudSettings.ts"
import { baseUrlOf, call, type CallError } from "./GraphClient.ts"
import { lenient } from "./GraphSchemas.ts"

/** The link has expired. */
class LinkExpired extends Data.TaggedError("LinkExpired")<{}> {}

const Link = Schema.Struct({
  url: Schema.String,
  /** A text according to the documentation, a number from some partners. */
  file_size: lenient(Schema.Union([Schema.Number, Schema.FiniteFromString]))
})
const decodeLink = Schema.decodeUnknownEffect(Link)

/** The error codes for an ID that does not exist (any more). */
const gone_codes = new Set([33, 100, 131052])

/** How many links are requested before the file counts as expired. */
const links_max = 3

const linkFailed = (error: CallError) =>
  error._tag === "Rejected" && gone_codes.has(error.reported.code) ? new FileAbsent() : new FileUnavailable()

/**
 * Port: loads the files of received messages.
 *
 * **Contract** (checked by `provider-cloud/test/MediaLoader.test.ts`)
 *
 * - A file is requested when its stream is read.
 * - A file that the network does not have any more, that is larger than the limit, or whose links have expired is
 *   `FileAbsent`. A host that is busy or broken, and a file that does not arrive in time, is `FileUnavailable`.
 * - The account's token is sent to the network and to its links, and never to an address in a callback.
 */
export class MediaLoader extends Context.Service<MediaLoader, {
  readonly load: (account: CloudAccount, file: FileReference) => FileStream
}>()("@messaging-crm/provider-cloud/MediaLoader") {
  static readonly layer = Layer.effect(
    MediaLoader,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const downloads = yield* Downloads
      const settings = yield* CloudSettings

      const open = Effect.fnUntraced(function*(url: string, headers: Readonly<Record<string, string>>) {
        const { byte_size, bytes, status } = yield* downloads.get(url, headers)
        if (status >= 500 || status === 429) return yield* new FileUnavailable()
        if (status < 200 || status > 299) return yield* new LinkExpired()
        if (byte_size !== null && byte_size > limits.media_bytes_max) return yield* new FileAbsent()
        return bytes
      })

      /** Requests a link to the file, and opens it. */
      const loadById = Effect.fnUntraced(function*(account: CloudAccount, media_id: string) {
        const about = HttpClientRequest.get(`${baseUrlOf(settings, account)}/${encodeURIComponent(media_id)}`, {
          urlParams: account.type === "phone_messaging" ? { phone_number_id: account.phone_number_id } : {}
        })
        const response = yield* Effect.mapError(call(client, account, about), linkFailed)
        const { file_size = 0, url } = yield* Effect.mapError(decodeLink(response), () => new FileUnavailable())
        if (file_size > limits.media_bytes_max) return yield* new FileAbsent()
        return yield* open(url, { authorization: `Bearer ${Redacted.value(account.token)}` })
      })

      const openFile = (account: CloudAccount, file: FileReference) =>
        "media_id" in file
          ? loadById(account, file.media_id).pipe(
            Effect.retry({ times: links_max - 1, while: ({ _tag }) => _tag === "LinkExpired" })
          )
          // The link requires no token, and the account's token must not reach its host.
          : open(file.url, {})

      const tooSlow = Effect.andThen(Effect.sleep(settings.file_time_max), new FileUnavailable())

      const load = (account: CloudAccount, file: FileReference): FileStream =>
        Stream.unwrap(Effect.catchTag(openFile(account, file), "LinkExpired", () => new FileAbsent())).pipe(
          Stream.interruptWhen(tooSlow)
        )

      return MediaLoader.of({ load })
    })
  )
}

/** How long a message may wait for its file, from the time at which its callback was received. */
const file_wait_max = Duration.hours(1)

type WithMedia = Extract<ProviderEvent, { readonly media: unknown }>

/** An event of a message whose file is downloaded when the event is stored. */
export type EventWithFile = WithMedia & { readonly media: NonNullable<WithMedia["media"]> }

/** Makes the function that stores an event with its file, or without it if the download fails after the message has waited long enough. */
export const makeStoreWithFile = Effect.gen(function*() {
  const inbound = yield* Inbound

  return (
    event: EventWithFile,
    { id, received_at }: { readonly id: string | null; readonly received_at: DateTime.Utc }
  ) => {
    const withoutFile = { ...event, media: { ...event.media, bytes: null } }
    const waitsUntil = DateTime.addDuration(received_at, file_wait_max)
    return Effect.catchTag(
      inbound.receive(event, id),
      "FileUnavailable",
      (unavailable) =>
        Effect.flatMap(
          DateTime.now,
          (now) => DateTime.isGreaterThan(now, waitsUntil) ? inbound.receive(withoutFile, id) : unavailable
        )
    )
  }
})
