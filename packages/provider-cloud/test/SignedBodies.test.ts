import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
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

describe("the memory of a body that nobody signed", () => {
  const cases = [
    ["whose signature does not fit", { body_bytes_max: 100, total_bytes_max: 100 }, "none"],
    ["that is too large", { body_bytes_max: 15, total_bytes_max: 100 }, "BodyTooLarge"],
    ["that finds no place", { body_bytes_max: 100, total_bytes_max: 15 }, "Busy"]
  ] as const
  for (const [name, sizes, expected] of cases) {
    it.effect(`is given back at once: of one ${name}`, () =>
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

  it.effect("is left alone where it is signed, and where other bytes lie beside its own", () =>
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

describe("large bodies that nobody signed yet", () => {
  /** A body of which a part arrives, and then nothing. */
  const stalled = () => streaming(new ReadableStream({ start: (controller) => controller.enqueue(chunk(70_000)) }))

  it.effect("are read two at a time, and who sends slowly keeps the others waiting for a second; small ones wait for none", () =>
    Effect.gen(function*() {
      const read = SignedBodies.makeReader({ body_bytes_max: 100_000, total_bytes_max: 1_000_000 })
      const sizeOf = (request: HttpServerRequest.HttpServerRequest) =>
        read(request, (body) => Effect.succeed(Option.some(body.byteLength)))
      yield* Effect.forkChild(sizeOf(stalled()), { startImmediately: true })
      yield* Effect.forkChild(sizeOf(stalled()), { startImmediately: true })
      const third = yield* Effect.forkChild(sizeOf(requestOf(chunk(70_000), chunk(20))), { startImmediately: true })
      for (let number = 0; number < 10; number++) {
        assert.deepStrictEqual(yield* sizeOf(requestOf(chunk(65_000), chunk(20))), Option.some(65_020))
      }
      assert.isUndefined(third.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(third), Option.some(70_020))
    }))
})
