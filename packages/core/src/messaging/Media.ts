/**
 * Media: the files of messages, and the signed links to them (contract §11.9).
 *
 * A link gives access to one file for an hour, without a key. Every read of a
 * message makes a new link; links are not stored.
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

/** A file as a provider delivers it with a message. */
export const ReceivedMedia = Schema.Struct({
  kind: MediaKind,
  mime_type: Schema.NullOr(Text),
  filename: Schema.NullOr(Text),
  transcript: Schema.NullOr(Text),
  /** The bytes, in base64 in JSON; null where the provider did not deliver them. */
  bytes: Schema.NullOr(Schema.Uint8ArrayFromBase64)
})
export interface ReceivedMedia extends Schema.Schema.Type<typeof ReceivedMedia> {}

/** The description of a file, stored in its message. */
export const MessageMedia = Schema.Struct({
  /** Null where the file is not stored: the provider did not deliver it, or it is too large. */
  id: Schema.NullOr(MediaId),
  kind: MediaKind,
  mime_type: Schema.NullOr(Schema.String),
  filename: Schema.NullOr(Schema.String),
  byte_size: Schema.NullOr(Schema.Int),
  transcript: Schema.NullOr(Schema.String)
})
export interface MessageMedia extends Schema.Schema.Type<typeof MessageMedia> {}

/** The description of a file as callers see it, with a link that is valid for an hour. */
export const LinkedMedia = Schema.Struct({
  kind: MediaKind,
  mime_type: Schema.NullOr(Schema.String),
  filename: Schema.NullOr(Schema.String),
  byte_size: Schema.NullOr(Schema.Int),
  transcript: Schema.NullOr(Schema.String).annotate({
    description: "The spoken words of an audio or video file, where the provider transcribes them."
  }),
  url: Schema.NullOr(Schema.String.annotate({ format: "uri" })).annotate({
    description:
      "Gives access to the file for an hour, without a key. Each read of the message makes a new link. Null where the file is not stored: it is larger than 16 MB, or the provider did not deliver it."
  })
}).annotate({ identifier: "Media", description: "The file that came with a message." })
export interface LinkedMedia extends Schema.Schema.Type<typeof LinkedMedia> {}

/** A stored file, with what is needed to serve it. */
export interface MediaFile {
  readonly id: MediaId
  readonly mime_type: string | null
  readonly filename: string | null
  readonly bytes: Uint8Array
}

export const MediaRows = Changes.rows<MediaFile>()("media", ["id"], ["mime_type", "filename", "bytes"])

/** How long a link is valid. */
export const link_time_max = Duration.hours(1)

/**
 * The public base address of the service, without a slash at the end, with which links begin.
 *
 * With the default, links are relative.
 */
export const PublicUrl = Context.Reference<string>("@messaging-crm/core/Media/PublicUrl", { defaultValue: () => "" })

// -------------------------------------------------------------- errors

/** The link is not valid, has expired, or its file was removed. Carries nothing: a caller must not learn which. */
export class MediaNotFound extends Schema.TaggedError<MediaNotFound>()("MediaNotFound", {}) {}

// ----------------------------------------------------------- decisions

/** Stores a file and returns its description for the message. A file larger than the limit is described only. */
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

/** The purpose of these signatures, so that a signature made for another purpose with the same key is refused. */
const purpose = "media"

export class Media extends Context.Service<Media, {
  /** Returns the description with a new link. No two links are equal. */
  readonly link: (media: MessageMedia) => Effect.Effect<LinkedMedia, never, CurrentActor>
  /** Returns the file of a link (the part after `/media/`). Requires no actor: the link itself grants access. */
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
