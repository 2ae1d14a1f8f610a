/** Secrets: keys derived from the root keys, to encrypt what is stored, to sign cursors and links, and to compute digests. */
import { Cache, Context, Data, Effect, Layer, Option, Redacted, Schema } from "effect"
import { type Cipher, Ciphers } from "./Ciphers.ts"
import { Digests, hex } from "./Digests.ts"
import { RandomBytes, type Randomness, system } from "./RandomBytes.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const encodeBase64Url = Schema.encodeSync(Schema.Uint8ArrayFromBase64Url)
const decodeBase64Url = Schema.decodeUnknownOption(Schema.Uint8ArrayFromBase64Url)
/** The digits of base62, in their order. */
export const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/**
 * The root keys, 32 bytes each. The first signs and encrypts; all verify and
 * decrypt.
 *
 * The default is a random key of this process, so its signatures are not valid
 * after a restart, and no later process with other keys claims work of the same
 * storage. A server sets the keys from `SECRET_KEY`.
 */
export const RootKeys = Context.Reference<ReadonlyArray<Redacted.Redacted<Uint8Array<ArrayBuffer>>>>(
  "@messaging-crm/core/Secrets/RootKeys",
  { defaultValue: () => [Redacted.make(system(new Uint8Array(32)))] }
)

/** No key of this process decrypts a stored secret. Work that needs the secret waits; it is not rejected. */
export class SecretUnreadable extends Schema.TaggedError<SecretUnreadable>()("SecretUnreadable", {}) {}

/** Compares two texts in constant time: the time does not depend on where they differ. */
export const equalConstantTime = (a: string, b: string): boolean => {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}

/** The keys that are derived from one root key, one for each use. */
interface RootKey {
  /** Identifies the key in a ciphertext, without revealing it. */
  readonly id: string
  /** Returns the HMAC-SHA256 of a text. */
  readonly hmac: (text: string) => Effect.Effect<Uint8Array>
  readonly sealing: Cipher
}

/** Derives a separate key for each use. */
const importRootKey = Effect.fnUntraced(function*(key: Redacted.Redacted<Uint8Array<ArrayBuffer>>) {
  const bytes = Redacted.value(key)
  const { hmac } = yield* Digests
  const signing = yield* hmac(bytes)
  const named = yield* signing("key id")
  const rootKey: RootKey = {
    id: hex(named.subarray(0, 4)),
    hmac: signing,
    sealing: yield* (yield* Ciphers)(bytes, encoder.encode("seal"))
  }
  return rootKey
})

const nonce_bytes = 12

const sealWith = Effect.fnUntraced(function*(
  { id, sealing }: RootKey,
  random: Randomness,
  context: string,
  text: string
) {
  const nonce = random(new Uint8Array(nonce_bytes))
  const sealed = yield* sealing.encrypt(nonce, encoder.encode(context), encoder.encode(text))
  return `v1.${id}.${encodeBase64Url(nonce)}.${encodeBase64Url(sealed)}`
})

const openWith = ({ sealing }: RootKey, context: string, nonce: Uint8Array, sealed: Uint8Array) =>
  Effect.map(
    sealing.decrypt(Uint8Array.from(nonce), encoder.encode(context), Uint8Array.from(sealed)),
    Option.map((text) => decoder.decode(text))
  )

/** Returns the first 128 bits of an HMAC-SHA256, in hexadecimal. */
const signWith = ({ hmac }: RootKey, purpose: string, text: string) =>
  Effect.map(hmac(`${purpose}\n${text}`), (signature) => hex(signature.subarray(0, 16)))

/** Service for digests, signatures, encryption and random text, so that core depends on no crypto library. */
export class Secrets extends Context.Service<Secrets, {
  /** Returns the lower-case hexadecimal SHA-256 digest of the UTF-8 text. */
  readonly sha256: (text: string) => Effect.Effect<string>
  /** Returns a hexadecimal 128-bit HMAC of the text, under the newest root key and for one purpose. */
  readonly sign: (purpose: string, text: string) => Effect.Effect<string>
  /** Returns what `sign` returns under each root key, the newest first. */
  readonly signatures: (purpose: string, text: string) => Effect.Effect<ReadonlyArray<string>>
  /** Returns whether the signature was made for this purpose and text under any root key. */
  readonly verify: (purpose: string, text: string, signature: string) => Effect.Effect<boolean>
  /**
   * Encrypts text with the newest root key (AES-256-GCM). It can be decrypted in
   * the same context only. The result is `v1.`, the key's ID, the nonce and the
   * ciphertext, and begins with `sealPrefix`.
   */
  readonly seal: (context: string, text: string) => Effect.Effect<string>
  /** Decrypts text that any root key encrypted for this context; none for anything else. */
  readonly open: (context: string, sealed: string) => Effect.Effect<Option.Option<string>>
  /** The prefix of every text that the newest root key encrypted. */
  readonly sealPrefix: string
  /** Returns `length` random characters of `0-9A-Za-z`. */
  readonly randomBase62: (length: number) => Effect.Effect<string>
}>()("@messaging-crm/core/Secrets") {
  static readonly layer = Layer.effect(
    Secrets,
    Effect.gen(function*() {
      const { sha256 } = yield* Digests
      const random = yield* RandomBytes
      const keys = yield* Effect.forEach(yield* RootKeys, importRootKey)
      const newest = Option.getOrThrow(Option.fromUndefinedOr(keys[0]))

      const signatures = (purpose: string, text: string) => Effect.forEach(keys, (key) => signWith(key, purpose, text))

      const open = Effect.fnUntraced(function*(context: string, text: string) {
        const [version, id, nonce, ciphertext, ...more] = text.split(".")
        const key = keys.find((each) => each.id === id)
        const iv = decodeBase64Url(nonce)
        const sealed = decodeBase64Url(ciphertext)
        if (version !== "v1" || key === undefined || Option.isNone(iv) || Option.isNone(sealed) || more.length > 0) {
          return Option.none<string>()
        }
        return yield* openWith(key, context, iv.value, sealed.value)
      })

      return Secrets.of({
        sha256,
        sign: (purpose, text) => signWith(newest, purpose, text),
        signatures,
        verify: (purpose, text, signature) =>
          Effect.map(
            signatures(purpose, text),
            (valid) => valid.some((candidate) => equalConstantTime(candidate, signature))
          ),
        seal: (context, text) => sealWith(newest, random, context, text),
        open,
        sealPrefix: `v1.${newest.id}.`,
        randomBase62: (length) => Effect.sync(() => randomBase62(random, length))
      })
    })
  )
}

/** Bytes of 248 and above are discarded: 248 is the largest multiple of 62 in a byte, so each character is equally likely. */
const randomBase62 = (random: Randomness, length: number): string => {
  let text = ""
  while (text.length < length) {
    for (const byte of random(new Uint8Array(length))) {
      if (byte < 248 && text.length < length) text += base62[byte % 62]
    }
  }
  return text
}

/** Cache key: an encrypted secret with its context. Keys are compared by value. */
class Sealed extends Data.Class<{ readonly context: string; readonly sealed: string }> {}

/** How many secrets of one kind a process keeps decrypted. */
const opened_max = 1000

/** Makes a function that decrypts secrets of one kind, each only once. */
export const makeOpenOnce = Effect.gen(function*() {
  const { open } = yield* Secrets
  const opened = yield* Cache.make({
    capacity: opened_max,
    lookup: ({ context, sealed }: Sealed) =>
      Effect.map(open(context, sealed), Option.map((text) => Redacted.make(text)))
  })
  return (context: string, sealed: string) => Cache.get(opened, new Sealed({ context, sealed }))
})
