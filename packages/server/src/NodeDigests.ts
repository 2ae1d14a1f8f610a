import { Digests } from "@messaging-crm/core/Digests"
import { Effect, Layer } from "effect"
import { createHmac, createSecretKey, hash } from "node:crypto"

/**
 * Layer that computes digests at once, on the thread that asks: what a request
 * hashes is so short that handing it to another thread takes ten times as long.
 */
export const layer = Layer.succeed(Digests, {
  sha256: (text) => Effect.sync(() => hash("sha256", text)),
  hmac: (bytes) =>
    Effect.sync(() => {
      const key = createSecretKey(bytes)
      return (text) => Effect.sync(() => createHmac("sha256", key).update(text).digest())
    })
})
