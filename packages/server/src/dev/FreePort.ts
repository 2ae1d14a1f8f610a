import { Effect } from "effect"
import { randomInt } from "node:crypto"
import { createServer } from "node:net"

/** Returns whether nothing listens on a port of 127.0.0.1. */
export const isFree = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const probe = createServer().once("error", () => resume(Effect.succeed(false)))
    probe.listen(port, "127.0.0.1", () => probe.close(() => resume(Effect.succeed(true))))
  })

/** The ports that this process has drawn. The server of one that was free may not have started. */
const drawn = new Set<number>()

/**
 * Returns a free port of 127.0.0.1, never the same one twice. It is below 32768, where the usual range for outgoing
 * connections begins: such a connection could otherwise take the port before it is used.
 */
export const freePort: Effect.Effect<number> = Effect.suspend(() => {
  const port = randomInt(10_000, 32_768)
  if (drawn.has(port)) return freePort
  drawn.add(port)
  return Effect.flatMap(isFree(port), (free) => free ? Effect.succeed(port) : freePort)
})
