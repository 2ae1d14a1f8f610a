import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import * as SignedBodies from "../src/SignedBodies.ts"

const chunk = (size: number) => new Uint8Array(new ArrayBuffer(size))

const streaming = (body: ReadableStream<Uint8Array>) =>
  HttpServerRequest.fromWeb(
    // `duplex` is missing in the types of the DOM.
    new Request("https://crm.example/ingress/graph", { method: "POST", duplex: "half", body } as RequestInit)
  )

/** A request whose body arrives in these chunks. */
const requestOf = (...chunks: ReadonlyArray<Uint8Array<ArrayBuffer>>) =>
  streaming(
    new ReadableStream({
      start: (controller) => {
        for (const each of chunks) controller.enqueue(each)
        controller.close()
      }
    })
  )

const isReleased = ({ buffer }: Uint8Array<ArrayBuffer>): boolean => buffer.detached

describe("the memory of an unsigned body", () => {
  const cases = [
    ["whose signature is invalid", { body_bytes_max: 100, total_bytes_max: 100 }, "none"],
    ["that is too large", { body_bytes_max: 15, total_bytes_max: 100 }, "BodyTooLarge"],
    ["that exceeds the limit of the process", { body_bytes_max: 100, total_bytes_max: 15 }, "Busy"]
  ] as const
  for (const [name, sizes, expected] of cases) {
    it.effect(`is released at once: of one ${name}`, () =>
      Effect.gen(function*() {
        const read = SignedBodies.makeReader(sizes)
        const chunks = [chunk(10), chunk(10)]
        const bodies: Array<ArrayBuffer> = []
        const check = (body: ArrayBuffer) => Effect.sync(() => (bodies.push(body), Option.none()))
        const outcome = yield* read(requestOf(...chunks), check).pipe(
          Effect.map(({ _tag }) => _tag === "None" ? "none" : "some"),
          Effect.catch(({ _tag }) => Effect.succeed(_tag))
        )
        assert.strictEqual(outcome, expected)
        assert.isTrue(chunks.every(isReleased))
        assert.isTrue(bodies.every((body) => body.detached))
      }))
  }

  it.effect("is not freed if it is signed, or if its buffer has other bytes", () =>
    Effect.gen(function*() {
      const read = SignedBodies.makeReader({ body_bytes_max: 100, total_bytes_max: 100 })
      const shared = Uint8Array.from([1, 2, 3, 4])
      const body = yield* read(
        requestOf(shared.subarray(0, 2), Uint8Array.from([9])),
        (body) => Effect.succeed(Option.some(body))
      )
      assert.deepStrictEqual(Option.map(body, (bytes) => [...new Uint8Array(bytes)]), Option.some([1, 2, 9]))
      assert.deepStrictEqual([...shared], [1, 2, 3, 4])
    }))
})

