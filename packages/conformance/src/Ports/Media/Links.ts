/** Tests of links to files. */
import { assert } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { MediaId, type OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { Media, type OpenedFile, PublicUrl } from "@messaging-crm/core/Media"
import { Duration, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { integer } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import type { It, Options } from "../../Fixtures.ts"
import { operations, receive, voice } from "./FileScene.ts"

const actAs = (organization_id: OrganizationId) =>
  Effect.provideService(CurrentActor, { organization_id, member_id: null })

/** Returns the token at the end of a link. */
const tokenOf = (url: string | null) => (url ?? "").replace(/^.*\/media\//, "")

/** Receives a file, and returns the token of a link to it. */
const receiveAndLink = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const stored = yield* receive(organization_id, voice)
  const { url } = yield* Media.use((media) => media.link(stored)).pipe(actAs(organization_id))
  return tokenOf(url)
})

const open = (token: string) => Media.use((media) => media.open(token))

const assertNotFound = (token: string) =>
  Effect.map(Effect.flip(open(token)), ({ _tag }) => assert.strictEqual(_tag, "MediaNotFound"))

/** Reads an opened file to its end. */
const contentOf = ({ file, read }: OpenedFile) =>
  Effect.map(Stream.runCollect(read(0, file.byte_size)), (slices) => Array.from(Buffer.concat(slices)))

const validLinks = (it: It) => {
  it.effect("start with the public URL, open the file for an hour, and are all different", () =>
    Effect.gen(function*() {
      const media = yield* Media
      const organization_id = yield* Fixtures.organization
      const stored = yield* receive(organization_id, voice)
      const { bytes: _, ...described } = voice
      assert.deepStrictEqual({ ...stored, id: null }, { ...described, id: null, byte_size: 3 })
      const linked = yield* media.link(stored).pipe(
        Effect.provideService(PublicUrl, "https://crm.example/here"),
        Effect.replicateEffect(2),
        actAs(organization_id)
      )
      const [first = "", second = ""] = linked.map(({ url }) => url ?? "")
      assert.notStrictEqual(first, second)
      assert.match(first, /^https:\/\/crm\.example\/here\/media\/[\w.-]+$/)
      const opened = yield* open(tokenOf(first))
      assert.deepStrictEqual(yield* contentOf(opened), [1, 2, 3])
      assert.strictEqual(Duration.toMillis(opened.expires_in), 3_600_000)
      yield* TestClock.adjust("3599999 millis")
      assert.strictEqual(Duration.toMillis((yield* open(tokenOf(first))).expires_in), 1)
      yield* TestClock.adjust("1 millis")
      yield* assertNotFound(tokenOf(first))
    }).pipe(Effect.provide(operations(1))))

  it.effect("still open when the root key was rotated", () =>
    Effect.gen(function*() {
      const token = yield* Effect.provide(Effect.flatMap(Fixtures.organization, receiveAndLink), operations(1))
      assert.strictEqual((yield* Effect.provide(open(token), operations(2, 1))).file.byte_size, 3)
    }))
}

const invalidLinks = (it: It, { runs }: Options) => {
  it.effect.prop("are invalid if one character is changed", {
    place: integer({ min: 0, max: 128 })
  }, ({ place }) =>
    Effect.gen(function*() {
      const token = yield* receiveAndLink(yield* Fixtures.organization)
      const other = token[place] === "0" ? "1" : "0"
      yield* assertNotFound(`${token.slice(0, place)}${other}${token.slice(place + 1)}`)
      assert.strictEqual((yield* open(token)).file.byte_size, 3)
    }).pipe(Effect.provide(operations(1))), { arbitrary: { runs } })

  it.effect("are invalid when they are signed with another key, or when the file does not exist", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const foreign = yield* Effect.provide(receiveAndLink(ours), operations(2))
      for (const token of [foreign, "", ".", "...", "a.b.c.d.e", foreign.slice(0, -33)]) yield* assertNotFound(token)
      const absent = {
        id: MediaId.make(ours),
        kind: "image",
        mime_type: null,
        filename: null,
        byte_size: 1,
        transcript: null
      } as const
      const { url } = yield* Media.use((media) => media.link(absent)).pipe(actAs(ours))
      yield* assertNotFound(tokenOf(url))
    }).pipe(Effect.provide(operations(1))))
}

const describedFiles = (it: It) => {
  it.effect("are not created for a file that is too large or was not provided: it is only described", () =>
    Effect.gen(function*() {
      const media = yield* Media
      const organization_id = yield* Fixtures.organization
      const tooLarge = limits.media_bytes_max + 1
      const stored = yield* Effect.forEach(
        [new Uint8Array(tooLarge), null],
        (bytes) => receive(organization_id, { ...voice, bytes })
      )
      assert.deepStrictEqual(stored.map(({ byte_size, id }) => [byte_size, id]), [[tooLarge, null], [null, null]])
      const linked = yield* Effect.forEach(stored, media.link).pipe(actAs(organization_id))
      assert.deepStrictEqual(linked.map(({ url }) => url), [null, null])
    }).pipe(Effect.provide(operations(1))))
}

export const links = (it: It, options: Options) => {
  validLinks(it)
  invalidLinks(it, options)
  describedFiles(it)
}
