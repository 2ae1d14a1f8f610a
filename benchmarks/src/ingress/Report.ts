/** The printed results of provider callbacks. */
import * as Limits from "../harness/Limits.ts"
import { summaryOf } from "../harness/Percentiles.ts"
import { messagesIn } from "./Callbacks.ts"
import type { TimedResponse } from "./Posts.ts"

export interface Load {
  readonly seconds: number
  readonly posts_per_second: number
  readonly warm_up_posts: number
}

export interface Measurements {
  readonly responses: ReadonlyArray<TimedResponse>
  readonly drain_ms: number
  /** The number of stored inbound messages. */
  readonly stored: number
  /** The statuses of responses to mutated bodies. */
  readonly mutated: { readonly signed: ReadonlyArray<number>; readonly unsigned: ReadonlyArray<number> }
  readonly memory_mib: { readonly rest: number; readonly peak: number }
}

const rounded = (ms: number): number => Math.round(10 * ms) / 10

const countByStatus = (statuses: ReadonlyArray<number>): Limits.Statuses =>
  Object.fromEntries(Array.from(Map.groupBy(statuses, (status) => status), ([status, all]) => [status, all.length]))

/** Returns the figures, and the exceeded limits. */
export const reportOf = ({ drain_ms, memory_mib, mutated, responses, stored }: Measurements, load: Load) => {
  const { posts_per_second, seconds, warm_up_posts } = load
  const { max_ms, p50_ms, p99_ms } = summaryOf(responses.map(({ elapsed_ms }) => elapsed_ms))
  const figures = {
    posts: responses.length,
    posts_per_second,
    statuses: countByStatus(responses.map(({ status }) => status)),
    response: { p50_ms: rounded(p50_ms), p99_ms: rounded(p99_ms), max_ms: rounded(max_ms) },
    drain_ms,
    processed_per_second: Math.round(responses.length / (seconds + drain_ms / 1000)),
    messages: { posted: messagesIn(responses.length) + messagesIn(warm_up_posts), stored },
    mutated: { signed: countByStatus(mutated.signed), unsigned: countByStatus(mutated.unsigned) }
  }
  const violations = Limits.ingressViolations({ ...figures, memory_mib })
  const { peak, rest } = memory_mib
  return { ...figures, memory_mib: { rest: Math.round(rest), peak: Math.round(peak) }, violations }
}
