/** The telephone network in a process of its own, as servers reach it and are called back: over real sockets. */
import { assert, describe, it } from "@effect/vitest"
import {
  ChannelUnknown,
  Inbound,
  type MessageStatusReported,
  type ProviderEvent,
  type ProviderMessageReceived
} from "@messaging-crm/core/Inbound"
import { limits } from "@messaging-crm/core/Limits"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { Secrets } from "@messaging-crm/core/Secrets"
import * as Mock from "@messaging-crm/provider-mock"
import * as Callbacks from "@messaging-crm/provider-mock/Callbacks"
import * as MockIngress from "@messaging-crm/provider-mock/http/Ingress"
import * as Protocol from "@messaging-crm/provider-mock/http/Protocol"
import * as RemoteMock from "@messaging-crm/provider-mock/http/RemoteMock"
import { DateTime, Deferred, Effect, Latch, Layer, Option, Ref, References, Result, Schema } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { request, type RequestListener } from "node:http"
import { freePort } from "../src/dev/FreePort.ts"
import * as Listener from "../src/Listener.ts"
import * as Providers from "../src/Providers.ts"
import { eventually } from "../testing/Eventually.ts"
import { startHttpServer } from "../testing/TestHttpServer.ts"
import { channel, delivery, outcome } from "./Outbound.ts"

const listen = Listener.layer({ host: "127.0.0.1", port: 0 })

const address = HttpServer.addressFormattedWith(Effect.succeed)

/** The network on a port of its own, which calls back at this address. */
const network = (callback_url: string) =>
  Providers.mockNetwork([callback_url]).pipe(
    Layer.provideMerge(listen),
    // The mock logs a warning for each callback that is not accepted at once; here that is most of them.
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
  )

const post = (url: string, body: string | Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body
    })
    await response.arrayBuffer()
    return response.status
  })

const kindOf = (event: ProviderEvent): string => {
  if (event.event === "message_received") return event.type
  return event.event === "message_status_reported" ? event.status : event.event
}

describe("a provider over HTTP", () => {
  it.live("reports the same outcomes as the network in the same process", () =>
    Effect.gen(function*() {
      const nobody = `http://127.0.0.1:${yield* freePort}`
      yield* Effect.gen(function*() {
        const url = yield* address
        yield* Effect.gen(function*() {
          const first = delivery(1, "+4915112345678")
          assert.strictEqual(yield* outcome(first), "accepted")
          assert.strictEqual(yield* outcome(delivery(2, "+4915112340002")), "rejected: recipient_unreachable")
          assert.strictEqual(yield* outcome(delivery(3, "+4915112340004")), "busy: provider_unavailable, null")
          assert.strictEqual(yield* outcome(delivery(4, "+4915112340009")), "busy: rate_limited, 2")
          assert.strictEqual(yield* outcome(delivery(5, "+4915112340005")), "unknown")
          assert.strictEqual(yield* outcome(delivery(6, "+4915112340006")), "unknown")

          const rejects = { responses: [{ response: "reject", reason: "template_invalid" }], reports: [], reply: null }
          const script = JSON.stringify({ target: { next_calls: 1 }, behavior: rejects })
          assert.strictEqual(yield* post(`${url}/script`, script), 204)
          assert.strictEqual(yield* outcome(delivery(7, "+4915112345678")), "rejected: template_invalid")

          const { templates } = yield* MessagingProvider
          const accounts = (yield* templates("an account / of ours")).map((template) =>
            template.phone_messaging_business_account_id
          )
          assert.deepStrictEqual(new Set(accounts), new Set(["an account / of ours"]))
          assert.strictEqual(yield* post(`${url}/down`, JSON.stringify({ down: true })), 204)
          assert.isTrue(Result.isFailure(yield* Effect.result(templates("acme"))))
          assert.strictEqual(yield* outcome(delivery(8, "+4915112345678")), "busy: provider_unavailable, null")
          assert.strictEqual(yield* post(`${url}/script`, "{}"), 400)

          const count = (query: string) =>
            Effect.promise(async () => (await fetch(`${url}/accepted${query}`)).text()).pipe(
              Effect.flatMap(Schema.decodeUnknownEffect(Schema.fromJsonString(Protocol.AcceptedMessages))),
              Effect.map(({ accepted }) => accepted.length)
            )
          assert.strictEqual(yield* count(""), 2)
          assert.strictEqual(yield* count(`?reference=${first.reference}`), 1)
          assert.strictEqual(yield* count(`?recipient=${encodeURIComponent("+4915112340005")}`), 1)
          assert.strictEqual(yield* count(`?recipient=${encodeURIComponent("+4915112340006")}`), 0)
        }).pipe(Effect.provide(RemoteMock.layer(url)))
      }).pipe(Effect.provide(network(nobody)))
    }))

  it.live("is busy if the connection is refused, and has an unknown outcome if the response is lost or invalid", () =>
    Effect.gen(function*() {
      const nobody = `http://127.0.0.1:${yield* freePort}`
      const rejected = yield* Effect.provide(outcome(delivery(1, "+49151")), RemoteMock.layer(nobody))
      assert.strictEqual(rejected, "busy: provider_unavailable, null")
      for (
        const [listener, expected] of [
          [(_request, response) => response.writeHead(404).end("no"), "busy: provider_unavailable, null"],
          [(_request, response) => response.writeHead(502).end("<html>"), "unknown"],
          [(_request, response) => response.writeHead(503).end("<html>"), "unknown"],
          [(_request, response) => response.writeHead(200).end("ok"), "unknown"],
          [(request) => request.socket.destroy(), "unknown"]
        ] satisfies ReadonlyArray<readonly [RequestListener, string]>
      ) {
        const url = yield* startHttpServer(listener)
        assert.strictEqual(yield* Effect.provide(outcome(delivery(1, "+49151")), RemoteMock.layer(url)), expected)
      }
    }).pipe(Effect.scoped))
})

