import { assert, describe, it } from "@effect/vitest"
import { layer } from "@messaging-crm/adapter-http/WebhookTransport"
import * as Transport from "@messaging-crm/conformance/WebhookTransport"
import { AllowedAddresses, WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { type Duration, Effect, Fiber, Layer, Random, Result } from "effect"
import { TestClock } from "effect/testing"
import { createServer, type Socket } from "node:net"
import * as tls from "node:tls"
import { selfSigned } from "./Certificate.ts"
import { listen, receive, receiveSecurely } from "./Receiver.ts"
import { hostile, hostile_urls } from "./Vectors.ts"

Transport.suite("undici", { layer, receive })

const loopback = "127.0.0.1"

const ok = { status: 200, headers: {}, body: "" }

/** Every name leads to this machine, which is allowed. */
const local = (deadline: Duration.Input = "10 seconds") =>
  Effect.provide(
    layer({ deadline, resolve: () => Effect.succeed([loopback]) }).pipe(
      Layer.provide(Layer.succeed(AllowedAddresses, (address: string) => address === loopback))
    )
  )

const post = (url: string) => WebhookTransport.use((transport) => transport.post({ url, headers: {}, body: "{}" }))

const codeOf = (url: string) => Effect.map(Effect.flip(post(url)), ({ failure_code }) => failure_code)

/** Starts a server that does so with each connection, and returns its port. */
const accepting = (handle: (socket: Socket) => void) =>
  listen(createServer((socket) => handle(socket.on("error", () => {}))))

/** Starts a server that writes this once it has heard something, and hangs up. */
const saying = (text: string) => accepting((socket) => socket.once("data", () => socket.end(text)))

describe("a hostile address", () => {
  it.live("is rejected when it is written out", () =>
    Effect.forEach(
      hostile_urls,
      (url) => Effect.map(codeOf(url), (code) => assert.strictEqual(code, "blocked_address", url))
    ).pipe(Effect.provide(layer())))

  it.live("is rejected behind a name that leads elsewhere every other time, a thousand times", () =>
    Effect.gen(function*() {
      const receiver = yield* receive(ok)
      const url = receiver.url.replace(loopback, "hooks.example")
      const nobody = "127.0.0.2"
      let attempt = 0
      const resolve = Effect.fnUntraced(function*() {
        attempt++
        const address = hostile[attempt % hostile.length] ?? loopback
        const others = yield* Random.shuffle([nobody, nobody, address])
        return attempt % 2 === 0 ? [nobody] : [...others]
      })
      const codes = yield* Effect.replicateEffect(codeOf(url), 1000).pipe(
        Effect.provide(
          layer({ resolve: () => resolve() }).pipe(
            Layer.provide(Layer.succeed(AllowedAddresses, (address: string) => address === nobody))
          )
        )
      )
      assert.lengthOf(codes.filter((code) => code === "blocked_address"), 500)
      assert.strictEqual(yield* receiver.connections, 0)
    }).pipe(Effect.scoped))
})

describe("TLS", () => {
  const name = "hooks.example"

  it.live("uses the host name, and accepts a certificate for it", () =>
    Effect.gen(function*() {
      const certificate = selfSigned(name)
      const before = tls.getCACertificates()
      yield* Effect.acquireRelease(
        Effect.sync(() => tls.setDefaultCACertificates([...before, certificate.cert])),
        () => Effect.sync(() => tls.setDefaultCACertificates(before))
      )
      const { received, url } = yield* receiveSecurely(ok, name, certificate)
      for (const host of [name, `${name}.`, name.toUpperCase()]) {
        assert.strictEqual((yield* post(url.replace(name, host))).status, 200, host)
      }
      assert.strictEqual(yield* codeOf(url.replace(name, "other.example")), "tls_error")
      assert.strictEqual(yield* codeOf(url.replace(name, loopback)), "tls_error")
      assert.lengthOf(yield* received, 3)
    }).pipe(local(), Effect.scoped))

  it.live("names the host, and speaks HTTP/1.1", () =>
    Effect.gen(function*() {
      const heard = Promise.withResolvers<{ readonly servername: string; readonly protocols: ReadonlyArray<string> }>()
      const port = yield* listen(
        tls.createServer({
          ...selfSigned(name),
          ALPNCallback: ({ protocols, servername }) => {
            heard.resolve({ protocols, servername })
            return "http/1.1"
          }
        }).on("tlsClientError", () => {})
      )
      yield* Effect.flip(post(`https://${name}:${port}/`))
      assert.deepStrictEqual(yield* Effect.promise(() => heard.promise), {
        protocols: ["http/1.1"],
        servername: name
      })
    }).pipe(local(), Effect.scoped))

  it.live("rejects a self-signed and an expired certificate", () =>
    Effect.gen(function*() {
      for (const certificate of [selfSigned(name), selfSigned(name, 2021)]) {
        const { received, url } = yield* receiveSecurely(ok, name, certificate)
        assert.strictEqual(yield* codeOf(url), "tls_error")
        assert.lengthOf(yield* received, 0)
      }
    }).pipe(local(), Effect.scoped))

  it.live("rejects an endpoint without TLS", () =>
    Effect.gen(function*() {
      const port = yield* saying("HTTP/1.1 400 Bad Request\r\n\r\n")
      assert.strictEqual(yield* codeOf(`https://${name}:${port}/`), "tls_error")
    }).pipe(local(), Effect.scoped))
})

describe("an endpoint that does not respond", () => {
  const failures = {
    "HTTP/1.1 nonsense\r\n\r\n": "protocol_error",
    "Hello.\r\n\r\n": "protocol_error",
    [`HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n`]: "protocol_error",
    "": "connection_reset",
    "HTTP/1.1 200 OK\r\n": "connection_reset"
  }
  for (const [text, code] of Object.entries(failures)) {
    it.live(`with ${JSON.stringify(text.slice(0, 25))} is a ${code}`, () =>
      Effect.gen(function*() {
        const port = yield* saying(text)
        assert.strictEqual(yield* codeOf(`http://hooks.example:${port}/`), code)
      }).pipe(local(), Effect.scoped))
  }

  it.live("because nothing listens has refused", () =>
    Effect.gen(function*() {
      const port = yield* Effect.scoped(accepting(() => {}))
      assert.strictEqual(yield* codeOf(`http://hooks.example:${port}/`), "connection_refused")
      assert.strictEqual(yield* codeOf(`https://hooks.example:${port}/`), "connection_refused")
    }).pipe(local()))

  it.live("but hangs up has reset, before the handshake and after", () =>
    Effect.gen(function*() {
      const port = yield* accepting((socket) => socket.once("data", () => socket.resetAndDestroy()))
      assert.strictEqual(yield* codeOf(`http://hooks.example:${port}/`), "connection_reset")
      assert.strictEqual(yield* codeOf(`https://hooks.example:${port}/`), "connection_reset")
    }).pipe(local(), Effect.scoped))

  it.live("but sends interim responses without end is dropped after 16,384 bytes", () =>
    Effect.gen(function*() {
      const hints = `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n`.repeat(100)
      const port = yield* accepting((socket) => {
        const timer = setInterval(() => socket.write(hints), 1)
        socket.once("close", () => clearInterval(timer))
      })
      assert.strictEqual(yield* codeOf(`http://hooks.example:${port}/`), "protocol_error")
    }).pipe(local("10 seconds"), Effect.scoped))

  it.live("in time has timed out: silent in the handshake, or after an interim response", () =>
    Effect.gen(function*() {
      const port = yield* accepting((socket) => {
        const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n"), 10)
        socket.once("close", () => clearInterval(timer))
      })
      assert.strictEqual(yield* codeOf(`http://hooks.example:${port}/`), "timeout")
      const silent = yield* accepting(() => {})
      assert.strictEqual(yield* codeOf(`https://hooks.example:${silent}/`), "timeout")
    }).pipe(local("300 millis"), Effect.scoped))
})

describe("a connection", () => {
  it.effect("that is not open after five seconds has timed out", () =>
    Effect.gen(function*() {
      const heard = Promise.withResolvers<void>()
      const port = yield* accepting((socket) => socket.once("data", () => heard.resolve()))
      const attempt = yield* Effect.forkChild(codeOf(`https://hooks.example:${port}/`))
      yield* Effect.promise(() => heard.promise)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(attempt), "timeout")
    }).pipe(local("1 hour"), Effect.scoped))

  it.live("ends with its attempt, however that ends", () =>
    Effect.gen(function*() {
      const closed: Array<Promise<void>> = []
      const port = yield* accepting((socket) => {
        closed.push(new Promise((resolve) => socket.once("close", () => resolve())))
        socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n"))
      })
      assert.strictEqual((yield* post(`http://hooks.example:${port}/`)).body, "x")
      assert.strictEqual(yield* codeOf(`https://hooks.example:${port}/`), "tls_error")
      assert.lengthOf(yield* Effect.promise(() => Promise.all(closed)), 2)
    }).pipe(local("2 seconds"), Effect.scoped))

  it.live("is reused after a complete response, by one attempt at a time", () =>
    Effect.gen(function*() {
      const { connections, received, url } = yield* receive({ status: 200, headers: {}, body: "Grüße" })
      yield* Effect.replicateEffect(post(url), 50)
      assert.strictEqual(yield* connections, 1)
      yield* Effect.replicateEffect(post(url), 50, { concurrency: 8 })
      assert.strictEqual(yield* connections, 8)
      assert.lengthOf(yield* received, 100)
    }).pipe(local(), Effect.scoped))

  it.live("is not reused if the endpoint ends it with its response", () =>
    Effect.gen(function*() {
      const { connections, url } = yield* receive({ status: 200, headers: { connection: "close" }, body: "" })
      for (let number = 1; number <= 5; number++) {
        assert.strictEqual((yield* post(url)).status, 200)
        assert.strictEqual(yield* connections, number)
      }
    }).pipe(local(), Effect.scoped))

  it.live("that its endpoint has closed is replaced by another", () =>
    Effect.gen(function*() {
      let connections = 0
      const port = yield* accepting((socket) => {
        connections++
        socket.once("data", () => {
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
          socket.once("data", () => socket.resetAndDestroy())
        })
      })
      for (let number = 1; number <= 5; number++) {
        assert.strictEqual((yield* post(`http://hooks.example:${port}/`)).status, 200)
        assert.strictEqual(connections, number)
      }
    }).pipe(local(), Effect.scoped))

  it.live("is not replaced if the endpoint responds with nonsense, because it has received the event", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const port = yield* accepting((socket) => {
        heard.push("connection")
        socket.on("data", () => {
          heard.push("request")
          const isFirst = heard.filter((each) => each === "request").length === 1
          socket.write(isFirst ? "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" : "nonsense\r\n\r\n")
        })
      })
      assert.strictEqual((yield* post(`http://hooks.example:${port}/`)).status, 200)
      assert.strictEqual(yield* codeOf(`http://hooks.example:${port}/`), "protocol_error")
      assert.deepStrictEqual(heard, ["connection", "request", "request"])
    }).pipe(local(), Effect.scoped))

  it.live("leads to the checked address, even if the name resolves to another one later", () =>
    Effect.gen(function*() {
      const { connections, url } = yield* receive(ok)
      const addresses = [loopback, "127.0.0.2"]
      const resolve = () => Effect.sync(() => [addresses.shift() ?? "127.0.0.2"])
      const allowed = (address: string) => address === loopback
      const transport = layer({ resolve }).pipe(Layer.provide(Layer.succeed(AllowedAddresses, allowed)))
      yield* Effect.gen(function*() {
        const named = url.replace(loopback, "hooks.example")
        assert.strictEqual((yield* post(named)).status, 200)
        assert.strictEqual((yield* post(named)).status, 200)
        // A second one at the same time needs a connection of its own.
        const codes = yield* Effect.all([post(named), Effect.flip(post(named))], { concurrency: 2 })
        assert.deepInclude(codes[1], { failure_code: "blocked_address" })
      }).pipe(Effect.provide(transport))
      assert.strictEqual(yield* connections, 1)
    }).pipe(Effect.scoped))

  for (const protocol of ["http", "https"]) {
    it.live(`ends when its attempt is interrupted, over ${protocol}`, () =>
      Effect.gen(function*() {
        const heard = Promise.withResolvers<void>()
        const closed = Promise.withResolvers<void>()
        const port = yield* accepting((socket) => {
          socket.once("data", () => heard.resolve()).once("close", () => closed.resolve())
        })
        const attempt = yield* Effect.forkChild(post(`${protocol}://hooks.example:${port}/`))
        yield* Effect.promise(() => heard.promise)
        yield* Fiber.interrupt(attempt)
        yield* Effect.promise(() => closed.promise)
      }).pipe(local(), Effect.scoped))
  }

  it.live("belongs to one attempt: endless bodies do not delay each other", () =>
    Effect.gen(function*() {
      const { connections, url } = yield* receive("endless")
      const results = yield* Effect.all(Array.from({ length: 64 }, () => Effect.result(post(url))), {
        concurrency: "unbounded"
      })
      for (const result of results) assert.strictEqual(Result.getOrThrow(result).body, ".".repeat(4096))
      assert.strictEqual(yield* connections, 64)
    }).pipe(local(), Effect.scoped))
})
