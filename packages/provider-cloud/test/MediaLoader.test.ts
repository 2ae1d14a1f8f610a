/** The requests for files, and the files that are absent or unavailable. */
import { assert, it } from "@effect/vitest"
import { type Download, Downloads } from "@messaging-crm/core/Downloads"
import { limits } from "@messaging-crm/core/Limits"
import { MediaLoader } from "@messaging-crm/provider-cloud/MediaLoader"
import { Effect, Fiber, Layer, Stream } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { account } from "./Account.ts"

/** Loads a file from a network that has links to it, and from a host that responds to requests for it. */
const load = (
  file: Parameters<MediaLoader["Service"]["load"]>[1],
  link: object,
  download: Partial<Download>
) => {
  const requests: Array<readonly [url: string, headers: object]> = []
  const client = HttpClient.make((request) => Effect.succeed(HttpClientResponse.fromWeb(request, Response.json(link))))
  const downloads = Downloads.of({
    get: (...request) =>
      Effect.sync(() => {
        requests.push(request)
        return { status: 200, byte_size: null, bytes: Stream.make(Uint8Array.of(7)), ...download }
      })
  })
  const layer = MediaLoader.layer.pipe(
    Layer.provide([Layer.succeed(HttpClient.HttpClient, client), Layer.succeed(Downloads, downloads)])
  )
  return MediaLoader.use((loader) => {
    const bytes = loader.load(account, file)
    assert.lengthOf(requests, 0)
    return Stream.runCollect(bytes)
  }).pipe(
    Effect.match({ onFailure: ({ _tag }) => _tag, onSuccess: (chunks) => chunks.length === 1 ? "loaded" : "empty" }),
    Effect.map((outcome) => ({ outcome, requests })),
    Effect.provide(layer)
  )
}

const url = "https://cdn.example/file"
const max = limits.media_bytes_max

it.effect("the account's token is sent to a link of the network, but not to an address of a callback", () =>
  Effect.gen(function*() {
    const linked = yield* load({ media_id: "1" }, { url }, {})
    assert.deepStrictEqual(linked, { outcome: "loaded", requests: [[url, { authorization: "Bearer token" }]] })
    assert.deepStrictEqual(yield* load({ url }, {}, {}), { outcome: "loaded", requests: [[url, {}]] })
  }))

it.effect("a file of 16 MB is loaded, and a larger one is absent, by the size in its link without a download", () =>
  Effect.gen(function*() {
    for (const [size, outcome] of [[max, "loaded"], [max + 1, "FileAbsent"]] as const) {
      for (const file_size of [size, String(size)]) {
        const linked = yield* load({ media_id: "1" }, { url, file_size }, {})
        assert.deepStrictEqual([linked.outcome, linked.requests.length], [outcome, outcome === "loaded" ? 1 : 0])
      }
      assert.strictEqual((yield* load({ url }, {}, { byte_size: size })).outcome, outcome)
    }
  }))

it.effect("a host that is busy or broken is unavailable, and any other status means that the link has expired", () =>
  Effect.gen(function*() {
    for (const status of [429, 500, 503]) {
      const { outcome, requests } = yield* load({ media_id: "1" }, { url }, { status })
      assert.deepStrictEqual([outcome, requests.length], ["FileUnavailable", 1], String(status))
    }
    for (const status of [199, 300, 302, 404, 499]) {
      const { outcome, requests } = yield* load({ media_id: "1" }, { url }, { status })
      assert.deepStrictEqual([outcome, requests.length], ["FileAbsent", 3], String(status))
    }
  }))

it.effect("a file that the network does not have any more is absent, and an error of another kind is not", () =>
  Effect.gen(function*() {
    for (
      const [code, outcome] of [[33, "FileAbsent"], [100, "FileAbsent"], [131052, "FileAbsent"], [4, "FileUnavailable"]]
    ) {
      const refused = yield* load({ media_id: "1" }, { error: { code, message: "" } }, {})
      assert.deepStrictEqual([refused.outcome, refused.requests.length], [outcome, 0], String(code))
    }
  }))

it.effect("a file that does not arrive within 30 s is unavailable", () =>
  Effect.gen(function*() {
    const loading = yield* Effect.forkChild(load({ url }, {}, { bytes: Stream.never }), { startImmediately: true })
    yield* TestClock.adjust("29999 millis")
    assert.isUndefined(loading.pollUnsafe())
    yield* TestClock.adjust("1 millis")
    assert.strictEqual((yield* Fiber.join(loading)).outcome, "FileUnavailable")
  }))
