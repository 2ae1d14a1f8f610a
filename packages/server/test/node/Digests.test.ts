import { assert, it } from "@effect/vitest"
import { bytes, hardText } from "@messaging-crm/conformance/Arbitraries"
import { Digests, webCrypto } from "@messaging-crm/core/Digests"
import { Arbitrary, Effect } from "effect"
import * as NodeDigests from "../../src/node/Digests.ts"

it.effect.prop(
  "computes what WebCrypto computes",
  {
    text: hardText({ min: 0, max: 60 }),
    key: bytes.pipe(Arbitrary.map((key) => Uint8Array.of(1, ...key)))
  },
  ({ key, text }) =>
    Effect.gen(function*() {
      const digests = yield* Digests
      assert.strictEqual(yield* digests.sha256(text), yield* webCrypto.sha256(text))
      const [ours, theirs] = [yield* digests.hmac(key), yield* webCrypto.hmac(key)]
      assert.deepStrictEqual(Uint8Array.from(yield* ours(text)), yield* theirs(text))
    }).pipe(Effect.provide(NodeDigests.layer))
)
