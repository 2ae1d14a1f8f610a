import { assert, it } from "@effect/vitest"
import { bytes } from "@messaging-crm/conformance/Arbitraries"
import { Ciphers, webCrypto } from "@messaging-crm/core/Ciphers"
import { Arbitrary, Effect, Option } from "effect"
import * as NodeCiphers from "../../src/node/Ciphers.ts"

const ofLength = (length: number) =>
  bytes.pipe(Arbitrary.map((some) => Uint8Array.from({ length }, (_, index) => some[index] ?? 0)))

it.effect.prop(
  "encrypts what WebCrypto decrypts, and decrypts what WebCrypto encrypts",
  { root: ofLength(32), nonce: ofLength(12), context: ofLength(5), text: ofLength(40), flipped: ofLength(1) },
  ({ context, flipped, nonce, root, text }) =>
    Effect.gen(function*() {
      const use = new TextEncoder().encode("seal")
      const ours = yield* (yield* Ciphers)(root, use)
      const theirs = yield* webCrypto(root, use)
      const sealed = yield* ours.encrypt(nonce, context, text)
      assert.deepStrictEqual(sealed, yield* theirs.encrypt(nonce, context, text))
      const copy = Uint8Array.from(sealed)
      for (const cipher of [ours, theirs]) {
        assert.deepStrictEqual(yield* cipher.decrypt(nonce, context, copy), Option.some(text))
        const elsewhere = Uint8Array.from([...context, 1])
        assert.deepStrictEqual(yield* cipher.decrypt(nonce, elsewhere, copy), Option.none())
        const forged = copy.map((byte, index) => index === (flipped[0] ?? 0) % copy.length ? byte ^ 1 : byte)
        assert.deepStrictEqual(yield* cipher.decrypt(nonce, context, forged), Option.none())
        assert.deepStrictEqual(yield* cipher.decrypt(nonce, context, new Uint8Array(3)), Option.none())
      }
    }).pipe(Effect.provide(NodeCiphers.layer))
)
