/**
 * Media: the files of messages, and the signed links to them (contract §11.9).
 *
 * A link gives access to one file for an hour, without a key. Every read of a
 * message makes a new link; links are not stored.
 */
import { Cause, Clock, Context, DateTime, Duration, Effect, Layer, Option, Predicate, Schema, Stream } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { Ids, MediaId, OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { purgeOlderThan } from "../kernel/Loops.ts"
import { Secrets } from "../kernel/Secrets.ts"
import { Text } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { FileBytes, type FileStream, type FileUnavailable, inSlices, slice_bytes } from "./MediaBytes.ts"

// ---------------------------------------------------------------- data

export { FileAbsent, FileBytes, type FileStream, FileUnavailable, slice_bytes } from "./MediaBytes.ts"

export const MediaKind = Schema.Literals(["image", "video", "audio", "document", "sticker"])
export type MediaKind = typeof MediaKind.Type

/** A file as a provider delivers it with a message. */
export const ReceivedMedia = Schema.Struct({
  kind: MediaKind,
  mime_type: Schema.NullOr(Text),
  filename: Schema.NullOr(Text),
  transcript: Schema.NullOr(Text),
  /** The bytes; null where the provider did not deliver them. */
  bytes: Schema.NullOr(FileBytes)
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
    description: "The transcript of an audio or video file, if the provider transcribes it."
  }),
  url: Schema.NullOr(Schema.String.annotate({ format: "uri" })).annotate({
    description:
      "A link to the file. It is valid for one hour and needs no API key. Each read of the message returns a new link. An organization can have 8 downloads in progress; further ones get 503 with `Retry-After`. Null if the file is not stored because it exceeds 16 MB or the provider did not deliver it."
  })
}).annotate({ identifier: "Media", description: "The file of a message." })
export interface LinkedMedia extends Schema.Schema.Type<typeof LinkedMedia> {}

/** A stored file, with what is needed to serve it. */
export const MediaFile = Schema.Struct({
  id: MediaId,
  mime_type: Schema.NullOr(Schema.String),
  filename: Schema.NullOr(Schema.String),
  byte_size: Schema.Int
})
export interface MediaFile extends Schema.Schema.Type<typeof MediaFile> {}

export const MediaRows = Changes.removable(
  Changes.declareTable(MediaFile)({
    name: "media",
    key: { id: "uuid" }
  })
)

/** How long a file can be unfinished. After that its slices are removed. */
const unfinished_age_max = Duration.days(1)

/** How long a link is valid. */
const link_time_max = Duration.hours(1)

/**
 * The public base address of the service, without a slash at the end, with which links begin.
 *
 * With the default, links are relative.
 */
export const PublicUrl = Context.Reference<string>("@messaging-crm/core/Media/PublicUrl", { defaultValue: () => "" })

// -------------------------------------------------------------- errors

/**
 * The link is not valid, has expired, or its file was removed.
 *
 * It has no fields, so that a caller cannot distinguish these cases.
 */
export class MediaNotFound extends Schema.TaggedError<MediaNotFound>()("MediaNotFound", {}) {}

// ----------------------------------------------------------- decisions

/** Publishes the file of a message in the message's commit. Its bytes are stored already. */
export const publish = ({ byte_size, filename, id, mime_type }: MessageMedia): Changes.Changes =>
  id === null || byte_size === null ? Changes.none : MediaRows.insert({ id, mime_type, filename, byte_size })

// ---------------------------------------------------------------- port

/**
 * Port: stores the files of messages in slices.
 *
 * A file is begun, gets its slices one after the other, and can be read once a commit
 * has inserted its row.
 *
 * **Contract** (checked by `conformance/Ports/Media.ts`)
 *
 * - `find` returns a file once its row is committed.
 * - `read` returns bytes from `start`, at least one and at most `length`, exactly
 *   as they were appended; none where the file ends or was removed.
 * - Removing the row removes the bytes.
 * - `discard` removes a file that is not committed, and leaves a committed one alone.
 * - `purgeUnfinished` discards at most `limit` files that were begun before a time and never
 *   committed, and returns how many.
 * - None of them reads or writes another organization's files.
 */