it.live("the network repeats a signed callback until it gets a 200", () =>
  Effect.gen(function*() {
    const rejections = yield* Ref.make(0)
    const received = yield* Ref.make<ReadonlyArray<{ readonly body: string; readonly signature: string }>>([])
    const run = Effect.runForkWith(yield* Effect.context())
    const url = yield* startHttpServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () =>
        run(Effect.gen(function*() {
          const rejected = (yield* Ref.getAndUpdate(rejections, (count) => count + 1)) < 5
          const signature = String(request.headers[Protocol.signature_header])
          const body = Buffer.concat(chunks).toString()
          if (!rejected) yield* Ref.update(received, (all) => [...all, { body, signature }])
          response.writeHead(rejected ? 503 : 200).end()
        })))
    })
    const statuses = Effect.gen(function*() {
      const secrets = yield* Secrets
      const callbacks = yield* Ref.get(received)
      const events = yield* Effect.forEach(
        callbacks,
        Effect.fnUntraced(function*({ body, signature }) {
          assert.deepStrictEqual(yield* Protocol.signedDigest(signature), Option.some(yield* secrets.sha256(body)))
          return (yield* Schema.decodeEffect(Schema.fromJsonString(Protocol.Callback))(body)).events
        })
      )
      return new Set(
        events.flat().map(kindOf)
      )
    }).pipe(Effect.provide(Secrets.layer))

    yield* Effect.gen(function*() {
      const remote = RemoteMock.layer(yield* address)
      assert.strictEqual(yield* Effect.provide(outcome(delivery(1, "+4915112340007")), remote), "accepted")
      const reported = yield* eventually(statuses, ({ size }) => size === 4)
      assert.deepStrictEqual(Array.from(reported).toSorted(), ["delivered", "read", "sent", "text"])
      assert.isAbove(yield* Ref.get(rejections), 5)
    }).pipe(Effect.provide(network(url)))
  }).pipe(Effect.scoped))

const event = (name: string): MessageStatusReported => ({
  event: "message_status_reported",
  channel_id: channel.id,
  provider_message_id: name,
  reference: null,
  status: "read",
  at: DateTime.makeUnsafe(0)
})

const photo = (name: string, bytes: Uint8Array): ProviderMessageReceived => ({
  event: "message_received",
  channel_id: channel.id,
  provider_message_id: name,
  from: { external_id: "+4915112345678", display_name: null, username: null },
  type: "image",
  text: null,
  media: { kind: "image", mime_type: "image/png", filename: null, transcript: null, bytes },
  sent_at: DateTime.makeUnsafe(0)
})

