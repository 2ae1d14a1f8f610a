/** Tests of the guarantees of `MediaStore`, and of the operations on its files. */
import { assert, describe } from "@effect/vitest"
import { MediaId, type OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { MediaRows, MediaStore, slice_bytes } from "@messaging-crm/core/Media"
import { TagRows } from "@messaging-crm/core/Tags"
import { DateTime, Effect, Option } from "effect"
import { bytes, optionalHardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import type { It, Options } from "../Fixtures.ts"
import { bytesFrom, exists, unpublished } from "./Media/FileScene.ts"
import { links } from "./Media/Links.ts"
import { streams } from "./Media/Streams.ts"

const find = (organization_id: OrganizationId, id: MediaId) =>
  MediaStore.use((store) => store.find(organization_id, id))

const reads = (it: It, { runs }: Options) => {
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
}

const commits = (it: It) => {
  it.effect("removes one file and no other, and accepts the removal of an absent file", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [file, other] = [yield* Fixtures.file(ours), yield* Fixtures.file(ours)]
      yield* Fixtures.file(theirs, { id: file.id })
      yield* Fixtures.mustCommit(ours, MediaRows.remove(file))
      yield* Fixtures.mustCommit(ours, MediaRows.remove(file))
      assert.deepStrictEqual(yield* find(ours, file.id), Option.none())
      assert.isFalse(yield* exists(ours, file.id))
      assert.isTrue(yield* exists(ours, other.id))
      assert.isTrue(yield* exists(theirs, file.id))
    }))

  it.effect("neither stores nor removes a file with a commit that fails", () =>
    Effect.gen(function*() {
      const store = yield* MediaStore
      const ours = yield* Fixtures.organization
      const old = yield* Fixtures.file(ours)
      const file = { ...old, id: MediaId.make(yield* Fixtures.uuid) }
      yield* store.begin(ours, file.id, yield* DateTime.now)
      const again = MediaRows.insert(old)
      const conflict = yield* Fixtures.commitOutcome(ours, MediaRows.insert(file), again)
      assert.strictEqual(conflict, "Conflict")
      const stale = TagRows.expect({ id: (yield* Fixtures.tag(ours, "vip")).id, version: 9 })
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, MediaRows.remove(old), stale), "Conflict")
      assert.deepStrictEqual(yield* find(ours, file.id), Option.none())
      assert.isTrue(Option.isSome(yield* find(ours, old.id)))
      yield* store.discard(ours, file.id)
    }))

  it.effect("returns no file that is not committed, and discards no other", () =>
    Effect.gen(function*() {
      const store = yield* MediaStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const file = yield* Fixtures.file(ours)
      const begun = yield* unpublished(ours)
      assert.deepStrictEqual(yield* find(ours, begun.id), Option.none())
      yield* store.discard(theirs, begun.id)
      yield* store.discard(ours, file.id)
      assert.isTrue(yield* exists(ours, file.id))
      yield* Fixtures.mustCommit(ours, MediaRows.insert(begun))
      assert.isTrue(yield* exists(ours, begun.id))
    }))
}

const separation = (it: It) => {
  it.effect("does not return another organization's file", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id } = yield* Fixtures.file(ours)
      assert.deepStrictEqual(yield* find(theirs, id), Option.none())
      assert.isFalse(yield* exists(theirs, id))
      // In the other organization, the same ID is another file.
      yield* Fixtures.file(theirs, { id }, Uint8Array.of(9))
      assert.deepStrictEqual(Array.from(yield* bytesFrom(ours, id)), [1, 2, 3])
    }))
}

export const portTests = (it: It, options: Options) => {
  reads(it, options)
  commits(it)
  separation(it)
  describe("streams", () => streams(it, options))
  describe("links", () => links(it, options))
}
