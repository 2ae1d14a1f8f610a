import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import * as UnsignedBodies from "../src/UnsignedBodies.ts"

const chunk = (size: number) => new Uint8Array(new ArrayBuffer(size))

/** A request whose body arrives in these chunks. */
const requestOf = (...chunks: ReadonlyArray<Uint8Array<ArrayBuffer>>) =>
  HttpServerRequest.fromWeb(
    new Request("https://crm.example/ingress/graph", {
      method: "POST",
      duplex: "half",
      body: new ReadableStream({
        start: (controller) => {
          for (const each of chunks) controller.enqueue(each)
          controller.close()
        }
      })
    } as RequestInit) // `duplex` is missing in the types of the DOM.
  )

const isReleased = ({ buffer }: Uint8Array<ArrayBuffer>): boolean => buffer.detached

describe("the memory of a body that nobody signed", () => {
  const cases = [
    ["whose signature does not fit", { of_one: 100, of_all: 100 }, "none"],
    ["that is too large", { of_one: 15, of_all: 100 }, "BodyTooLarge"],
    ["that finds no place", { of_one: 100, of_all: 15 }, "Busy"]
  ] as const
  for (const [name, sizes, expected] of cases) {
    it.effect(`is given back at once: of one ${name}`, () =>
      Effect.gen(function*() {
        const read = UnsignedBodies.make(sizes)
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
      const read = UnsignedBodies.make({ of_one: 100, of_all: 100 })
      const shared = Uint8Array.from([1, 2, 3, 4])
      const body = yield* read(
        requestOf(shared.subarray(0, 2), Uint8Array.from([9])),
        (body) => Effect.succeed(Option.some(body))
      )
      assert.deepStrictEqual(Option.map(body, (bytes) => [...new Uint8Array(bytes)]), Option.some([1, 2, 9]))
      assert.deepStrictEqual([...shared], [1, 2, 3, 4])
    }))
})
