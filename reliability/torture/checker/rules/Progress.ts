/**
 * Rules for values that never go back: the status of a send and of a message, and times of the latest change.
 *
 * The specifications of single objects omit these values, because they can contradict the order of the calls. A write loads
 * its object before it commits, and a concurrent message does not conflict with the write. So the response of the write can
 * show an earlier activity than the response of an earlier call.
 */
import type { Resource, Violation } from "../../History.ts"
import { textOf } from "../../Responses.ts"
import type { Evidence, Kind, Observation } from "../Evidence.ts"

/** The rank of each status of a send. A higher rank follows a lower one; statuses of equal rank change into each other. */
const sendRanks: Readonly<Record<string, number>> = { queued: 0, sending: 0, unknown: 1, failed: 2, sent: 3 }

/** The rank of each status of a message (contract §11.4). */
export const messageRanks: Readonly<Record<string, number>> = { sent: 0, failed: 1, delivered: 2, read: 3 }

/** Returns whether a failed send never changes again. */
const isFinal = ({ failure_reason, status }: Resource): boolean =>
  status === "failed" && failure_reason !== "outcome_unknown"

/** Returns the first two observations of one object of which the later one has an earlier state. */
const findRegression = (
  observations: ReadonlyArray<Observation>,
  isRegression: (later: Resource, earlier: Resource) => boolean
): readonly [Observation, Observation] | null => {
  const ended = observations.toSorted((a, b) => a.ended_at - b.ended_at)
  for (const later of observations.toSorted((a, b) => a.started_at - b.started_at)) {
    for (const earlier of ended) {
      if (earlier.ended_at >= later.started_at) break
      if (isRegression(later.resource, earlier.resource)) return [earlier, later]
    }
  }
  return null
}

const checkProgress = (
  observations: ReadonlyArray<Observation>,
  rule: string,
  isRegression: (later: Resource, earlier: Resource) => boolean
): ReadonlyArray<Violation> =>
  Array.from(Map.groupBy(observations, ({ resource }) => textOf(resource, "id")).values(), (same) => {
    const pair = findRegression(same, isRegression)
    if (pair === null) return []
    const [earlier, later] = pair
    return {
      rule,
      detail: `${JSON.stringify(earlier.resource)}, and later ${JSON.stringify(later.resource)}`,
      calls: pair.flatMap(({ call }) => call ?? [])
    }
  }).flat()

const rank = (ranks: Readonly<Record<string, number>>, status: unknown): number => ranks[String(status)] ?? -1

const isSendRegression = (later: Resource, earlier: Resource): boolean =>
  rank(sendRanks, later["status"]) < rank(sendRanks, earlier["status"]) ||
  (isFinal(earlier) && later["status"] !== "failed") ||
  (earlier["status"] === "sent" && later["message_id"] !== earlier["message_id"])

const isMessageRegression = (later: Resource, earlier: Resource): boolean =>
  rank(messageRanks, later["status"]) < rank(messageRanks, earlier["status"]) ||
  (earlier["deleted_at"] !== null && later["deleted_at"] === null) ||
  ["delivered_at", "read_at", "failed_at"].some((time) => earlier[time] !== null && later[time] === null)

const isTimeRegression = (...times: ReadonlyArray<string>) => (later: Resource, earlier: Resource): boolean =>
  times.some((time) => (textOf(later, time) ?? "") < (textOf(earlier, time) ?? ""))

const rules: Readonly<
  Record<Exclude<Kind, "webhooks">, readonly [string, (later: Resource, earlier: Resource) => boolean]>
> = {
  contacts: [
    "The times of a contact do not go back (contract §8.10).",
    isTimeRegression("updated_at", "last_activity_at")
  ],
  conversations: [
    "The activity of a conversation does not go back (contract §10.1).",
    isTimeRegression("last_activity_at")
  ],
  messages: ["The status of a message does not go back (contract §11.4).", isMessageRegression],
  sends: ["The status of a send does not go back (contract §12.4).", isSendRegression]
}

export const check = ({ observations }: Evidence): ReadonlyArray<Violation> =>
  (["contacts", "conversations", "messages", "sends"] as const).flatMap((kind) =>
    checkProgress(observations[kind], ...rules[kind])
  )