describe("a reader of unverified bodies", () => {
  /** A body of which a part arrives, and then nothing. */
  const stalled = (size: number) => streaming(new ReadableStream({ start: (it) => it.enqueue(chunk(size)) }))

  const start = Effect.fnUntraced(function*() {
    const read = SignedBodies.makeReader({ body_bytes_max: 100_000, total_bytes_max: 200_000 })
    const sizeOf = (request: HttpServerRequest.HttpServerRequest) =>
      read(request, (body) => Effect.succeed(Option.some(body.byteLength)))
    const begin = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const fiber = yield* Effect.forkChild(Effect.flip(sizeOf(request)), { startImmediately: true })
      // The stream of the web yields its chunks in later turns of the event loop.
      yield* Effect.promise(() => new Promise((resume) => setImmediate(resume)))
      return fiber
    })
    return { begin, sizeOf }
  })

  it.effect("accepts every body that arrives at once, while 300 bodies that stall use all of its memory", () =>
    Effect.gen(function*() {
      const { begin, sizeOf } = yield* start()
      const slow = yield* Effect.forEach(Array.from({ length: 300 }), () => begin(stalled(1000)))
      for (let seconds = 0; seconds < 4; seconds++) {
        for (const size of [200, 90_000]) {
          assert.deepStrictEqual(yield* sizeOf(requestOf(chunk(size), chunk(20))), Option.some(size + 20))
        }
        yield* TestClock.adjust("1 second")
      }
      yield* TestClock.adjust("1 second")
      for (const fiber of slow) assert.instanceOf(yield* Fiber.join(fiber), SignedBodies.Busy)
    }))

  it.effect("drops the slowest body, and no other", () =>
    Effect.gen(function*() {
      const { begin, sizeOf } = yield* start()
      const slow = new Map<ReadableStreamDefaultController<Uint8Array>, number>()
      const sending = (size: number) =>
        streaming(
          new ReadableStream({
            start: (it) => {
              it.enqueue(chunk(size))
              slow.set(it, size)
            }
          })
        )
      const bodies = yield* Effect.forEach([60_000, 50_000, 70_000], (size) => begin(sending(size)))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* sizeOf(requestOf(chunk(40_000))), Option.some(40_000))
      for (const [controller] of slow) controller.close()
      const failed = yield* Effect.forEach(bodies, (fiber) => Effect.isSuccess(Fiber.join(fiber)))
      // A body that is read to its end fails the flipped effect.
      assert.deepStrictEqual(failed, [false, true, false])
    }))
})

describe("a signature", () => {
  const secret = Redacted.make("app secret")
  const body = new TextEncoder().encode("{\"object\":\"page\"}")
  const signature = `sha256=${createHmac("sha256", Redacted.value(secret)).update(body).digest("hex")}`

  it.effect("is the HMAC-SHA256 of the bytes in hexadecimal", () =>
    Effect.gen(function*() {
      assert.strictEqual(SignedBodies.signature_header, "x-hub-signature-256")
      assert.strictEqual(yield* SignedBodies.sign(secret, body), signature)
      for (const valid of [signature, signature.toUpperCase().replace("SHA", "sha")]) {
        assert.isTrue(SignedBodies.isSignature(valid))
        assert.isTrue(yield* SignedBodies.verify(secret, body, valid))
      }
    }))

  it.effect("is invalid in another form, with any digit changed, for another body or secret", () =>
    Effect.gen(function*() {
      for (const other of ["", "sha256=", signature.slice(7), ` ${signature}`, `${signature}0`, `x${signature}`]) {
        assert.isFalse(SignedBodies.isSignature(other), other)
        assert.isFalse(yield* SignedBodies.verify(secret, body, other), other)
      }
      for (let at = "sha256=".length; at < signature.length; at++) {
        const changed = `${signature.slice(0, at)}${signature[at] === "0" ? "1" : "0"}${signature.slice(at + 1)}`
        assert.isFalse(yield* SignedBodies.verify(secret, body, changed), changed)
      }
      assert.isFalse(yield* SignedBodies.verify(secret, body.subarray(1), signature))
      assert.isFalse(yield* SignedBodies.verify(Redacted.make("App secret"), body, signature))
    }))
})

it.effect("bodies may be exactly as large as their limits", () =>
  Effect.gen(function*() {
    const sizeOf = (limits: SignedBodies.Limits, ...sizes: ReadonlyArray<number>) =>
      SignedBodies.makeReader(limits)(
        requestOf(...sizes.map(chunk)),
        (body) => Effect.succeed(Option.some(body.byteLength))
      )
    for (const limits of [{ body_bytes_max: 20, total_bytes_max: 99 }, { body_bytes_max: 99, total_bytes_max: 20 }]) {
      assert.deepStrictEqual(yield* sizeOf(limits, 10, 10), Option.some(20))
      assert.isTrue(yield* Effect.isFailure(sizeOf(limits, 10, 11)))
    }
  }))