export class MediaStore extends Context.Service<MediaStore, {
  readonly find: (organization_id: OrganizationId, id: MediaId) => Effect.Effect<Option.Option<MediaFile>>
  readonly read: (
    organization_id: OrganizationId,
    id: MediaId,
    range: { readonly start: number; readonly length: number }
  ) => Effect.Effect<Option.Option<Uint8Array>>
  readonly begin: (organization_id: OrganizationId, id: MediaId, at: Timestamp) => Effect.Effect<void>
  readonly append: (
    organization_id: OrganizationId,
    id: MediaId,
    slice: { readonly start: number; readonly bytes: Uint8Array }
  ) => Effect.Effect<void>
  readonly discard: (organization_id: OrganizationId, id: MediaId) => Effect.Effect<void>
  readonly purgeUnfinished: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Media/MediaStore") {}

// ---------------------------------------------------------- operations

/** The purpose of these signatures, so that a signature made for another purpose with the same key is rejected. */
const purpose = "media"

/** The fields of a media description whose file is not stored. */
const unstored = { id: null, byte_size: null }

/** A file that a link opened. */
export interface OpenedFile {
  readonly organization_id: OrganizationId
  readonly file: MediaFile
  /** The bytes from `start` up to, but not including, `end`. The stream dies if the file is removed while it is read. */
  readonly read: (start: number, end: number) => Stream.Stream<Uint8Array>
  readonly expires_in: Duration.Duration
}

const makeUrl = Effect.gen(function*() {
  const secrets = yield* Secrets

  return Effect.fnUntraced(function*(id: MediaId) {
    const { organization_id } = yield* CurrentActor
    const expires_millis = (yield* Clock.currentTimeMillis) + Duration.toMillis(link_time_max)
    const claim = [organization_id, id, expires_millis, yield* secrets.randomBase62(8)].join(".")
    return `${yield* PublicUrl}/media/${claim}.${yield* secrets.sign(purpose, claim)}`
  })
})

const makeOpen = Effect.gen(function*() {
  const secrets = yield* Secrets
  const store = yield* MediaStore

  const readerOf = (organization_id: OrganizationId, { id }: MediaFile) => (start: number, end: number) =>
    Stream.unfold(start, (at) => {
      if (at >= end) return Effect.undefined
      const slice = store.read(organization_id, id, { start: at, length: Math.min(slice_bytes, end - at) })
      return Effect.map(slice, (found) => {
        const bytes = Option.getOrThrowWith(found, () => new Cause.NoSuchElementError("The file was removed"))
        return [bytes, at + bytes.byteLength] as const
      })
    })

  return traced("Media.open")(function*(link: string) {
    const end = link.lastIndexOf(".")
    const [claim, signature] = [link.slice(0, end), link.slice(end + 1)]
    if (!(yield* secrets.verify(purpose, claim, signature))) return yield* new MediaNotFound()
    // Signed, so these are the parts that `makeUrl` put together.
    const [organization_id = "", id = "", expires_millis = ""] = claim.split(".")
    const rest_millis = Number(expires_millis) - (yield* Clock.currentTimeMillis)
    if (rest_millis <= 0) return yield* new MediaNotFound()
    const owner = OrganizationId.make(organization_id)
    const file = yield* store.find(owner, MediaId.make(id))
    if (Option.isNone(file)) return yield* new MediaNotFound()
    const read = readerOf(owner, file.value)
    return { organization_id: owner, file: file.value, read, expires_in: Duration.millis(rest_millis) }
  })
})

/** Makes the function that stores a received file around the commit that publishes it. */
const makeReceive = Effect.gen(function*() {
  const ids = yield* Ids
  const store = yield* MediaStore

  /** Stores the bytes, and returns the ID and the size of the file. */
  const storeBytes = Effect.fnUntraced(
    function*(
      organization_id: OrganizationId,
      id: MediaId,
      bytes: FileBytes
    ) {
      if (Predicate.isUint8Array(bytes) && bytes.byteLength > limits.media_bytes_max) {
        return { id: null, byte_size: bytes.byteLength }
      }
      yield* store.begin(organization_id, id, yield* DateTime.now)
      const stream: FileStream = Predicate.isUint8Array(bytes) ? Stream.make(bytes) : bytes
      const byte_size = yield* inSlices(stream, (slice) => store.append(organization_id, id, slice))
      return { id, byte_size }
    },
    Effect.catchTags({
      FileAbsent: () => Effect.succeed(unstored),
      TooLarge: () => Effect.succeed(unstored)
    })
  )

  return traced("Media.receive")(function*<A, E, R>(
    organization_id: OrganizationId,
    { bytes, ...described }: ReceivedMedia,
    commit: (media: MessageMedia) => Effect.Effect<A, E, R>
  ) {
    if (bytes === null) return yield* commit({ ...described, ...unstored })
    const id = MediaId.make(ids.next())
    return yield* storeBytes(organization_id, id, bytes).pipe(
      Effect.flatMap((stored) => commit({ ...described, ...stored })),
      Effect.ensuring(store.discard(organization_id, id))
    )
  })
})

export class Media extends Context.Service<Media, {
  /** Returns the description with a new link. No two links are equal. */
  readonly link: (media: MessageMedia) => Effect.Effect<LinkedMedia, never, CurrentActor>
  /** Returns the file of a link (the part after `/media/`). Requires no actor: the link itself grants access. */
  readonly open: (link: string) => Effect.Effect<OpenedFile, MediaNotFound>
  /**
   * Stores the bytes of a received file, and hands its description to a commit that publishes it.
   * Deletes the bytes if the commit does not publish them. Stores only the description of a file that exceeds the limit.
   */
  readonly receive: <A, E, R>(
    organization_id: OrganizationId,
    received: ReceivedMedia,
    commit: (media: MessageMedia) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | FileUnavailable, R>
  /** Removes one batch of files that no commit has published in a day, and returns their number. */
  readonly purgeUnfinished: Effect.Effect<number>
}>()("@messaging-crm/core/Media") {
  static readonly layer = Layer.effect(
    Media,
    Effect.gen(function*() {
      const store = yield* MediaStore
      const urlOf = yield* makeUrl

      const link = Effect.fnUntraced(function*({ id, ...media }: MessageMedia) {
        const linked: LinkedMedia = { ...media, url: id === null ? null : yield* urlOf(id) }
        return linked
      })

      const purgeUnfinished = purgeOlderThan(unfinished_age_max, store.purgeUnfinished, 100)
      return Media.of({ link, open: yield* makeOpen, receive: yield* makeReceive, purgeUnfinished })
    })
  )
}
