/** The rules of contract §13 and §14 for deliveries: each event arrives at least once, signed, and with the same bytes. */
import { isDeepStrictEqual } from "node:util"
import { type Resource, type Violation, violation } from "../../History.ts"
import { fieldOf, textOf } from "../../Responses.ts"
import { createdId, type Evidence } from "../Evidence.ts"
import { spanOf } from "../Requests.ts"
import { subscriptions, webhookOf } from "./Subscriptions.ts"

/** Each delivery has the bytes of its event, and a valid signature. */
const checkBytes = ({ history: { organizations, received } }: Evidence): ReadonlyArray<Violation> => {
  const stored = new Map(organizations.flatMap(({ final }) => final.events.map((event) => [event["id"], event])))
  const rule = "Every delivery of an event has its ID and the same bytes (contract §13.2)."
  return Array.from(Map.groupBy(received, ({ event_id }) => event_id), ([event_id, same]) => {
    const [first] = same
    const texts = new Set(same.map(({ text }) => text))
    const event: Resource = first === undefined ? {} : JSON.parse(first.text)
    const known = stored.get(event_id)
    const isKnown = event["type"] === "webhook.test" ||
      isDeepStrictEqual(known, event)
    return [
      texts.size === 1 && event["id"] === event_id ? [] : violation(rule, Array.from(texts).join(" and ")),
      isKnown ? [] : violation("Only events that are stored are delivered (contract §13.4).", `${first?.text}`),
      same.every(({ is_signed }) => is_signed !== false)
        ? []
        : violation("Every delivery has a valid signature (contract §14.5).", event_id)
    ].flat()
  }).flat()
}

/** Returns, by the ID of the created object, the start of its request: no event of the object was raised before. */
const creationTimes = (evidence: Evidence): ReadonlyMap<unknown, number> => {
  const messages = new Map(
    evidence.observations.sends.flatMap(({ resource: { id, message_id } }) =>
      typeof message_id === "string" ? [[id, message_id] as const] : []
    )
  )
  return new Map(evidence.requests.flatMap((request) => {
    const { attempts: [attempt], call: { operation } } = request
    const id = createdId(evidence, request)
    if (attempt === undefined || id === null) return []
    const isSend = operation === "sends.start" || operation === "sends.send"
    return operation === "contacts.create" || isSend
      ? [[id, attempt.started_at] as const, [messages.get(id) ?? id, attempt.started_at] as const]
      : []
  }))
}

/** The attempts of the schedule (contract §14.8). */
const attempts_max = 10

const deliveryRule = "A webhook gets each event of its types at least once (contract §14.10)."

/**
 * Each stored delivery arrived, even if its webhook has changed. A delivery can fail if its webhook was disabled, or after
 * the last attempt of the schedule, because the end of a run makes attempts due at once.
 */
const checkStoredDeliveries = ({ history: { organizations, received } }: Evidence): ReadonlyArray<Violation> => {
  const arrived = new Set(
    received.filter(({ status }) => status >= 200 && status < 300).map(({ endpoint, event_id }) =>
      `${endpoint} ${event_id}`
    )
  )
  return organizations.flatMap(({ final }) =>
    final.webhooks.flatMap(({ id, status: webhook_status, url }) =>
      (final.deliveries[String(id)] ?? []).flatMap(({ attempt_count, event_id, failure_code, status }) => {
        const hasArrived = arrived.has(`${new URL(String(url)).pathname} ${String(event_id)}`)
        const canFail = webhook_status === "disabled" || Number(attempt_count) >= attempts_max
        if (status === "succeeded" ? hasArrived : status === "failed" && canFail) return []
        const outcome = `${String(status)} (${String(failure_code)})`
        return violation(
          deliveryRule,
          `${String(event_id)} to ${String(url)} is ${outcome}, and arrived: ${hasArrived}`
        )
      })
    )
  )
}

/** The maximum difference between the clocks of processes, which estimate the time of the database from slow round trips. */
const clock_error_max = 10_000

/**
 * Returns a lower bound of the driver's time at which an event with a timestamp was raised: the latest start of a request
 * whose send is older than the event by more than `clock_error_max`.
 */
const earliestRaise = ({ requests }: Evidence) => {
  const known = requests.filter(({ call: { operation } }) => operation.startsWith("sends.")).flatMap((request) => {
    const created_at = textOf(request.outcomes[0]?.response.body, "data", "created_at")
    const span = spanOf(request)
    return created_at === null || span === null ? [] : { created_at: Date.parse(created_at), at: span.started_at }
  }).toSorted((a, b) => a.created_at - b.created_at)
  return (timestamp: unknown): number => {
    const time = Date.parse(String(timestamp)) - clock_error_max
    const earlier = known.findLastIndex(({ created_at }) => created_at < time)
    return known.slice(0, earlier + 1).reduce((latest, { at }) => Math.max(latest, at), -Infinity)
  }
}

/** Returns what endpoints received before the first replay to their webhook: a replay can post an event before its expansion. */
const receivedBeforeReplays = ({ history: { organizations, received }, requests }: Evidence) => {
  const replays = Map.groupBy(requests.filter(({ call }) => call.operation === "webhooks.replay"), webhookOf)
  const firstReplays = new Map(
    organizations.flatMap(({ final }) =>
      final.webhooks.map(({ id, url }) => {
        const starts = (replays.get(String(id)) ?? []).map(({ call }) => call.started_at)
        return [new URL(String(url)).pathname, Math.min(...starts)] as const
      })
    )
  )
  // A former URL of a webhook is unknown.
  return received.filter(({ at, endpoint }) => at < (firstReplays.get(endpoint) ?? -Infinity))
}

/** Each event has a delivery for each webhook that was subscribed to its type from when it was raised until its expansion. */
const checkMissingDeliveries = (evidence: Evidence): ReadonlyArray<Violation> => {
  const { organizations } = evidence.history
  const created = creationTimes(evidence)
  const earliest = earliestRaise(evidence)
  const isSubscribed = subscriptions(evidence)
  const arrivals = Map.groupBy(receivedBeforeReplays(evidence), ({ event_id }) => event_id)
  return organizations.flatMap(({ final }) => {
    const raised = final.events.map((event) => ({
      event,
      from: Math.max(
        earliest(event["timestamp"]),
        ...["contact_id", "send_id", "message_id"].flatMap((name) => created.get(fieldOf(event, "data", name)) ?? [])
      ),
      until: arrivals.get(String(event["id"]))?.[0]?.at ?? Infinity
    }))
    return final.webhooks.flatMap(({ id, url }) => {
      const stored = new Set((final.deliveries[String(id)] ?? []).map(({ event_id }) => event_id))
      return raised.flatMap(({ event, from, until }) =>
        stored.has(event["id"]) || !isSubscribed(String(id), from, until)(event["type"])
          ? []
          : violation(deliveryRule, `${JSON.stringify(event)} has no delivery to ${String(url)}`)
      )
    })
  })
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...checkBytes(evidence),
  ...checkStoredDeliveries(evidence),
  ...checkMissingDeliveries(evidence)
]
