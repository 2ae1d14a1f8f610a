/**
 * The attacks by the server that they attack, each with what proves that it reached its target: the status of a response, or
 * that a socket was connected.
 */

export const attacks = {
  /** A server with the mock provider. */
  mock: {
    "unsigned posts": 401,
    "upgraded sockets": 200,
    "slow readers": 200,
    "abandoned pages": 200,
    "slow writers": "connected",
    "worst keys": 400,
    "expensive searches": 200,
    "long contacts": 200,
    "hostile endpoints": "connected",
    "pipelined probes": 200,
    "pipelined unknown keys": 401
  },
  /** A server with the provider of the Graph API. */
  cloud: { "invalid signatures": 401 },
  /** A server that has not prepared the docs page yet, so that its memory grows by that page too. */
  cold: { "pipelined pages": 200 }
} as const

export type Kind = keyof typeof attacks
export type Attack = { [K in Kind]: keyof typeof attacks[K] }[Kind]

const proofs: Readonly<Record<Attack, number | "connected">> = { ...attacks.mock, ...attacks.cloud, ...attacks.cold }

// `Object.keys` loses the type of the names.
export const names = Object.keys(proofs) as ReadonlyArray<Attack>

/** The number of responses by status, and of connected sockets. */
export type Effects = Readonly<Record<string, number>>

/** Returns whether an attack has had the effect that proves that it reached its target. */
export const hasReached = (name: Attack, effects: Effects): boolean => (effects[proofs[name]] ?? 0) > 0
