/** The faults of a run. The seed selects some kinds of faults, and their probabilities. */
import type { SeededRandom } from "./SeededRandom.ts"

/** The probability of each fault each time that it can occur. */
export interface Faults {
  /** A statement takes up to two seconds. */
  readonly slow_statement: number
  /** A statement fails without an effect. */
  readonly failed_statement: number
  /** A statement takes effect, and its response is lost. */
  readonly lost_result: number
  /** A process is killed, at each of its statements. */
  readonly kill: number
  /** A process stops gracefully, at each of its statements. */
  readonly stop: number
  /** The provider responds late, often after the attempt's timeout. */
  readonly slow_provider: number
  /** The provider accepts a message, and its response is lost. */
  readonly lost_acceptance: number
  /** The provider's response is lost, and it has not accepted the message. */
  readonly lost_message: number
  readonly busy_provider: number
  readonly throttling: number
  readonly rejection: number
  readonly channel_rejection: number
  /** The adapter of the provider throws, before or after the acceptance. */
  readonly provider_defect: number
  /** The network repeats a callback. */
  readonly repeated_callback: number
  /** The network delays a callback by minutes. */
  readonly late_callback: number
  /** The network reports that a message failed. */
  readonly failed_report: number
  /** The network never reports. */
  readonly lost_callback: number
  /** An endpoint fails once: an error response, a timeout, a lost response. */
  readonly failed_post: number
  /** A client loses the connection before its response. */
  readonly lost_connection: number
}

const maximum: Faults = {
  slow_statement: 0.03,
  failed_statement: 0.02,
  lost_result: 0.03,
  kill: 0.003,
  stop: 0.002,
  slow_provider: 0.15,
  lost_acceptance: 0.25,
  lost_message: 0.2,
  busy_provider: 0.3,
  throttling: 0.15,
  rejection: 0.15,
  channel_rejection: 0.02,
  provider_defect: 0.15,
  repeated_callback: 0.4,
  late_callback: 0.4,
  failed_report: 0.15,
  lost_callback: 0.1,
  failed_post: 0.3,
  lost_connection: 0.2
}

/** No faults, for the start of a run and for its recovery. */
export const none: Faults = scaled(() => 0)

function scaled(factor: () => number): Faults {
  // The keys are those of the faults.
  const entries = Object.entries(maximum).map(([name, probability]) => [name, probability * factor()])
  return Object.fromEntries(entries) as unknown as Faults
}

/** Selects about half of the kinds, each with a probability between zero and its maximum. */
export const choose = (random: SeededRandom): Faults => scaled(() => random.chance(0.5) ? random.next() : 0)
