/** How the tests of files start: received files are stored, and read again. */
import { assert } from "@effect/vitest"
import { Ids, MediaId, type OrganizationId } from "@messaging-crm/core/Ids"
import { Media, MediaStore, publish, type ReceivedMedia, slice_bytes } from "@messaging-crm/core/Media"
import { RootKeys, Secrets } from "@messaging-crm/core/Secrets"
import { DateTime, Effect, Layer, Option, Redacted } from "effect"
import * as Fixtures from "../../Fixtures.ts"

/** Stores a received file as an inbound message does. */
export const receive = (organization_id: OrganizationId, received: ReceivedMedia) =>
  Media.use((media) =>
    media.receive(
      organization_id,
      received,
      (described) => Effect.as(Fixtures.mustCommit(organization_id, publish(described)), described)
    )
  )

export const exists = (organization_id: OrganizationId, id: MediaId) =>
  Effect.map(
    MediaStore.use((store) => store.read(organization_id, id, { start: 0, length: 1 })),
    Option.isSome
  )

/** A file of one byte that no commit has published yet. */
export const unpublished = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const store = yield* MediaStore
  const id = MediaId.make(yield* Fixtures.uuid)
  yield* store.begin(organization_id, id, yield* DateTime.now)
  yield* store.append(organization_id, id, { start: 0, bytes: Uint8Array.of(1) })
  return { id, mime_type: null, filename: null, byte_size: 1 }
})

/** Returns the bytes of a file from `start` on, as its store returns them in slices. */
export const bytesFrom = Effect.fnUntraced(function*(organization_id: OrganizationId, id: MediaId, start = 0) {
  const store = yield* MediaStore
  const slices: Array<Uint8Array> = []
  for (let at = start;;) {
    const slice = yield* store.read(organization_id, id, { start: at, length: slice_bytes })
    if (Option.isNone(slice)) return Buffer.concat(slices)
    assert.isAtMost(slice.value.byteLength, slice_bytes)
    slices.push(slice.value)
    at += slice.value.byteLength
  }
})

/** Layer for the operations with these root keys. It is fresh: layers are memoized, and two tests must not share keys. */
export const operations = (...keys: ReadonlyArray<number>) =>
  Media.layer.pipe(
    Layer.provide([Secrets.layer, Ids.layer]),
    Layer.provide(Layer.succeed(RootKeys, keys.map((key) => Redacted.make(new Uint8Array(32).fill(key))))),
    Layer.fresh
  )

/** A received voice message. */
export const voice: ReceivedMedia = {
  kind: "audio",
  mime_type: "audio/ogg; codecs=opus",
  filename: null,
  transcript: "Hello?",
  bytes: Uint8Array.of(1, 2, 3)
}
