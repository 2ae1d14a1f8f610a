/**
 * Verifies signatures of callbacks, and limits the memory of bodies that are not verified yet.
 *
 * A signature is the HMAC-SHA256 of the raw bytes, under an app's secret. The bytes of unverified bodies are counted as
 * they arrive, over all requests of the process, so that a client that announces a large body and sends little occupies
 * no memory.
 */
import { hex } from "@messaging-crm/core/Digests"
import { Data, Effect, Option, Redacted, type Scope, Stream } from "effect"
import type { HttpServerError, HttpServerRequest } from "effect/http"
import { makeLargeBodySlots } from "./LargeBodySlots.ts"

// ---------------------------------------------------------- signatures

/** The header with the signature. */
export const signature_header = "x-hub-signature-256"

const shape = /^sha256=([0-9a-f]{64})$/i
const encoder = new TextEncoder()

/** Returns whether a header has the form of a signature. The body of a request without one is not read. */
export const isSignature = (header: string): boolean => shape.test(header)

const keyOf = (secret: Redacted.Redacted) =>
  globalThis.crypto.subtle.importKey(
    "raw",
    encoder.encode(Redacted.value(secret)),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign", "verify"]
  )

/** Returns the header's value for a body. */
export const sign = (secret: Redacted.Redacted, body: BufferSource): Effect.Effect<string> =>
  Effect.promise(async () => {
    const signature = await globalThis.crypto.subtle.sign("HMAC", await keyOf(secret), body)
    return `sha256=${hex(new Uint8Array(signature))}`
  })

/** Returns whether the header is the body's signature, compared in constant time. */
export const verify = (secret: Redacted.Redacted, body: BufferSource, header: string): Effect.Effect<boolean> => {
  const [, digits] = shape.exec(header) ?? []
  if (digits === undefined) return Effect.succeed(false)
  const signature = Uint8Array.from({ length: 32 }, (_, index) => parseInt(digits.slice(index * 2, index * 2 + 2), 16))
  // The comparison of WebCrypto takes the same time for every signature.
  return Effect.promise(async () => globalThis.crypto.subtle.verify("HMAC", await keyOf(secret), signature, body))
}

// ----------------------------------------------------- unverified bodies

/** The body is larger than a callback can be. */
export class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{}> {}

/** The process has reached its limit of unverified bytes. */
export class Busy extends Data.TaggedError("Busy")<{}> {}

/** The limits, in bytes: of one body, and of all that are not verified yet. */
export interface Limits {
  readonly body_bytes_max: number
  readonly total_bytes_max: number
}

/** Frees the memory of bytes, which would otherwise accumulate to a hundred megabytes of rejected bodies. */
const free = ({ buffer, byteLength }: Uint8Array): void => {
  // Other chunks may lie in the same buffer.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** A body in the chunks in which it arrives. */
class Chunks {
  byte_size = 0
  private readonly chunks: Array<Uint8Array> = []

  add(chunk: Uint8Array): void {
    this.byte_size += chunk.byteLength
    this.chunks.push(chunk)
  }

  /** Returns the body, and frees its chunks one by one. */
  join() {
    const body = new Uint8Array(this.byte_size)
    for (let [chunk, at] = [this.chunks.shift(), 0]; chunk !== undefined; chunk = this.chunks.shift()) {
      body.set(chunk, at)
      at += chunk.byteLength
      free(chunk)
    }
    return body
  }

  free(): void {
    for (const chunk of this.chunks) free(chunk)
  }
}

/** The size up to which a body needs no slot. Callbacks are rarely larger. */
const small_bytes_max = 65_536

/**
 * Makes a function that reads a body and passes it to `check`, which returns none if the signature is invalid. The
 * bytes count until then.
 */
export const makeReader = ({ body_bytes_max, total_bytes_max }: Limits) => {
  let unverified_bytes = 0
  const acquireSlot = makeLargeBodySlots()

  const exceeded = (body: Chunks, { byteLength }: Uint8Array) => {
    if (body.byte_size + byteLength > body_bytes_max) return new BodyTooLarge()
    return unverified_bytes + byteLength > total_bytes_max ? new Busy() : null
  }

  const add = (body: Chunks, chunk: Uint8Array): Effect.Effect<void, BodyTooLarge | Busy, Scope.Scope> => {
    const error = exceeded(body, chunk)
    if (error !== null) {
      free(chunk)
      return error
    }
    const wasSmall = body.byte_size <= small_bytes_max
    body.add(chunk)
    unverified_bytes += chunk.byteLength
    return wasSmall && body.byte_size > small_bytes_max ? acquireSlot : Effect.void
  }

  return <A, E, R>(
    request: HttpServerRequest.HttpServerRequest,
    check: (body: ArrayBuffer) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<A>, BodyTooLarge | Busy | E | HttpServerError.HttpServerError, R> =>
    Effect.suspend(() => {
      const chunks = new Chunks()
      return Stream.runForEach(request.stream, (chunk) => Effect.suspend(() => add(chunks, chunk))).pipe(
        Effect.flatMap(() => {
          const body = chunks.join()
          return Effect.tap(check(body.buffer), (signed) => Effect.sync(() => Option.isNone(signed) && free(body)))
        }),
        Effect.ensuring(Effect.sync(() => {
          unverified_bytes -= chunks.byte_size
          chunks.free()
        })),
        Effect.scoped
      )
    })
}
