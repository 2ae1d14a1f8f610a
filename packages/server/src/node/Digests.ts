import { Digests } from "@messaging-crm/core/Digests"
import { Effect, Layer } from "effect"
import { createHmac, createSecretKey, hash } from "node:crypto"

/**
 * Layer that computes digests synchronously. The texts are so short that handing
 * them to another thread takes ten times as long as hashing them.
 */
export const layer = Layer.succeed(Digests, {
  sha256: (text) => Effect.sync(() => hash("sha256", text)),
  hmac: (bytes) =>
    Effect.sync(() => {
      const key = createSecretKey(bytes)
      return (text) => Effect.sync(() => createHmac("sha256", key).update(text).digest())
    })
})
