/**
 * Verifies signatures of callbacks, and limits the memory of bodies that are not verified yet.
 *
 * A signature is the HMAC-SHA256 of the raw bytes, under an app's secret. The bytes of unverified bodies are counted as
 * they arrive, over all requests of the process, so that a client that announces a large body and sends little occupies
 * no memory. When they reach the limit, the body that arrives slowest is dropped: networks send theirs fast.
 */
import { hex } from "@messaging-crm/core/Digests"
import { Clock, Data, Duration, Effect, Option, Redacted, Stream } from "effect"
import type { HttpServerError, HttpServerRequest } from "effect/http"

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

/** The body arrived too slowly, while the process had reached its limit of unverified bytes or for too long. */
export class Busy extends Data.TaggedError("Busy")<{}> {}

/** How long a body can take to arrive. */
const arrival_time_max = Duration.seconds(5)

/** The shortest time of arrival that is compared, in milliseconds. */
const compared_millis_min = 10

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
  isDropped = false
  /** When it began to arrive, in milliseconds. */
  readonly since: number
  private readonly chunks: Array<Uint8Array> = []

  constructor(since: number) {
    this.since = since
  }

  /** Returns how fast it arrives, in bytes per millisecond. */
  speedAt(now: number): number {
    return this.byte_size / Math.max(compared_millis_min, now - this.since)
  }

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

/**
 * Makes a function that reads a body and passes it to `check`, which returns none if the signature is invalid. The
 * bytes count until then.
 */
export const makeReader = ({ body_bytes_max, total_bytes_max }: Limits) => {
  let unverified_bytes = 0
  /** The bodies of which a part has arrived. */
  const arriving = new Set<Chunks>()

  const remove = (body: Chunks): void => {
    if (!arriving.delete(body)) return
    unverified_bytes -= body.byte_size
    body.free()
  }

  /** Drops the slowest bodies, but not the given one, until there is room for bytes. Returns whether there is. */
  const makeRoom = (byteLength: number, kept: Chunks, now: number): boolean => {
    const hasRoom = () => unverified_bytes + byteLength <= total_bytes_max
    if (hasRoom()) return true
    for (const body of Array.from(arriving).toSorted((a, b) => a.speedAt(now) - b.speedAt(now))) {
      if (body === kept) continue
      body.isDropped = true
      remove(body)
      if (hasRoom()) return true
    }
    return false
  }

  const rejectionOf = (body: Chunks, { byteLength }: Uint8Array, now: number) => {
    if (body.byte_size + byteLength > body_bytes_max) return new BodyTooLarge()
    return body.isDropped || !makeRoom(byteLength, body, now) ? new Busy() : null
  }

  const add = (body: Chunks, chunk: Uint8Array, now: number): Effect.Effect<void, BodyTooLarge | Busy> => {
    const rejection = rejectionOf(body, chunk, now)
    if (rejection !== null) {
      free(chunk)
      return rejection
    }
    arriving.add(body)
    body.add(chunk)
    unverified_bytes += chunk.byteLength
    return Effect.void
  }

  return Effect.fnUntraced(function*<A, E, R>(
    request: HttpServerRequest.HttpServerRequest,
    check: (body: ArrayBuffer) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.fn.Return<Option.Option<A>, BodyTooLarge | Busy | E | HttpServerError.HttpServerError, R> {
    const clock = yield* Clock.Clock
    const chunks = new Chunks(clock.currentTimeMillisUnsafe())
    const arrived = Stream.runForEach(
      request.stream,
      (chunk) => Effect.suspend(() => add(chunks, chunk, clock.currentTimeMillisUnsafe()))
    )
    return yield* Effect.timeoutOrElse(arrived, { duration: arrival_time_max, orElse: () => new Busy() }).pipe(
      Effect.flatMap((): Effect.Effect<Option.Option<A>, Busy | E, R> => {
        if (chunks.isDropped) return new Busy()
        const body = chunks.join()
        return Effect.tap(check(body.buffer), (signed) => Effect.sync(() => Option.isNone(signed) && free(body)))
      }),
      Effect.ensuring(Effect.sync(() => remove(chunks)))
    )
  })
}
