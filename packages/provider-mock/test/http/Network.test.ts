/** The mock network in another process, as a provider reaches it over real sockets, and its callbacks. */
import { assert, describe, it } from "@effect/vitest"
import { limits } from "@messaging-crm/core/Limits"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { Secrets } from "@messaging-crm/core/Secrets"
import * as MockProvider from "@messaging-crm/provider-mock"
import * as CallbackSender from "@messaging-crm/provider-mock/http/CallbackSender"
import * as Network from "@messaging-crm/provider-mock/http/Network"
import * as Protocol from "@messaging-crm/provider-mock/http/Protocol"
import * as RemoteMock from "@messaging-crm/provider-mock/http/RemoteMock"
import { Effect, Layer, Logger, Option, Queue, References, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import type { RequestListener } from "node:http"
import { buffer } from "node:stream/consumers"
import { channel, delivery, kindOf, outcomeOf } from "../Deliveries.ts"
import { address, listen, post, start } from "./Server.ts"

/** Layer for a listening network that posts its callbacks to `callback_url`. */
const networkThatPostsTo = (callback_url: string) =>
  HttpRouter.serve(Network.layer, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.merge(CallbackSender.layer([callback_url])),
    Layer.provide(MockProvider.layer),
    Layer.provideMerge(listen)
  )

/** Runs a test with the URL of a network that posts its callbacks to `callback_url`, and with a provider that uses the network. */
const withNetwork = <A, E, R>(
  callback_url: string,
  test: (url: string) => Effect.Effect<A, E, MessagingProvider | R>
) => {
  const network = networkThatPostsTo(callback_url).pipe(
    // The mock logs a warning for each callback that is not accepted at once; here that is most of them.
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
  )
  return Effect.flatMap(address, (url) => Effect.provide(test(url), RemoteMock.layer(url))).pipe(
    Effect.provide(network)
  )
}

/** Returns the response to a report. */
const report = (url: string, event: object) =>
  Effect.promise(async () => {
    const headers = { "content-type": "application/json" }
    const response = await fetch(`${url}/report`, { method: "POST", headers, body: JSON.stringify(event) })
    return { status: response.status, text: await response.text() }
  })

/** A message with a file, as tests report it. */
const photo = (byte_size: number) => ({
  event: "message_received",
  channel_id: channel.id,
  provider_message_id: "m.1",
  from: { external_id: "+4915112345678", display_name: null, username: null },
  type: "image",
  text: null,
  media: {
    kind: "image",
    mime_type: "image/png",
    filename: null,
    transcript: null,
    bytes: Buffer.alloc(byte_size).toString("base64")
  },
  sent_at: "2026-11-27T01:00:00.000Z"
})

/** A URL that refuses connections: no program listens on this port, which requires privileges. */
const unreachable_url = "http://127.0.0.1:2"

/** Runs a test with a network whose callbacks no server receives. */
const withNetworkOnly = <A, E>(test: (url: string) => Effect.Effect<A, E, MessagingProvider>) =>
  withNetwork(unreachable_url, test)

/** Returns the number of accepted messages that match a query. */
const acceptedCount = (url: string, query = "") =>
  Effect.promise(async () => (await fetch(`${url}/accepted${query}`)).text()).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Schema.fromJsonString(Protocol.AcceptedMessages))),
    Effect.map(({ accepted }) => accepted.length)
  )

const accepted = delivery("+4915112345678")

const outcomes = [
  [accepted, "accepted"],
  [delivery("+4915112340002"), "rejected: recipient_unreachable"],
  [delivery("+4915112340004"), "busy: provider_unavailable, null"],
  [delivery("+4915112340009"), "busy: rate_limited, 2"],
  [delivery("+4915112340005"), "unknown"],
  [delivery("+4915112340006"), "unknown"]
] as const

