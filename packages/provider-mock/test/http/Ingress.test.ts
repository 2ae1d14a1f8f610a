/** The ingress for callbacks of a mock network in another process, over real sockets. */
import { assert, describe, it } from "@effect/vitest"
import {
  ChannelUnknown,
  Inbound,
  type MessageStatusReported,
  type ProviderEvent,
  type ProviderMessageReceived
} from "@messaging-crm/core/Inbound"
import { limits } from "@messaging-crm/core/Limits"
import { Secrets } from "@messaging-crm/core/Secrets"
import * as MockIngress from "@messaging-crm/provider-mock/http/Ingress"
import * as Protocol from "@messaging-crm/provider-mock/http/Protocol"
import { DateTime, Effect, Latch, Layer, Ref, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { request } from "node:http"
import { channel } from "../Deliveries.ts"
import { address, listen, post } from "./Server.ts"

const readReport = (id: string): MessageStatusReported => ({
  event: "message_status_reported",
  channel_id: channel.id,
  provider_message_id: id,
  reference: null,
  status: "read",
  at: DateTime.makeUnsafe(0)
})

const photo = (id: string, bytes: Uint8Array): ProviderMessageReceived => ({
  event: "message_received",
  channel_id: channel.id,
  provider_message_id: id,
  from: { external_id: "+4915112345678", display_name: null, username: null },
  type: "image",
  text: null,
  media: { kind: "image", mime_type: "image/png", filename: null, transcript: null, bytes },
  sent_at: DateTime.makeUnsafe(0)
})

const encode = Schema.encodeEffect(Schema.fromJsonString(Protocol.Callback))

const signatureOf = (body: string) =>
  Effect.map(Protocol.sign(body), (signature) => ({ [Protocol.signature_header]: signature }))

const postSigned = (url: string, body: string) =>
  Effect.flatMap(signatureOf(body), (signature) => post(url, body, signature))

/** Runs a test with the URL of an ingress that passes its events to `receive`. */
const withIngress = <A, E>(
  receive: Inbound["Service"]["receive"],
  test: (url: string) => Effect.Effect<A, E, Secrets>
) => {
  const ingress = HttpRouter.serve(MockIngress.layer, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(Layer.mock(Inbound, { receive })),
    Layer.provideMerge(Layer.merge(listen, Secrets.layer))
  )
  return Effect.flatMap(address, (url) => test(`${url}/ingress/mock`)).pipe(Effect.provide(ingress))
}

/** The ID of an event that the ingress cannot store. */
const broken = "broken"
/** The ID of an event of an unknown channel. */
const foreign = "foreign"

/** Runs a test with an ingress that records the IDs of the events that it stores, and the sizes of their files. */
const withRecordingIngress = <A, E>(
  test: (url: string, received: Effect.Effect<ReadonlyArray<string>>) => Effect.Effect<A, E, Secrets>
) =>
  Effect.flatMap(Ref.make<ReadonlyArray<string>>([]), (received) => {
    const receive = (event: ProviderEvent) => {
      const id = "provider_message_id" in event ? event.provider_message_id : ""
      if (id === broken) return Effect.die("The database is unavailable.")
      if (id === foreign) return Effect.fail(new ChannelUnknown({ channel_id: event.channel_id }))
      const bytes = event.event === "message_received" ? event.media?.bytes : undefined
      const text = bytes instanceof Uint8Array ? `${id}: ${bytes.byteLength} bytes` : id
      return Ref.update(received, (texts) => [...texts, text])
    }
    return withIngress(receive, (url) => test(url, Ref.get(received)))
  })

describe("accepted callbacks", () => {
  it.live("are signed, and their events of unknown channels are acknowledged", () =>
    withRecordingIngress(Effect.fnUntraced(function*(url, received) {
      const body = yield* encode({ events: [readReport("one"), readReport(foreign), readReport("größer 🙂")] })
      assert.strictEqual(yield* postSigned(url, body), 200)
      assert.deepStrictEqual(yield* received, ["one", "größer 🙂"])
    })))

  it.live("can contain the largest file", () =>
    withRecordingIngress(Effect.fnUntraced(function*(url, received) {
      const body = yield* encode({ events: [photo("one", new Uint8Array(limits.media_bytes_max))] })
      assert.strictEqual(yield* postSigned(url, body), 200)
      assert.deepStrictEqual(yield* received, [`one: ${limits.media_bytes_max} bytes`])
    })))
})

it.live("the ingress processes the other events of a batch if one fails, and requests the batch again", () =>
  withRecordingIngress(Effect.fnUntraced(function*(url, received) {
    const body = yield* encode({ events: [readReport(broken), readReport("two")] })
    assert.strictEqual(yield* postSigned(url, body), 500)
    assert.deepStrictEqual(yield* received, ["two"])
  })))

describe("rejected callbacks", () => {
  it.live("have no valid signature of exactly their bytes", () =>
    withRecordingIngress(Effect.fnUntraced(function*(url, received) {
      const secrets = yield* Secrets
      const body = yield* encode({ events: [readReport("one")] })
      const signature = yield* signatureOf(body)
      const digest = yield* secrets.sha256(body)
      const otherPurpose = { [Protocol.signature_header]: `${digest}.${yield* secrets.sign("cursor", digest)}` }
      assert.strictEqual(yield* post(url, body), 401)
      assert.strictEqual(yield* post(url, body, otherPurpose), 401)
      assert.strictEqual(yield* post(url, `${body} `, signature), 401)
      assert.strictEqual(yield* post(url, `\uFEFF${body}`, signature), 401)
      assert.strictEqual(yield* post(url, body.replace("one", "two"), signature), 401)
      assert.deepStrictEqual(yield* received, [])
    })))

  it.live("are signed, but are not UTF-8", () =>
    withRecordingIngress(Effect.fnUntraced(function*(url, received) {
      const signature = yield* signatureOf("{}")
      assert.strictEqual(yield* post(url, Uint8Array.of(0x7b, 0xff, 0x7d), signature), 400)
      assert.deepStrictEqual(yield* received, [])
    })))

  it.live("are signed, but have an invalid body", () =>
    withRecordingIngress(Effect.fnUntraced(function*(url, received) {
      for (const body of ["", "{", "{\"events\":[{}]}"]) assert.strictEqual(yield* postSigned(url, body), 400, body)
      assert.deepStrictEqual(yield* received, [])
    })))
})

/** Posts only the headers of a callback, without its body, and returns the status of the response. */
const postHeaders = (url: string, content_length: number, signature: string) =>
  Effect.callback<number | undefined>((resume) => {
    const headers = { "content-length": content_length, [Protocol.signature_header]: signature }
    const posted = request(url, { method: "POST", headers }, ({ statusCode }) => resume(Effect.succeed(statusCode)))
    posted.on("error", () => {})
    posted.flushHeaders()
    return Effect.sync(() => posted.destroy())
  })

describe("before it reads the body, the ingress", () => {
  const largest = Math.ceil(limits.media_bytes_max * 4 / 3) + 1_048_576
  const unused = () => Effect.die("No event is received.")

  it.live("rejects callbacks without a valid signature", () =>
    withIngress(
      unused,
      Effect.fnUntraced(function*(url) {
        const signature = yield* Protocol.sign("{}")
        for (const invalid of ["", "a.b", signature.toUpperCase(), `${signature}.x`]) {
          assert.strictEqual(yield* postHeaders(url, largest, invalid), 401, invalid)
        }
      })
    ))

  it.live("rejects callbacks that are too large", () =>
    withIngress(
      unused,
      Effect.fnUntraced(function*(url) {
        assert.strictEqual(yield* postHeaders(url, largest + 1, yield* Protocol.sign("{}")), 413)
      })
    ))
})

/** Returns a receiver that finishes no event until `expected` run at once, and the number of its events. */
const makeBlockedReceiver = Effect.fnUntraced(function*(expected: number) {
  const counts = yield* Ref.make({ running: 0, most_running: 0, total: 0 })
  const full = yield* Latch.make()
  const turn = Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))
  const start = Ref.updateAndGet(counts, ({ most_running, running, total }) => ({
    running: running + 1,
    most_running: Math.max(most_running, running + 1),
    total: total + 1
  }))
  const finish = Ref.update(counts, (count) => ({ ...count, running: count.running - 1 }))
  const receive = () =>
    start.pipe(
      Effect.tap(({ running }) => running === expected ? full.open : Effect.void),
      Effect.andThen(full.await),
      // Events above the limit would start during these turns.
      Effect.andThen(Effect.replicateEffect(turn, 200, { discard: true })),
      Effect.andThen(finish)
    )
  return { counts: Ref.get(counts), receive }
})

for (
  const { count, expected, name, padding } of [
    { name: "64 small bodies", padding: 0, count: 80, expected: 64 },
    { name: "two bodies of 16 MB", padding: 16_000_000, count: 5, expected: 2 }
  ]
) {
  it.live(`the ingress accepts ${name} at once, and lets the others wait`, () =>
    Effect.gen(function*() {
      const { counts, receive } = yield* makeBlockedReceiver(expected)
      const body = (yield* encode({ events: [readReport("one")] })) + " ".repeat(padding)
      const postAll = Effect.fnUntraced(function*(url: string) {
        const signature = yield* signatureOf(body)
        const posts = Array.from({ length: count }, () => post(url, body, signature))
        return yield* Effect.all(posts, { concurrency: "unbounded" })
      })
      const statuses = yield* withIngress(receive, postAll)
      assert.deepStrictEqual(statuses, Array<number>(count).fill(200))
      assert.deepStrictEqual(yield* counts, { running: 0, most_running: expected, total: count })
    }))
}
