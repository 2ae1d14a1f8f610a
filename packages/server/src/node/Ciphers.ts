import { Ciphers } from "@messaging-crm/core/Ciphers"
import { Effect, Layer, Option } from "effect"
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync } from "node:crypto"

const algorithm = "aes-256-gcm"
const tag_bytes = 16

/** Layer that encrypts synchronously. The texts are so short that handing them to another thread takes longer. */
export const layer = Layer.succeed(Ciphers, (root, use) =>
  Effect.sync(() => {
    const key = createSecretKey(new Uint8Array(hkdfSync("sha256", root, new Uint8Array(), use, 32)))
    return {
      encrypt: (nonce, context, text) =>
        Effect.sync(() => {
          const cipher = createCipheriv(algorithm, key, nonce).setAAD(context)
          return new Uint8Array(Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]))
        }),
      decrypt: (nonce, context, sealed) =>
        Effect.sync(() =>
          Option.liftThrowable(() => {
            const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tag_bytes }).setAAD(context)
            decipher.setAuthTag(sealed.subarray(-tag_bytes))
            return new Uint8Array(Buffer.concat([decipher.update(sealed.subarray(0, -tag_bytes)), decipher.final()]))
          })()
        )
    }
  }))
