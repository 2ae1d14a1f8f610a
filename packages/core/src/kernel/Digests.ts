/** SHA-256 and HMAC-SHA256 of text in UTF-8, by WebCrypto or by what a platform does faster. */
import { Context, Effect } from "effect"

export interface DigestFunctions {
  /** Returns the lower-case hexadecimal SHA-256 digest of a text. */
  readonly sha256: (text: string) => Effect.Effect<string>
  /** Prepares a key, of one byte at least, and returns what computes the HMAC-SHA256 of a text under it. */
  readonly hmac: (key: Uint8Array) => Effect.Effect<(text: string) => Effect.Effect<Uint8Array>>
}

const encoder = new TextEncoder()

/** Returns the lower-case hexadecimal form of bytes. */
export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** Digests by WebCrypto, which is everywhere. Each of them is a job for another thread and a turn of the event loop. */
export const webCrypto: DigestFunctions = {
  sha256: (text) =>
    Effect.map(
      Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", encoder.encode(text))),
      (digest) => hex(new Uint8Array(digest))
    ),
  hmac: (bytes) =>
    Effect.map(
      Effect.promise(() =>
        globalThis.crypto.subtle.importKey(
          "raw",
          Uint8Array.from(bytes),
          { name: "HMAC", hash: "SHA-256" },
          false,
          ["sign"]
        )
      ),
      (key) => (text) =>
        Effect.map(
          Effect.promise(() => globalThis.crypto.subtle.sign("HMAC", key, encoder.encode(text))),
          (signature) => new Uint8Array(signature)
        )
    )
}

/** How digests are computed. A reference, so that a server may set what its platform computes at once. */
export const Digests = Context.Reference<DigestFunctions>("@messaging-crm/core/Digests", {
  defaultValue: () => webCrypto
})