describe("a provider over HTTP", () => {
  it.live("reports the same outcomes as the network in the same process", () =>
    withNetworkOnly(Effect.fnUntraced(function*() {
      for (const [message, expected] of outcomes) assert.strictEqual(yield* outcomeOf(message), expected)
    })))

  it.live("reports the outcome that a script sets", () =>
    withNetworkOnly(Effect.fnUntraced(function*(url) {
      const behavior = { responses: [{ response: "reject", reason: "template_invalid" }], reports: [], reply: null }
      const script = JSON.stringify({ target: { next_calls: 1 }, behavior })
      assert.strictEqual(yield* post(`${url}/script`, script), 204)
      assert.strictEqual(yield* outcomeOf(accepted), "rejected: template_invalid")
      assert.strictEqual(yield* acceptedCount(url), 0)
    })))

  it.live("returns the templates of an account whose ID has reserved characters", () =>
    withNetworkOnly(Effect.fnUntraced(function*() {
      const templates = yield* MessagingProvider.use((provider) => provider.templates("an account / of ours"))
      const accounts = templates.map((template) => template.phone_messaging_business_account_id)
      assert.deepStrictEqual(new Set(accounts), new Set(["an account / of ours"]))
    })))

  it.live("is busy and returns no templates while the network is down", () =>
    withNetworkOnly(Effect.fnUntraced(function*(url) {
      assert.strictEqual(yield* post(`${url}/down`, JSON.stringify({ down: true })), 204)
      const templates = yield* Effect.result(MessagingProvider.use((provider) => provider.templates("acme")))
      assert.isTrue(Result.isFailure(templates))
      assert.strictEqual(yield* outcomeOf(accepted), "busy: provider_unavailable, null")
      assert.strictEqual(yield* acceptedCount(url), 0)
    })))
})

describe("the network", () => {
  it.live("rejects an invalid script", () =>
    withNetworkOnly(Effect.fnUntraced(function*(url) {
      assert.strictEqual(yield* post(`${url}/script`, "{}"), 400)
    })))

  it.live("accepts a script for 1 to 10,000 whole calls", () =>
    withNetworkOnly(Effect.fnUntraced(function*(url) {
      const behavior = { responses: [{ response: "accept" }], reports: [], reply: null }
      for (const [next_calls, status] of [[0, 400], [1, 204], [1.5, 400], [10_000, 204], [10_001, 400]]) {
        const script = JSON.stringify({ target: { next_calls }, behavior })
        assert.strictEqual(yield* post(`${url}/script`, script), status, `${next_calls}`)
      }
    })))

  it.live("rejects a report with a field that no callback can have, and names the field", () =>
    withNetworkOnly(Effect.fnUntraced(function*(url) {
      const { status, text } = yield* report(url, { ...photo(1), sent_at: "yesterday" })
      assert.strictEqual(status, 400)
      assert.include(text, `at ["sent_at"]`)
      const tooLarge = yield* report(url, photo(limits.media_bytes_max + 1))
      assert.deepStrictEqual(tooLarge, {
        status: 400,
        text: `Expected at most 16000000 bytes\n  at ["media"]["bytes"]`
      })
      assert.strictEqual((yield* report(url, photo(limits.media_bytes_max))).status, 204)
    })))

  it.live("rejects a body that is larger than the largest report, or is not JSON", () =>
    withNetworkOnly(Effect.fnUntraced(function*(url) {
      const tooLarge = JSON.stringify("x".repeat(2 * limits.media_bytes_max))
      for (const path of ["deliver", "report", "script", "down"]) {
        assert.strictEqual(yield* post(`${url}/${path}`, tooLarge), 413, path)
        assert.strictEqual(yield* post(`${url}/${path}`, "{"), 400, path)
      }
      assert.strictEqual((yield* report(url, photo(limits.media_bytes_max))).status, 204)
    })))

  it.live("lists the accepted messages, also by reference and by recipient", () =>
    withNetworkOnly(Effect.fnUntraced(function*(url) {
      for (const [message] of outcomes) yield* outcomeOf(message)
      assert.strictEqual(yield* acceptedCount(url), 2)
      assert.strictEqual(yield* acceptedCount(url, `?reference=${accepted.reference}`), 1)
      assert.strictEqual(yield* acceptedCount(url, `?recipient=${encodeURIComponent("+4915112340005")}`), 1)
      assert.strictEqual(yield* acceptedCount(url, `?recipient=${encodeURIComponent("+4915112340006")}`), 0)
    })))
})

const outcomeAt = (url: string) => Effect.provide(outcomeOf(delivery("+49151")), RemoteMock.layer(url))

