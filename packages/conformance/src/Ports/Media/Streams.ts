/** Tests of files that are received as streams. */
import { assert } from "@effect/vitest"
import { limits } from "@messaging-crm/core/Limits"
import {
  FileAbsent,
  type FileStream,
  FileUnavailable,
  Media,
  MediaRows,
  MediaStore,
  slice_bytes
} from "@messaging-crm/core/Media"
import { DateTime, Effect, Exit, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { integer } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import type { It, Options } from "../../Fixtures.ts"
import { bytesFrom, exists, operations, receive, unpublished, voice } from "./FileScene.ts"

/** Removes the files that were begun and are neither published nor discarded, and returns how many there were. */
const purgeUnfinished = MediaStore.use((store) =>
  store.purgeUnfinished(DateTime.makeUnsafe("9999-01-01T00:00:00Z"), 1000)
)

/** A stream of `count` bytes in chunks of `size`, which counts the chunks that were read. */
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

const storedStreams = (it: It, { runs }: Options) => {
  it.effect.prop("are stored byte for byte, whatever the size of their chunks", {
    count: integer({ min: 0, max: 3 * slice_bytes }),
    size: integer({ min: 50_000, max: 2 * slice_bytes })
  }, ({ count, size }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { byte_size, id } = yield* receive(ours, { ...voice, bytes: flow(count, size).stream })
      assert.strictEqual(byte_size, count)
      const stored = yield* bytesFrom(ours, Option.getOrThrow(Option.fromNullOr(id)))
      assert.isTrue(stored.every((byte, index) => byte === index % 251))
      assert.strictEqual(stored.byteLength, count)
    }).pipe(Effect.provide(operations(1))), { arbitrary: { runs: Math.min(runs, 10) } })

  it.effect("larger than the limit are read only up to it, and leave nothing", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { stream, taken } = flow(3 * limits.media_bytes_max, 1_000_000)
      const stored = yield* receive(ours, { ...voice, bytes: stream })
      assert.deepStrictEqual([stored.id, stored.byte_size], [null, null])
      assert.strictEqual(taken.chunks, 17)
      assert.strictEqual(yield* purgeUnfinished, 0)
    }).pipe(Effect.provide(operations(1))))

  it.effect("of the largest size are stored", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { byte_size } = yield* receive(ours, { ...voice, bytes: flow(limits.media_bytes_max, 1_000_000).stream })
      assert.strictEqual(byte_size, limits.media_bytes_max)
    }).pipe(Effect.provide(operations(1))))
}

const abandonedStreams = (it: It) => {
  it.effect("that end early leave nothing: the message is stored without them, or is retried", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const half = flow(2 * slice_bytes, slice_bytes).stream
      const absent = yield* receive(ours, { ...voice, bytes: Stream.concat(half, Stream.fail(new FileAbsent())) })
      assert.deepStrictEqual([absent.id, absent.byte_size], [null, null])
      const later = receive(ours, { ...voice, bytes: Stream.concat(half, Stream.fail(new FileUnavailable())) })
      assert.strictEqual((yield* Effect.flip(later))._tag, "FileUnavailable")
      const stalled = yield* Effect.forkChild(
        receive(ours, { ...voice, bytes: Stream.concat(half, Stream.fromEffect(Effect.never)) }),
        { startImmediately: true }
      )
      yield* Fiber.interrupt(stalled)
      assert.strictEqual(yield* purgeUnfinished, 0)
    }).pipe(Effect.provide(operations(1))))

  it.effect("whose commit fails, or does not publish them, leave nothing", () =>
    Effect.gen(function*() {
      const media = yield* Media
      const ours = yield* Fixtures.organization
      yield* media.receive(ours, voice, () => Effect.void)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(media.receive(ours, voice, () => Effect.die("The database")))))
      assert.strictEqual(yield* purgeUnfinished, 0)
    }).pipe(Effect.provide(operations(1))))

  it.effect("that a killed process left are removed after a day, and no other file", () =>
    Effect.gen(function*() {
      const media = yield* Media
      const ours = yield* Fixtures.organization
      const stored = yield* receive(ours, voice)
      const inTime = yield* unpublished(ours)
      yield* media.purgeUnfinished
      yield* Fixtures.mustCommit(ours, MediaRows.insert(inTime))
      assert.isTrue(yield* exists(ours, inTime.id))
      const left = yield* unpublished(ours)
      yield* TestClock.adjust("25 hours")
      yield* media.purgeUnfinished
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, MediaRows.insert(left)), "Conflict")
      assert.isFalse(yield* exists(ours, left.id))
      assert.isTrue(yield* exists(ours, inTime.id))
      assert.isTrue(yield* exists(ours, Option.getOrThrow(Option.fromNullOr(stored.id))))
    }).pipe(Effect.provide(operations(1))))
}

export const streams = (it: It, options: Options) => {
  storedStreams(it, options)
  abandonedStreams(it)
}