describe("the ingress", () => {
  const encode = Schema.encodeEffect(Schema.fromJsonString(Protocol.Callback))

  /** Posts to an ingress that fails for some events, and returns the events that it accepted. */
  const ingress = <A, E>(
    use: (url: string, received: Effect.Effect<ReadonlyArray<string>>) => Effect.Effect<A, E, Secrets>
  ) =>
    Effect.gen(function*() {
      const received = yield* Ref.make<ReadonlyArray<string>>([])
      const inbound = Layer.succeed(Inbound, {
        receive: (event: ProviderEvent) => {
          const { channel_id } = event
          const name = "provider_message_id" in event ? event.provider_message_id : ""
          if (event.event === "message_received") {
            const bytes = event.media?.bytes
            const size = bytes instanceof Uint8Array ? bytes.byteLength : 0
            return Ref.update(received, (names) => [...names, `${name}: ${size} bytes`])
          }
          if (name === "broken") return Effect.die("The database is away.")
          if (name === "foreign") return Effect.fail(new ChannelUnknown({ channel_id }))
          return Ref.update(received, (names) => [...names, name])
        }
      })
      const service = HttpRouter.serve(MockIngress.layer, { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(inbound),
        Layer.provideMerge(Layer.merge(listen, Secrets.layer))
      )
      return yield* Effect.gen(function*() {
        return yield* use(`${yield* address}/ingress/mock`, Ref.get(received))
      }).pipe(Effect.provide(service))
    })

  it.live("accepts signed callbacks, and acknowledges events of unknown channels", () =>
    ingress((url, received) =>
      Effect.gen(function*() {
        const body = yield* encode({ events: [event("one"), event("foreign"), event("größer 🙂")] })
        const signature = yield* Protocol.sign(body)
        assert.strictEqual(yield* post(url, body, { [Protocol.signature_header]: signature }), 200)
        assert.deepStrictEqual(yield* received, ["one", "größer 🙂"])
      })
    ))

  it.live("accepts the largest file", () =>
    ingress((url, received) =>
      Effect.gen(function*() {
        const body = yield* encode({ events: [photo("one", new Uint8Array(limits.media_bytes_max))] })
        const signature = yield* Protocol.sign(body)
        assert.strictEqual(yield* post(url, body, { [Protocol.signature_header]: signature }), 200)
        assert.deepStrictEqual(yield* received, [`one: ${limits.media_bytes_max} bytes`])
      })
    ))

  /** Sends the head of a post whose body never comes, and returns the status of the response. */
  const headOnly = (url: string, content_length: number, signature: string) =>
    Effect.callback<number | undefined>((resume) => {
      const headers = { "content-length": content_length, [Protocol.signature_header]: signature }
      const asked = request(url, { method: "POST", headers }, ({ statusCode }) => resume(Effect.succeed(statusCode)))
      asked.on("error", () => {})
      asked.flushHeaders()
      return Effect.sync(() => asked.destroy())
    })

  it.live("rejects unsigned and oversized callbacks before reading the body", () =>
    ingress((url) =>
      Effect.gen(function*() {
        const signature = yield* Protocol.sign("{}")
        const largest = Math.ceil(limits.media_bytes_max * 4 / 3) + 1_048_576
        assert.strictEqual(yield* headOnly(url, largest, ""), 401)
        assert.strictEqual(yield* headOnly(url, largest, "a.b"), 401)
        assert.strictEqual(yield* headOnly(url, largest, signature.toUpperCase()), 401)
        assert.strictEqual(yield* headOnly(url, largest, `${signature}.x`), 401)
        assert.strictEqual(yield* headOnly(url, largest + 1, signature), 413)
      })
    ))

  for (
    const { count, expected, name, padding } of [
      { name: "64 small bodies", padding: 0, count: 80, expected: 64 },
      { name: "two bodies of 16 MB", padding: 16_000_000, count: 5, expected: 2 }
    ]
  ) {
    it.live(`accepts ${name} at once, and lets the others wait`, () =>
      Effect.gen(function*() {
        const running = yield* Ref.make({ now: 0, most: 0, all: 0 })
        const full = yield* Latch.make()
        const turn = Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))
        const inbound = Layer.succeed(Inbound, {
          receive: () =>
            Ref.updateAndGet(
              running,
              ({ all, most, now }) => ({ now: now + 1, most: Math.max(most, now + 1), all: all + 1 })
            ).pipe(
              Effect.flatMap(({ now }) => now === expected ? full.open : Effect.void),
              Effect.andThen(full.await),
              Effect.andThen(Effect.replicateEffect(turn, 200, { discard: true })),
              Effect.andThen(Ref.update(running, (each) => ({ ...each, now: each.now - 1 })))
            )
        })
        const service = HttpRouter.serve(MockIngress.layer, { disableLogger: true, disableListenLog: true }).pipe(
          Layer.provide(inbound),
          Layer.provideMerge(Layer.merge(listen, Secrets.layer))
        )
        yield* Effect.gen(function*() {
          const url = `${yield* address}/ingress/mock`
          const body = (yield* encode({ events: [event("one")] })) + " ".repeat(padding)
          const headers = { [Protocol.signature_header]: yield* Protocol.sign(body) }
          const posts = Array.from({ length: count }, () => post(url, body, headers))
          const statuses = yield* Effect.all(posts, { concurrency: "unbounded" })
          assert.deepStrictEqual(statuses, posts.map(() => 200))
          assert.deepStrictEqual(yield* Ref.get(running), { now: 0, most: expected, all: count })
        }).pipe(Effect.provide(service))
      }))
  }

  it.live("processes the other events of a batch if one fails, and requests the batch again", () =>
    ingress((url, received) =>
      Effect.gen(function*() {
        const body = yield* encode({ events: [event("broken"), event("two")] })
        const signature = yield* Protocol.sign(body)
        assert.strictEqual(yield* post(url, body, { [Protocol.signature_header]: signature }), 500)
        assert.deepStrictEqual(yield* received, ["two"])
      })
    ))

  it.live("rejects callbacks with a wrong signature or an invalid body", () =>
    ingress((url, received) =>
      Effect.gen(function*() {
        const secrets = yield* Secrets
        const body = yield* encode({ events: [event("one")] })
        const signature = yield* Protocol.sign(body)
        const signed = { [Protocol.signature_header]: signature }
        const digest = yield* secrets.sha256(body)
        const foreign = { [Protocol.signature_header]: `${digest}.${yield* secrets.sign("cursor", digest)}` }
        assert.strictEqual(yield* post(url, body), 401)
        assert.strictEqual(yield* post(url, body, foreign), 401)
        assert.strictEqual(yield* post(url, `${body} `, signed), 401)
        assert.strictEqual(yield* post(url, `\uFEFF${body}`, signed), 401)
        assert.strictEqual(yield* post(url, body.replace("one", "two"), signed), 401)
        assert.strictEqual(yield* post(url, Uint8Array.of(0x7b, 0xff, 0x7d), signed), 400)
        for (const unfit of ["", "{", "{\"events\":[{}]}"]) {
          const own = { [Protocol.signature_header]: yield* Protocol.sign(unfit) }
          assert.strictEqual(yield* post(url, unfit, own), 400)
        }
        assert.deepStrictEqual(yield* received, [])
      })
    ))
})

