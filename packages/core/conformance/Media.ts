/** The promises of `MediaStore`, as tests. */
import { assert } from "@effect/vitest"
import { MediaId, type OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { type MediaFile, MediaStore } from "@messaging-crm/core/Media"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Effect, Option } from "effect"
import { bytes, optionalHardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import type { It, Options } from "./Fixtures.ts"

const keep = Effect.fnUntraced(function*(organization_id: OrganizationId, fields: Partial<MediaFile> = {}) {
  const id = MediaId.make(yield* Fixtures.uuid)
  const file: MediaFile = { id, mime_type: "image/png", filename: null, bytes: Uint8Array.of(1, 2, 3), ...fields }
  yield* MediaStore.use((store) => store.keep(organization_id, file))
  return file
})

const find = (organization_id: OrganizationId, id: MediaId) =>
  MediaStore.use((store) => store.find(organization_id, id))

/** Bytes as an array, for a store may hand out any kind of `Uint8Array`. */
const plain = (file: MediaFile) => ({ ...file, bytes: Array.from(file.bytes) })

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns a file as it was kept", {
    bytes,
    mime_type: optionalHardText({ min: 1, max: 100 }),
    filename: optionalHardText({ min: 1, max: 200 })
  }, (fields) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [file, other] = [yield* keep(ours, fields), yield* keep(ours)]
      assert.deepStrictEqual(Option.map(yield* find(ours, file.id), plain), Option.some(plain(file)))
      assert.deepStrictEqual(Option.map(yield* find(ours, other.id), plain), Option.some(plain(other)))
      assert.deepStrictEqual(yield* find(ours, MediaId.make(yield* Fixtures.uuid)), Option.none())
    }), { arbitrary: { runs } })

  it.effect("returns the largest file, byte for byte", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const large = new Uint8Array(limits.media_bytes_max).map((_, index) => index * 31 + (index >> 8))
      const { id } = yield* keep(ours, { bytes: large })
      const found = Option.getOrThrow(yield* find(ours, id))
      assert.strictEqual(Buffer.compare(found.bytes, large), 0)
    }))

  it.effect("keeps nothing of a unit of work that fails", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const file = yield* Effect.flip(transact(Effect.flatMap(keep(ours), Effect.fail)))
      assert.deepStrictEqual(yield* find(ours, file.id), Option.none())
    }))

  it.effect("gives nobody another organization's file", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id } = yield* keep(ours)
      assert.deepStrictEqual(yield* find(theirs, id), Option.none())
      // The same id is another file of theirs.
      yield* keep(theirs, { id, bytes: Uint8Array.of(9) })
      assert.deepStrictEqual(
        Option.map(yield* find(ours, id), ({ bytes }) => Array.from(bytes)),
        Option.some([1, 2, 3])
      )
    }))
}
