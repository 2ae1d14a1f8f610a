/** Tests of the guarantees of `Downloads`. */
import { assert, describe, it } from "@effect/vitest"
import { layer } from "@messaging-crm/adapter-http/Downloads"
import { Downloads } from "@messaging-crm/core/Downloads"
import { Effect, Stream } from "effect"
import { createServer, type Socket } from "node:net"
import { listen, receive } from "./Receiver.ts"
import { hostile_urls } from "./Vectors.ts"

const loopback = "127.0.0.1"
const ok = { status: 200, headers: {}, body: "a file" }

const read = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Downloads.use((downloads) => downloads.get(url, headers)).pipe(
    Effect.flatMap(({ byte_size, bytes, status }) =>
      Effect.map(Stream.runCollect(bytes), (chunks) => ({
        byte_size,
        status,
        text: Buffer.concat(chunks).toString()
      }))
    ),
    Effect.scoped
  )

const failureOf = (url: string) => Effect.map(Effect.flip(read(url)), ({ _tag }) => _tag)

/** Every name leads to this machine, which is allowed. */
const local = Effect.provide(
  layer({ resolve: () => Effect.succeed([loopback]), allowed: (address) => address === loopback })
)

/** Starts a server that writes this once it has heard something, and hangs up. */
const saying = (text: string) =>
  listen(createServer((socket: Socket) => void socket.on("error", () => {}).once("data", () => socket.end(text))))

describe("a download", () => {
  it.live("returns the file's bytes, and sends only the given headers", () =>
    Effect.gen(function*() {
      const { received, url } = yield* receive(ok)
      assert.deepStrictEqual(yield* read(url, { authorization: "Bearer x" }), {
        byte_size: null,
        status: 200,
        text: "a file"
      })
      const [request] = yield* received
      assert.hasAllKeys(request?.headers, ["host", "connection", "user-agent", "accept", "authorization"])
    }).pipe(Effect.withSpan("a span"), local, Effect.scoped))

  it.live("that breaks off, is not HTTP, or is refused is unavailable now", () =>
    Effect.gen(function*() {
      const broken = yield* saying("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
      const nonsense = yield* saying("HTTP/1.1 nonsense\r\n\r\n")
      const closed = yield* Effect.scoped(saying(""))
      for (const port of [broken, nonsense, closed]) {
        assert.strictEqual(yield* failureOf(`http://files.example:${port}/`), "FileUnavailable")
      }
    }).pipe(local, Effect.scoped))

  it.live("that is left unread ends its connection, and nothing else", () =>
    Effect.gen(function*() {
      const { url } = yield* receive("endless")
      const { status } = yield* Effect.scoped(Downloads.use((downloads) => downloads.get(url, {})))
      assert.strictEqual(status, 200)
      const first = yield* Effect.scoped(Effect.flatMap(
        Downloads.use((downloads) => downloads.get(url, {})),
        ({ bytes }) => Stream.runHead(bytes)
      ))
      assert.isTrue(first._tag === "Some")
    }).pipe(local, Effect.scoped))

  it.live("of an invalid address is absent", () =>
    Effect.gen(function*() {
      for (const url of ["", "files.example", "file:///etc/passwd", "ftp://files.example/", "data:,x", "https://"]) {
        assert.strictEqual(yield* failureOf(url), "FileAbsent", url)
      }
    }).pipe(local))

  it.live("of a name without an address is unavailable now", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* failureOf("https://files.example/"), "FileUnavailable")
    }).pipe(Effect.provide(layer({ resolve: () => Effect.succeed([]) }))))
})

describe("a hostile address", () => {
  it.live("is rejected when it is written out", () =>
    Effect.forEach(
      hostile_urls,
      (url) => Effect.map(failureOf(url), (tag) => assert.strictEqual(tag, "FileAbsent", url))
    ).pipe(Effect.provide(layer())))

  it.live("is rejected if a name resolves to it, also together with a public address, and receives nothing", () =>
    Effect.gen(function*() {
      const receiver = yield* receive(ok)
      const named = receiver.url.replace(loopback, "files.example")
      for (const addresses of [[loopback], ["93.184.215.14", loopback], ["::1"], ["169.254.169.254"]]) {
        for (const url of [named, named.replace("http:", "https:")]) {
          assert.strictEqual(
            yield* Effect.provide(failureOf(url), layer({ resolve: () => Effect.succeed(addresses) })),
            "FileAbsent",
            url
          )
        }
      }
      assert.strictEqual(yield* receiver.connections, 0)
    }).pipe(Effect.scoped))
})

it.live("a public address is requested over https only", () =>
  Effect.gen(function*() {
    assert.strictEqual(yield* failureOf("http://files.example/"), "FileAbsent")
  }).pipe(Effect.provide(layer({ resolve: () => Effect.succeed(["93.184.215.14"]) }))))