describe("the network in the same process", () => {
  /** Delivers one message to a number that replies, stops at `time`, and returns the events received by then. */
  const receivedFrom = (receive: (event: ProviderEvent) => Effect.Effect<void>, time: Effect.Effect<void>) =>
    Effect.gen(function*() {
      const received = yield* Ref.make<ReadonlySet<string>>(new Set())
      const inbound = Layer.succeed(Inbound, {
        receive: (event) =>
          Effect.andThen(receive(event), Ref.update(received, (kinds) => new Set([...kinds, kindOf(event)])))
      })
      const layer = Callbacks.layer.pipe(Layer.provide(inbound), Layer.provideMerge(Mock.layer))
      const delivered = Effect.tap(outcome(delivery(1, "+4915112340007")), time)
      assert.strictEqual(yield* Effect.provide(delivered, layer), "accepted")
      return Array.from(yield* Ref.get(received)).toSorted()
    })

  it.live("delivers its pending callbacks when the process stops", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* receivedFrom(() => Effect.void, Effect.void), ["delivered", "read", "sent", "text"])
    }))

  it.live("does not delay a stop for long when no callback is accepted", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const hangs = () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
      assert.deepStrictEqual(yield* receivedFrom(hangs, Deferred.await(begun)), [])
    }))

  it.live("repeats a callback that was not accepted", () =>
    Effect.gen(function*() {
      const received = yield* Ref.make<ReadonlyArray<string>>([])
      const inbound = Layer.succeed(Inbound, {
        receive: (event) =>
          Ref.modify(received, (kinds) => {
            const isFirst = !kinds.includes(kindOf(event))
            return [isFirst ? Effect.die("The database is away.") : Effect.void, [...kinds, kindOf(event)]]
          }).pipe(Effect.flatten)
      })
      const layer = Callbacks.layer.pipe(Layer.provide(inbound), Layer.provideMerge(Mock.layer))
      const times = (kind: string) =>
        Effect.map(Ref.get(received), (kinds) => kinds.filter((one) => one === kind).length)
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* outcome(delivery(1, "+4915112340001")), "accepted")
        for (const kind of ["sent", "delivered"]) {
          yield* eventually(times(kind), (count) => count >= 2)
        }
      }).pipe(Effect.provide(layer))
    }))
})
