/** AES-256-GCM of short texts, with WebCrypto or a faster implementation of the platform. */
import { Context, Effect, Option } from "effect"

type Bytes = Uint8Array<ArrayBuffer>

/** A key of AES-256-GCM. A context is authenticated with each text, and not encrypted. */
export interface Cipher {
  /** Returns the ciphertext and its tag. */
  readonly encrypt: (nonce: Bytes, context: Bytes, text: Bytes) => Effect.Effect<Uint8Array>
  /** Returns the text; none unless it was encrypted with this key, nonce, and context. */
  readonly decrypt: (nonce: Bytes, context: Bytes, sealed: Bytes) => Effect.Effect<Option.Option<Uint8Array>>
}

/** Derives a cipher from a root key, by HKDF-SHA-256 without salt. `use` names what it is for. */
export type DeriveCipher = (root: Bytes, use: Bytes) => Effect.Effect<Cipher>

/** Ciphers by WebCrypto, which every runtime has. Each call costs a hop to another thread and back. */
export const webCrypto: DeriveCipher = (root, info) =>
  Effect.promise(async () => {
    const { subtle } = globalThis.crypto
    const material = await subtle.importKey("raw", root, "HKDF", false, ["deriveKey"])
    const key = await subtle.deriveKey(
      { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info },
      material,
      { name: "AES-GCM", length: 256 },
      false,
      ["encrypt", "decrypt"]
    )
    return {
      encrypt: (iv, additionalData, text) =>
        Effect.promise(() => subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key, text)).pipe(
          Effect.map((sealed) => new Uint8Array(sealed))
        ),
      decrypt: (iv, additionalData, sealed) =>
        Effect.promise(() =>
          subtle.decrypt({ name: "AES-GCM", iv, additionalData }, key, sealed).then(
            (text) => Option.some(new Uint8Array(text)),
            () => Option.none<Uint8Array>()
          )
        )
    }
  })

/** How texts are encrypted. A reference, so that a server can set the synchronous functions of its platform. */
export const Ciphers = Context.Reference<DeriveCipher>("@messaging-crm/core/Ciphers", { defaultValue: () => webCrypto })