describe("the outcome over HTTP", () => {
  it.live("is busy if the connection is refused", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcomeAt(unreachable_url), "busy: provider_unavailable, null")
    }))

  for (
    const [name, listener, expected] of [
      [
        "busy after a 404",
        (_request, response) => response.writeHead(404).end("no"),
        "busy: provider_unavailable, null"
      ],
      ["unknown after a 502", (_request, response) => response.writeHead(502).end("<html>"), "unknown"],
      ["unknown after a 503 of a proxy", (_request, response) => response.writeHead(503).end("<html>"), "unknown"],
      ["unknown after an invalid 200", (_request, response) => response.writeHead(200).end("ok"), "unknown"],
      ["unknown if the response is lost", (request) => request.socket.destroy(), "unknown"]
    ] satisfies ReadonlyArray<readonly [string, RequestListener, string]>
  ) {
    it.live(`is ${name}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* outcomeAt(yield* start(listener)), expected)
      }).pipe(Effect.scoped))
  }
})

interface SignedCallback {
  readonly body: string
  readonly signature: string
}

/** Starts a server that rejects the first 5 callbacks with 503. Its queue has the callbacks that it accepts. */
const startReceiver = Effect.gen(function*() {
  const accepted = yield* Queue.unbounded<SignedCallback>()
  let requests = 0
  const url = yield* start(async (request, response) => {
    const isRejected = ++requests <= 5
    const body = String(await buffer(request))
    if (!isRejected) {
      Queue.offerUnsafe(accepted, { body, signature: String(request.headers[Protocol.signature_header]) })
    }
    response.writeHead(isRejected ? 503 : 200).end()
  })
  return { accepted, requestCount: () => requests, url }
})

const decodeCallback = Schema.decodeEffect(Schema.fromJsonString(Protocol.Callback))

/** Returns the events of a callback, whose signature must be valid. */
const signedEvents = Effect.fnUntraced(function*({ body, signature }: SignedCallback) {
  const digest = yield* Secrets.use((secrets) => secrets.sha256(body))
  assert.deepStrictEqual(yield* Protocol.signedDigest(signature), Option.some(digest))
  return (yield* decodeCallback(body)).events
})

it.live(
  "the network does not repeat a callback that the service rejects, and logs it once",
  () =>
    Effect.gen(function*() {
      const logs = yield* Queue.unbounded<readonly [message: string, status: unknown]>()
      const logger = Logger.make(({ fiber, message }) => {
        if (String(message).startsWith("Callback")) {
          Queue.offerUnsafe(logs, [String(message), fiber.getRef(References.CurrentLogAnnotations)["status"]])
        }
      })
      const statuses = [503, 302, 408, 429, 413]
      const heard: Array<string> = []
      const callback_url = yield* start((request, response) => {
        request.resume()
        response.writeHead(statuses[heard.length] ?? 200, { location: "/elsewhere" }).end()
        heard.push(`${request.method} ${request.url}`)
      })
      const network = networkThatPostsTo(callback_url).pipe(Layer.provide(Logger.layer([logger])))
      yield* Effect.gen(function*() {
        assert.strictEqual((yield* report(yield* address, photo(1))).status, 204)
        assert.deepStrictEqual(yield* Queue.take(logs), ["Callback failed; it is retried", 503])
        assert.deepStrictEqual(yield* Queue.take(logs), ["Callback rejected; it is not retried", 413])
      }).pipe(Effect.provide(network))
      assert.deepStrictEqual(heard, statuses.map(() => "POST /"))
    }).pipe(Effect.scoped)
)

it.live("the network repeats a signed callback until it receives a 200", () =>
  Effect.gen(function*() {
    const receiver = yield* startReceiver
    yield* withNetwork(
      receiver.url,
      Effect.fnUntraced(function*() {
        assert.strictEqual(yield* outcomeOf(delivery("+4915112340007")), "accepted")
        const kinds = new Set<string>()
        while (kinds.size < 4) {
          for (const event of yield* signedEvents(yield* Queue.take(receiver.accepted))) kinds.add(kindOf(event))
        }
        assert.deepStrictEqual(Array.from(kinds).toSorted(), ["delivered", "read", "sent", "text"])
        assert.isAbove(receiver.requestCount(), 5)
      })
    )
  }).pipe(Effect.provide(Secrets.layer), Effect.scoped))
