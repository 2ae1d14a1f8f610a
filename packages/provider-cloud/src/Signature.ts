/** The signatures of callbacks: HMAC-SHA256 of the raw bytes, under an app's secret. */
import { hex } from "@messaging-crm/core/Digests"
import { Effect, Redacted } from "effect"

/** The header with the signature. */
export const signatureHeader = "x-hub-signature-256"

const shape = /^sha256=([0-9a-f]{64})$/i
const encoder = new TextEncoder()

/** Returns whether a header has the form of a signature. Without, no body is worth reading. */
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
