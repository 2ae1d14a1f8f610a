/** The names of the attacks, by the server that they attack. */

export const attacks = {
  /** A server with the mock provider. */
  mock: [
    "unsigned posts",
    "upgraded sockets",
    "slow readers",
    "slow writers",
    "worst keys",
    "expensive searches",
    "hostile endpoints",
    "pipelined probes",
    "pipelined unknown keys"
  ],
  /** A server with the provider of the Graph API. */
  cloud: ["invalid signatures"],
  /** A server that has not prepared the docs page yet, so that its memory grows by that page too. */
  cold: ["pipelined pages"]
} as const

export type Kind = keyof typeof attacks
export type Attack = typeof attacks[Kind][number]

export const names: ReadonlyArray<Attack> = Object.values(attacks).flat()
