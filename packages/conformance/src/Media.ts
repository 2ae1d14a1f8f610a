/** The promises of `MediaStore`, and of links to its files, as tests. */
import { assert, describe } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Ids, MediaId, type OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import {
  insert,
  Media,
  type MediaFile,
  MediaRows,
  MediaStore,
  PublicUrl,
  type ReceivedMedia
} from "@messaging-crm/core/Media"
import { RootKeys, Secrets } from "@messaging-crm/core/Secrets"
import { TagRows } from "@messaging-crm/core/Tags"
import { Arbitrary, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { bytes, optionalHardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import type { It, Options } from "./Fixtures.ts"

const write = Effect.fnUntraced(function*(organization_id: OrganizationId, fields: Partial<MediaFile> = {}) {
  const id = MediaId.make(yield* Fixtures.uuid)
  const file: MediaFile = { id, mime_type: "image/png", filename: null, bytes: Uint8Array.of(1, 2, 3), ...fields }
  yield* Fixtures.write(organization_id, MediaRows.insert(file))
  return file
})

/** Stores a received file as an inbound message does. */
const keep = Effect.fnUntraced(function*(organization_id: OrganizationId, received: ReceivedMedia) {
  const { uuid } = yield* Fixtures.fresh
  const { answer, changes } = insert(received, uuid)
  yield* Fixtures.write(organization_id, changes)
  return answer
})

const find = (organization_id: OrganizationId, id: MediaId) =>
  MediaStore.use((store) => store.find(organization_id, id))

/** Bytes as an array, since a store may return any kind of `Uint8Array`. */
const plain = (file: MediaFile) => ({ ...file, bytes: Array.from(file.bytes) })

/** Layer for the operations with these root keys. It is fresh: layers are memoized, and two tests must not share keys. */
const operations = (...keys: ReadonlyArray<number>) =>
  Media.layer.pipe(
    Layer.provide([Secrets.layer, Ids.layer]),
    Layer.provide(Layer.succeed(RootKeys, keys.map((key) => Redacted.make(new Uint8Array(32).fill(key))))),
    Layer.fresh
  )

const voice: ReceivedMedia = {
  kind: "audio",
  mime_type: "audio/ogg; codecs=opus",
  filename: null,
  transcript: "Hello?",
  bytes: Uint8Array.of(1, 2, 3)
}

/** Stores a file, and returns the token at the end of a link to it. */
const keepAndLink = Effect.fnUntraced(function*(organization_id: OrganizationId, received = voice) {
  const media = yield* Media
  const { url } = yield* media.link(yield* keep(organization_id, received)).pipe(
    Effect.provideService(CurrentActor, { organization_id, member_id: null })
  )
  return (url ?? "").replace(/^.*\/media\//, "")
})

const open = (link: string) => Media.use((media) => media.open(link))

const links = (it: It, { runs }: Options) => {
  it.effect("begin where the service is reached, open the file for an hour, and no two are the same", () =>
    Effect.gen(function*() {
      const media = yield* Media
      const organization_id = yield* Fixtures.organization
      const stored = yield* keep(organization_id, voice)
      assert.deepStrictEqual({ ...stored, id: null }, {
        id: null,
        kind: "audio",
        mime_type: "audio/ogg; codecs=opus",
        filename: null,
        byte_size: 3,
        transcript: "Hello?"
      })
      const linked = yield* media.link(stored).pipe(
        Effect.provideService(PublicUrl, "https://crm.example/here"),
        Effect.replicateEffect(2),
        Effect.provideService(CurrentActor, { organization_id, member_id: null })
      )
      const [first = "", second = ""] = linked.map(({ url }) => url ?? "")
      assert.notStrictEqual(first, second)
      assert.match(first, /^https:\/\/crm\.example\/here\/media\/[\w.-]+$/)
      const link = first.replace(/^.*\//, "")
      const { expires_in, file } = yield* open(link)
      assert.deepStrictEqual(Array.from(file.bytes), [1, 2, 3])
      assert.strictEqual(Duration.toMillis(expires_in), 3_600_000)
      yield* TestClock.adjust("3599999 millis")
      assert.strictEqual(Duration.toMillis((yield* open(link)).expires_in), 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Effect.flip(open(link)))._tag, "MediaNotFound")
    }).pipe(Effect.provide(operations(1))))

  it.effect.prop("open nothing once a character of them is another", {
    place: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 128 })))
  }, ({ place }) =>
    Effect.gen(function*() {
      const link = yield* keepAndLink(yield* Fixtures.organization)
      const other = link[place] === "0" ? "1" : "0"
      const forged = `${link.slice(0, place)}${other}${link.slice(place + 1)}`
      assert.strictEqual((yield* Effect.flip(open(forged)))._tag, "MediaNotFound")
      assert.strictEqual((yield* open(link)).file.bytes.byteLength, 3)
    }).pipe(Effect.provide(operations(1))), { arbitrary: { runs } })

  it.effect("are invalid when they are signed with another key, or when the file does not exist", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const stranger = yield* Effect.provide(keepAndLink(ours), operations(2))
      assert.strictEqual((yield* Effect.flip(open(stranger)))._tag, "MediaNotFound")
      for (const link of ["", ".", "...", "a.b.c.d.e", stranger.slice(0, -33)]) {
        assert.strictEqual((yield* Effect.flip(open(link)))._tag, "MediaNotFound")
      }
      const { url } = yield* Media.use((media) =>
        media.link({
          id: MediaId.make(ours),
          kind: "image",
          mime_type: null,
          filename: null,
          byte_size: 1,
          transcript: null
        })
      ).pipe(Effect.provideService(CurrentActor, { organization_id: ours, member_id: null }))
      assert.strictEqual((yield* Effect.flip(open((url ?? "").slice("/media/".length))))._tag, "MediaNotFound")
    }).pipe(Effect.provide(operations(1))))

  it.effect("still open when the root key was rotated", () =>
    Effect.gen(function*() {
      const link = yield* Effect.provide(
        Effect.flatMap(Fixtures.organization, (ours) => keepAndLink(ours)),
        operations(1)
      )
      assert.strictEqual((yield* Effect.provide(open(link), operations(2, 1))).file.bytes.byteLength, 3)
    }))

  it.effect("are not made to a file that is too large or was not handed over: it is only described", () =>
    Effect.gen(function*() {
      const media = yield* Media
      const organization_id = yield* Fixtures.organization
      const stored = yield* Effect.forEach([
        { ...voice, bytes: new Uint8Array(limits.media_bytes_max + 1) },
        { ...voice, bytes: null }
      ], (received) => keep(organization_id, received))
      assert.deepStrictEqual(stored.map(({ byte_size, id }) => [byte_size, id]), [[limits.media_bytes_max + 1, null], [
        null,
        null
      ]])
      const linked = yield* Effect.forEach(stored, media.link).pipe(
        Effect.provideService(CurrentActor, { organization_id, member_id: null })
      )
      assert.deepStrictEqual(linked.map(({ url }) => url), [null, null])
    }).pipe(Effect.provide(operations(1))))
}

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns a file as it was stored", {
    bytes,
    mime_type: optionalHardText({ min: 1, max: 100 }),
    filename: optionalHardText({ min: 1, max: 200 })
  }, (fields) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [file, other] = [yield* write(ours, fields), yield* write(ours)]
      assert.deepStrictEqual(Option.map(yield* find(ours, file.id), plain), Option.some(plain(file)))
      assert.deepStrictEqual(Option.map(yield* find(ours, other.id), plain), Option.some(plain(other)))
      assert.deepStrictEqual(yield* find(ours, MediaId.make(yield* Fixtures.uuid)), Option.none())
    }), { arbitrary: { runs } })

  it.effect("returns the largest file, byte for byte", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const large = new Uint8Array(limits.media_bytes_max).map((_, index) => index * 31 + (index >> 8))
      const { id } = yield* write(ours, { bytes: large })
      const found = Option.getOrThrow(yield* find(ours, id))
      assert.strictEqual(Buffer.compare(found.bytes, large), 0)
    }))

  it.effect("removes one file and no other, and one that is not there too", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [file, other] = [yield* write(ours), yield* write(ours)]
      yield* write(theirs, { id: file.id })
      yield* Fixtures.write(ours, MediaRows.remove(file))
      yield* Fixtures.write(ours, MediaRows.remove(file))
      assert.deepStrictEqual(yield* find(ours, file.id), Option.none())
      assert.isTrue(Option.isSome(yield* find(ours, other.id)))
      assert.isTrue(Option.isSome(yield* find(theirs, file.id)))
    }))

  it.effect("neither keeps nor removes anything with a commit that fails", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const old = yield* write(ours)
      const file: MediaFile = { ...old, id: MediaId.make(yield* Fixtures.uuid) }
      const again = MediaRows.insert(old)
      const conflict = yield* Fixtures.outcome(ours, MediaRows.insert(file), again)
      assert.strictEqual(conflict, "Conflict")
      const stale = TagRows.expect({ id: (yield* Fixtures.tag(ours, "vip")).id, version: 9 })
      assert.strictEqual(yield* Fixtures.outcome(ours, MediaRows.remove(old), stale), "Conflict")
      assert.deepStrictEqual(yield* find(ours, file.id), Option.none())
      assert.isTrue(Option.isSome(yield* find(ours, old.id)))
    }))

  it.effect("does not return another organization's file", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id } = yield* write(ours)
      assert.deepStrictEqual(yield* find(theirs, id), Option.none())
      // In the other organization, the same id is another file.
      yield* write(theirs, { id, bytes: Uint8Array.of(9) })
      assert.deepStrictEqual(
        Option.map(yield* find(ours, id), ({ bytes }) => Array.from(bytes)),
        Option.some([1, 2, 3])
      )
    }))

  describe("links", () => links(it, { runs }))
}
