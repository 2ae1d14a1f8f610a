/** Random bytes for secrets and IDs, so that a simulation can repeat them. */
import { Context } from "effect"

/** Fills bytes with random ones, and returns them. */
export type Randomness = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>

/** The secure random bytes of the platform. */
export const system: Randomness = (bytes) => globalThis.crypto.getRandomValues(bytes)

/** The source of random bytes. A reference, so that a simulation can set a seeded one. */
export const RandomBytes = Context.Reference<Randomness>("@messaging-crm/core/RandomBytes", {
  defaultValue: () => system
})
