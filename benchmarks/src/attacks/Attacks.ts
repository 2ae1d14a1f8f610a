/**
 * The attacks by the server that they attack, each with what proves that it reached its target: the status of a response,
 * that a socket was connected, or that a webhook received an event.
 */

export const attacks = {
  /** A server to which the network posts no callbacks. */
  warm: {
    "unsigned posts": 401,
    "upgraded sockets": 200,
    "slow readers": 200,
    "abandoned pages": 200,
    "slow writers": "connected",
    "worst keys": 400,
    "expensive searches": 200,
    "hostile endpoints": "connected",
    "pipelined probes": 200,
    "pipelined unknown keys": 401
  },
  /** A new server for each attack, because its work and what it allocates can outlast it. */
  work: {
    "many webhooks": "received",
    "wide upserts": "received",
    "long events": "received",
    "replays": "received",
    "long contacts": 200,
    "long lists": 200
  },
  /** A server to which the network posts callbacks during the attack. */
  cloud: { "invalid signatures": 401, "stalled bodies": "connected", "trickled bodies": "connected" },
  /** A server that has not prepared the docs page yet, so that its memory grows by that page too. */
  cold: { "pipelined pages": 200 }
} as const

export type Kind = keyof typeof attacks
export type Attack = { [K in Kind]: keyof typeof attacks[K] }[Kind]

type Proof = number | "connected" | "received"

const proofs: Readonly<Record<Attack, Proof>> = Object.assign({}, ...Object.values(attacks))

// `Object.keys` loses the type of the names.
export const names = Object.keys(proofs) as ReadonlyArray<Attack>

/** The number of responses by status, of connected sockets, and of events that webhooks received. */
export type Effects = Readonly<Record<string, number>>

/** Returns whether an attack has had the effect that proves that it reached its target. */
export const hasReached = (name: Attack, effects: Effects): boolean => (effects[proofs[name]] ?? 0) > 0
