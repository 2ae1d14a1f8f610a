/**
 * Media: the files that come with messages, and the links under which they are
 * read (contract §11.9).
 *
 * A link is signed, names one file, and opens it for an hour to whoever has it.
 * It is made anew for each reading of a message and kept nowhere.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { MediaId, OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Secrets } from "../kernel/Secrets.ts"
import { Text } from "../kernel/Text.ts"
import * as Changes from "../work/Changes.ts"

// ---------------------------------------------------------------- data

export const MediaKind = Schema.Literals(["image", "video", "audio", "document", "sticker"])
export type MediaKind = typeof MediaKind.Type

/** A file as a provider hands it over. */
export const ReceivedMedia = Schema.Struct({
  kind: MediaKind,
  mime_type: Schema.NullOr(Text),
  filename: Schema.NullOr(Text),
  transcript: Schema.NullOr(Text),
  /** The file, in base64 where it travels as JSON; null where the provider cannot or need not give it. */
  bytes: Schema.NullOr(Schema.Uint8ArrayFromBase64)
})
export interface ReceivedMedia extends Schema.Schema.Type<typeof ReceivedMedia> {}

/** What a message says of its file. */
export const MessageMedia = Schema.Struct({
  /** Null where the file is not kept: it was not handed over, or is too large. */
  id: Schema.NullOr(MediaId),
  kind: MediaKind,
  mime_type: Schema.NullOr(Schema.String),
  filename: Schema.NullOr(Schema.String),
  byte_size: Schema.NullOr(Schema.Int),
  transcript: Schema.NullOr(Schema.String)
})
export interface MessageMedia extends Schema.Schema.Type<typeof MessageMedia> {}

/** What a reader is told of the file, and where it is for the next hour. */
export const LinkedMedia = Schema.Struct({
  kind: MediaKind,
  mime_type: Schema.NullOr(Schema.String),
  filename: Schema.NullOr(Schema.String),
  byte_size: Schema.NullOr(Schema.Int),
  transcript: Schema.NullOr(Schema.String).annotate({
    description: "What is said in it, where somebody wrote it down."
  }),
  url: Schema.NullOr(Schema.String.annotate({ format: "uri" })).annotate({
    description:
      "Gives the file to whoever has it, without a key, for an hour. Each reading of the message makes a new one. Null for a file that is not kept: it is larger than 16 MB, or the provider did not hand it over."
  })
}).annotate({ identifier: "Media", description: "The file that came with a message." })
export interface LinkedMedia extends Schema.Schema.Type<typeof LinkedMedia> {}

/** A file as it is kept, with what it takes to hand it out. */
export interface MediaFile {
  readonly id: MediaId
  readonly mime_type: string | null
  readonly filename: string | null
  readonly bytes: Uint8Array
}

export const MediaRows = Changes.rows<MediaFile>()("media", ["id"], ["mime_type", "filename", "bytes"])

/** How long a link opens its file. */
export const link_time_max = Duration.hours(1)

/**
 * Where clients reach the service, without a slash at the end: links begin with it.
 *
 * The default makes them relative to whatever their reader takes for the base.
 */
export const PublicUrl = Context.Reference<string>("@messaging-crm/core/Media/PublicUrl", { defaultValue: () => "" })

// -------------------------------------------------------------- errors

/** The link is none of ours, has expired, or its file is gone. Which of them is not told. */
export class MediaNotFound extends Schema.TaggedError<MediaNotFound>()("MediaNotFound", {}) {}

// ----------------------------------------------------------- decisions

/** Keeps a file, and returns what its message says of it. A larger one than the limit is only described. */
export const insert = (
  { bytes, filename, kind, mime_type, transcript }: ReceivedMedia,
  uuid: () => string
): Changes.Decision<MessageMedia> => {
  const byte_size = bytes?.byteLength ?? null
  const described: MessageMedia = { id: null, kind, mime_type, filename, byte_size, transcript }
  if (bytes === null || bytes.byteLength > limits.media_bytes_max) return { answer: described, changes: Changes.none }
  const id = MediaId.make(uuid())
  return { answer: { ...described, id }, changes: MediaRows.insert({ id, mime_type, filename, bytes }) }
}

// ---------------------------------------------------------------- port

/**
 * Port: where the files of messages are read.
 *
 * **Contract** (checked by `conformance/Media.ts`)
 *
 * - `find` returns a file with the exact bytes that were committed, up to the limit.
 * - It never reads another organization's files.
 */
export class MediaStore extends Context.Service<MediaStore, {
  readonly find: (organization_id: OrganizationId, id: MediaId) => Effect.Effect<Option.Option<MediaFile>>
}>()("@messaging-crm/core/Media/MediaStore") {}

// ---------------------------------------------------------- operations

/** What the signatures of links are for, so that no other signature under the same key passes for one. */
const purpose = "media"

export class Media extends Context.Service<Media, {
  /** Makes a link to the file of one of the current actor's messages. No two links are the same. */
  readonly link: (media: MessageMedia) => Effect.Effect<LinkedMedia, never, CurrentActor>
  /** Opens what follows `/media/` in a link. It needs no actor: whoever has the link may. */
  readonly open: (
    link: string
  ) => Effect.Effect<{ readonly file: MediaFile; readonly expires_in: Duration.Duration }, MediaNotFound>
}>()("@messaging-crm/core/Media") {
  static readonly layer = Layer.effect(
    Media,
    Effect.gen(function*() {
      const secrets = yield* Secrets
      const store = yield* MediaStore

      const urlOf = Effect.fnUntraced(function*(id: MediaId) {
        const { organization_id } = yield* CurrentActor
        const expires_millis = (yield* Clock.currentTimeMillis) + Duration.toMillis(link_time_max)
        const claim = [organization_id, id, expires_millis, yield* secrets.randomBase62(8)].join(".")
        return `${yield* PublicUrl}/media/${claim}.${yield* secrets.sign(purpose, claim)}`
      })

      const link = Effect.fnUntraced(function*({ id, ...media }: MessageMedia) {
        const linked: LinkedMedia = { ...media, url: id === null ? null : yield* urlOf(id) }
        return linked
      })

      const open = Effect.fn("Media.open")(function*(link: string) {
        const end = link.lastIndexOf(".")
        const [claim, signature] = [link.slice(0, end), link.slice(end + 1)]
        if (!(yield* secrets.verify(purpose, claim, signature))) return yield* new MediaNotFound()
        // Signed, so these are the parts that `urlOf` put together.
        const [organization_id = "", id = "", expires_millis = ""] = claim.split(".")
        const rest_millis = Number(expires_millis) - (yield* Clock.currentTimeMillis)
        if (rest_millis <= 0) return yield* new MediaNotFound()
        const file = yield* store.find(OrganizationId.make(organization_id), MediaId.make(id))
        if (Option.isNone(file)) return yield* new MediaNotFound()
        return { file: file.value, expires_in: Duration.millis(rest_millis) }
      })

      return Media.of({ link, open })
    })
  )
}
