/** Tests of the guarantees of `MediaStore`, and of links to its files. */
import { assert, describe } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Ids, MediaId, type OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import {
  FileAbsent,
  type FileStream,
  FileUnavailable,
  Media,
  MediaRows,
  MediaStore,
  type OpenedFile,
  PublicUrl,
  publish,
  type ReceivedMedia,
  slice_bytes
} from "@messaging-crm/core/Media"
import { RootKeys, Secrets } from "@messaging-crm/core/Secrets"
import { TagRows } from "@messaging-crm/core/Tags"
import { Arbitrary, DateTime, Duration, Effect, Exit, Fiber, Layer, Option, Redacted, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { bytes, optionalHardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import type { It, Options } from "./Fixtures.ts"

/** Stores a received file as an inbound message does. */
const keep = (organization_id: OrganizationId, received: ReceivedMedia) =>
  Media.use((media) =>
    media.receive(
      organization_id,
      received,
      (described) => Effect.as(Fixtures.write(organization_id, publish(described)), described)
    )
  )

const find = (organization_id: OrganizationId, id: MediaId) =>
  MediaStore.use((store) => store.find(organization_id, id))

const isThere = (organization_id: OrganizationId, id: MediaId) =>
  Effect.map(
    MediaStore.use((store) => store.read(organization_id, id, { start: 0, length: 1 })),
    Option.isSome
  )

/** Returns the bytes of a file from `start` on, as its store returns them in slices. */
const bytesFrom = Effect.fnUntraced(function*(organization_id: OrganizationId, id: MediaId, start = 0) {
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

/** Removes the files that were begun and are neither published nor discarded, and returns how many there were. */
const purgeUnpublished = MediaStore.use((store) => store.purge(DateTime.makeUnsafe("9999-01-01T00:00:00Z"), 1000))

/** Reads an opened file to its end. */
const contentOf = ({ file, read }: OpenedFile) =>
  Effect.map(Stream.runCollect(read(0, file.byte_size)), (slices) => Array.from(Buffer.concat(slices)))

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
      const opened = yield* open(link)
      const { expires_in } = opened
      assert.deepStrictEqual(yield* contentOf(opened), [1, 2, 3])
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
      assert.strictEqual((yield* open(link)).file.byte_size, 3)
    }).pipe(Effect.provide(operations(1))), { arbitrary: { runs } })

  it.effect("are invalid when they are signed with another key, or when the file does not exist", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const foreign = yield* Effect.provide(keepAndLink(ours), operations(2))
      assert.strictEqual((yield* Effect.flip(open(foreign)))._tag, "MediaNotFound")
      for (const link of ["", ".", "...", "a.b.c.d.e", foreign.slice(0, -33)]) {
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
      assert.strictEqual((yield* Effect.provide(open(link), operations(2, 1))).file.byte_size, 3)
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

/** A stream of `count` bytes in chunks of `size`, which reports how many chunks were taken. */
const flow = (count: number, size: number) => {
  const taken = { chunks: 0 }
  const stream: FileStream = Stream.unfold(0, (at) =>
    Effect.sync(() => {
      if (at >= count) return undefined
      taken.chunks++
      const chunk = new Uint8Array(Math.min(size, count - at)).map((_, index) => (at + index) % 251)
      return [chunk, at + chunk.byteLength] as const
    }))
  return { stream, taken }
}

const streams = (it: It, { runs }: Options) => {
  it.effect.prop("are stored byte for byte, whatever the size of their chunks", {
    count: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 * slice_bytes }))),
    size: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 50_000, maximum: 2 * slice_bytes })))
  }, ({ count, size }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { byte_size, id } = yield* keep(ours, { ...voice, bytes: flow(count, size).stream })
      assert.strictEqual(byte_size, count)
      const stored = yield* bytesFrom(ours, Option.getOrThrow(Option.fromNullOr(id)))
      assert.isTrue(stored.every((byte, index) => byte === index % 251))
      assert.strictEqual(stored.byteLength, count)
    }).pipe(Effect.provide(operations(1))), { arbitrary: { runs: Math.min(runs, 10) } })

  it.effect("larger than the limit are read no further, and nothing of them stays", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { stream, taken } = flow(3 * limits.media_bytes_max, 1_000_000)
      const stored = yield* keep(ours, { ...voice, bytes: stream })
      assert.deepStrictEqual([stored.id, stored.byte_size], [null, null])
      assert.strictEqual(taken.chunks, 17)
      assert.strictEqual(yield* purgeUnpublished, 0)
    }).pipe(Effect.provide(operations(1))))

  it.effect("of the largest size are stored", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { byte_size } = yield* keep(ours, { ...voice, bytes: flow(limits.media_bytes_max, 1_000_000).stream })
      assert.strictEqual(byte_size, limits.media_bytes_max)
    }).pipe(Effect.provide(operations(1))))

  it.effect("that end in the middle leave nothing: the message is stored without them, or waits", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const half = flow(2 * slice_bytes, slice_bytes).stream
      const absent = yield* keep(ours, { ...voice, bytes: Stream.concat(half, Stream.fail(new FileAbsent())) })
      assert.deepStrictEqual([absent.id, absent.byte_size], [null, null])
      const later = keep(ours, { ...voice, bytes: Stream.concat(half, Stream.fail(new FileUnavailable())) })
      assert.strictEqual((yield* Effect.flip(later))._tag, "FileUnavailable")
      const stalled = yield* Effect.forkChild(
        keep(ours, { ...voice, bytes: Stream.concat(half, Stream.fromEffect(Effect.never)) }),
        { startImmediately: true }
      )
      yield* Fiber.interrupt(stalled)
      assert.strictEqual(yield* purgeUnpublished, 0)
    }).pipe(Effect.provide(operations(1))))

  it.effect("whose commit fails, or does not publish them, leave nothing", () =>
    Effect.gen(function*() {
      const media = yield* Media
      const ours = yield* Fixtures.organization
      yield* media.receive(ours, voice, () => Effect.void)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(media.receive(ours, voice, () => Effect.die("The database")))))
      assert.strictEqual(yield* purgeUnpublished, 0)
    }).pipe(Effect.provide(operations(1))))

  it.effect("that a killed process left are removed after a day, and no other file", () =>
    Effect.gen(function*() {
      const media = yield* Media
      const store = yield* MediaStore
      const ours = yield* Fixtures.organization
      const stored = yield* keep(ours, voice)
      const left = MediaId.make(yield* Fixtures.uuid)
      yield* store.begin(ours, left, yield* DateTime.now)
      yield* store.append(ours, left, { start: 0, bytes: Uint8Array.of(1) })
      yield* media.purge
      yield* Fixtures.write(ours, MediaRows.insert({ id: left, mime_type: null, filename: null, byte_size: 1 }))
      assert.isTrue(yield* isThere(ours, left))
      const other = MediaId.make(yield* Fixtures.uuid)
      yield* store.begin(ours, other, yield* DateTime.now)
      yield* store.append(ours, other, { start: 0, bytes: Uint8Array.of(1) })
      yield* TestClock.adjust("25 hours")
      yield* media.purge
      const late = MediaRows.insert({ id: other, mime_type: null, filename: null, byte_size: 1 })
      assert.strictEqual(yield* Fixtures.outcome(ours, late), "Conflict")
      assert.isFalse(yield* isThere(ours, other))
      assert.isTrue(yield* isThere(ours, left))
      assert.isTrue(yield* isThere(ours, Option.getOrThrow(Option.fromNullOr(stored.id))))
    }).pipe(Effect.provide(operations(1))))
}

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns a file as it was stored", {
    bytes,
    mime_type: optionalHardText({ min: 1, max: 100 }),
    filename: optionalHardText({ min: 1, max: 200 })
  }, ({ bytes, ...fields }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [file, other] = [yield* Fixtures.file(ours, fields, bytes), yield* Fixtures.file(ours)]
      assert.deepStrictEqual(yield* find(ours, file.id), Option.some(file))
      assert.deepStrictEqual(yield* find(ours, other.id), Option.some(other))
      assert.deepStrictEqual(Array.from(yield* bytesFrom(ours, file.id)), Array.from(bytes))
      assert.deepStrictEqual(yield* find(ours, MediaId.make(yield* Fixtures.uuid)), Option.none())
    }), { arbitrary: { runs } })

  it.effect("returns the largest file, byte for byte, from any place", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const large = new Uint8Array(limits.media_bytes_max).map((_, index) => index * 31 + (index >> 8))
      const { id } = yield* Fixtures.file(ours, {}, large)
      for (const start of [0, 1, slice_bytes - 1, slice_bytes, large.length - 1, large.length]) {
        assert.strictEqual(Buffer.compare(yield* bytesFrom(ours, id, start), large.subarray(start)), 0)
      }
    }))

  it.effect("removes one file and no other, and one that is not there too", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [file, other] = [yield* Fixtures.file(ours), yield* Fixtures.file(ours)]
      yield* Fixtures.file(theirs, { id: file.id })
      yield* Fixtures.write(ours, MediaRows.remove(file))
      yield* Fixtures.write(ours, MediaRows.remove(file))
      assert.deepStrictEqual(yield* find(ours, file.id), Option.none())
      assert.isFalse(yield* isThere(ours, file.id))
      assert.isTrue(yield* isThere(ours, other.id))
      assert.isTrue(yield* isThere(theirs, file.id))
    }))

  it.effect("neither keeps nor removes anything with a commit that fails", () =>
    Effect.gen(function*() {
      const store = yield* MediaStore
      const ours = yield* Fixtures.organization
      const old = yield* Fixtures.file(ours)
      const file = { ...old, id: MediaId.make(yield* Fixtures.uuid) }
      yield* store.begin(ours, file.id, yield* DateTime.now)
      const again = MediaRows.insert(old)
      const conflict = yield* Fixtures.outcome(ours, MediaRows.insert(file), again)
      assert.strictEqual(conflict, "Conflict")
      const stale = TagRows.expect({ id: (yield* Fixtures.tag(ours, "vip")).id, version: 9 })
      assert.strictEqual(yield* Fixtures.outcome(ours, MediaRows.remove(old), stale), "Conflict")
      assert.deepStrictEqual(yield* find(ours, file.id), Option.none())
      assert.isTrue(Option.isSome(yield* find(ours, old.id)))
      yield* store.discard(ours, file.id)
    }))

  it.effect("returns no file that is not committed, and discards no other", () =>
    Effect.gen(function*() {
      const store = yield* MediaStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const file = yield* Fixtures.file(ours)
      const id = MediaId.make(yield* Fixtures.uuid)
      yield* store.begin(ours, id, yield* DateTime.now)
      yield* store.append(ours, id, { start: 0, bytes: Uint8Array.of(1) })
      assert.deepStrictEqual(yield* find(ours, id), Option.none())
      yield* store.discard(theirs, id)
      yield* store.discard(ours, file.id)
      assert.isTrue(yield* isThere(ours, file.id))
      yield* Fixtures.write(ours, MediaRows.insert({ ...file, id, byte_size: 1 }))
      assert.isTrue(yield* isThere(ours, id))
    }))

  it.effect("does not return another organization's file", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id } = yield* Fixtures.file(ours)
      assert.deepStrictEqual(yield* find(theirs, id), Option.none())
      assert.isFalse(yield* isThere(theirs, id))
      // In the other organization, the same id is another file.
      yield* Fixtures.file(theirs, { id }, Uint8Array.of(9))
      assert.deepStrictEqual(Array.from(yield* bytesFrom(ours, id)), [1, 2, 3])
    }))

  describe("streams", () => streams(it, { runs }))
  describe("links", () => links(it, { runs }))
}
