/**
 * The bodies that the ingress reads before it knows who sent them.
 *
 * Their bytes are counted as they arrive, over all requests of the process: who
 * announces much and sends little takes nothing from the others.
 */
import { Data, Effect, Stream } from "effect"
import type { HttpServerError, HttpServerRequest } from "effect/http"

/** The body is larger than a callback may be. */
export class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{}> {}

/** The process holds as many unsigned bytes as it may. */
export class Busy extends Data.TaggedError("Busy")<{}> {}

/** The sizes, in bytes: of one body, and of all that are held at once. */
export interface Sizes {
  readonly of_one: number
  readonly of_all: number
}

/** Makes a function that reads a body and hands it to what checks its signature. The bytes count until that is done. */
export const make = ({ of_all, of_one }: Sizes) => {
  let held = 0

  return <A, E, R>(
    request: HttpServerRequest.HttpServerRequest,
    check: (body: ArrayBuffer) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, BodyTooLarge | Busy | E | HttpServerError.HttpServerError, R> =>
    Effect.suspend(() => {
      let size = 0
      const chunks: Array<Uint8Array> = []
      const take = (chunk: Uint8Array) =>
        Effect.suspend((): Effect.Effect<void, BodyTooLarge | Busy> => {
          if (size + chunk.byteLength > of_one) return new BodyTooLarge()
          if (held + chunk.byteLength > of_all) return new Busy()
          size += chunk.byteLength
          held += chunk.byteLength
          chunks.push(chunk)
          return Effect.void
        })
      return Stream.runForEach(request.stream, take).pipe(
        Effect.flatMap(() => {
          const body = new Uint8Array(size)
          for (let [chunk, at] = [chunks.shift(), 0]; chunk !== undefined; chunk = chunks.shift()) {
            body.set(chunk, at)
            at += chunk.byteLength
          }
          return check(body.buffer)
        }),
        Effect.ensuring(Effect.sync(() => held -= size))
      )
    })
}
