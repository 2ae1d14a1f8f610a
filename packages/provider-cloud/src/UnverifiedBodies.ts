/**
 * The bodies that the ingress reads before it knows who sent them.
 *
 * Their bytes are counted as they arrive, over all requests of the process: who
 * announces much and sends little takes nothing from the others.
 */
import { Data, Deferred, Effect, Option, type Scope, Semaphore, Stream } from "effect"
import type { HttpServerError, HttpServerRequest } from "effect/http"

/** The body is larger than a callback may be. */
export class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{}> {}

/** The process holds as many unverified bytes as it may. */
export class Busy extends Data.TaggedError("Busy")<{}> {}

/** The sizes, in bytes: of one body, and of all that are held at once. */
export interface Sizes {
  readonly of_one: number
  readonly of_all: number
}

/**
 * Releases the memory of bytes that are no longer read, which would otherwise accumulate to
 * a hundred megabytes of rejected bodies.
 */
const release = ({ buffer, byteLength }: Uint8Array): void => {
  // Other chunks may lie in the same buffer.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** What a callback rarely exceeds. Smaller bodies wait for no turn. */
const usual_bytes = 65_536

/**
 * Makes turns for large bodies: two at a time, so that a flood of them leaves time for other requests.
 * A turn ends with its scope, or after a second: who sends slowly keeps the others waiting no longer.
 */
const makeTurns = () => {
  const turns = Semaphore.makeUnsafe(2)
  return Effect.gen(function*() {
    const begun = yield* Deferred.make<void>()
    const turn = Effect.andThen(Deferred.succeed(begun, undefined), Effect.sleep("1 second"))
    yield* Effect.forkScoped(turns.withPermit(turn))
    yield* Deferred.await(begun)
  })
}

/**
 * Makes a function that reads a body and hands it to what checks its signature, which returns
 * none where it does not fit. The bytes count until that is done.
 */
export const make = ({ of_all, of_one }: Sizes) => {
  let held = 0
  const takeTurn = makeTurns()

  return <A, E, R>(
    request: HttpServerRequest.HttpServerRequest,
    check: (body: ArrayBuffer) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<A>, BodyTooLarge | Busy | E | HttpServerError.HttpServerError, R> =>
    Effect.suspend(() => {
      let size = 0
      const chunks: Array<Uint8Array> = []
      const refusalOf = (chunk: Uint8Array) => {
        if (size + chunk.byteLength > of_one) return new BodyTooLarge()
        return held + chunk.byteLength > of_all ? new Busy() : null
      }
      const take = (chunk: Uint8Array) =>
        Effect.suspend((): Effect.Effect<void, BodyTooLarge | Busy, Scope.Scope> => {
          const refusal = refusalOf(chunk)
          if (refusal !== null) {
            release(chunk)
            return refusal
          }
          const isUsual = size <= usual_bytes
          size += chunk.byteLength
          held += chunk.byteLength
          chunks.push(chunk)
          return isUsual && size > usual_bytes ? takeTurn : Effect.void
        })
      const joined = () => {
        const body = new Uint8Array(size)
        for (let [chunk, at] = [chunks.shift(), 0]; chunk !== undefined; chunk = chunks.shift()) {
          body.set(chunk, at)
          at += chunk.byteLength
          release(chunk)
        }
        return body
      }
      return Stream.runForEach(request.stream, take).pipe(
        Effect.flatMap(() => {
          const body = joined()
          return Effect.tap(check(body.buffer), (signed) => Effect.sync(() => Option.isNone(signed) && release(body)))
        }),
        Effect.ensuring(Effect.sync(() => {
          held -= size
          for (const chunk of chunks) release(chunk)
        })),
        Effect.scoped
      )
    })
}
