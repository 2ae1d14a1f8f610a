/** SHA-256 and HMAC-SHA256 of UTF-8 text, with WebCrypto or a faster implementation of the platform. */
import { Context, Effect } from "effect"

export interface DigestFunctions {
  /** Returns the lower-case hexadecimal SHA-256 digest of a text. */
  readonly sha256: (text: string) => Effect.Effect<string>
  /** Imports a key of at least one byte, and returns a function that computes the HMAC-SHA256 of a text with it. */
  readonly hmac: (key: Uint8Array) => Effect.Effect<(text: string) => Effect.Effect<Uint8Array>>
}

const encoder = new TextEncoder()

/** Returns the lower-case hexadecimal form of bytes. */
export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** Digests by WebCrypto, which every runtime has. Each call costs a hop to another thread and back. */
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

/** How digests are computed. A reference, so that a server can set the synchronous functions of its platform. */
export const Digests = Context.Reference<DigestFunctions>("@messaging-crm/core/Digests", {
  defaultValue: () => webCrypto
})
