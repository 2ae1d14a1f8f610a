/** The rules of contract §13 and §14 for events: each change raises one, and it is delivered at least once with the same bytes. */
import { canonicalJson } from "@messaging-crm/core/Idempotency"
import { delays } from "@messaging-crm/core/WebhookDeliveries"
import { createdId, type Evidence } from "./Evidence.ts"
import type { FinalState, Resource, Violation } from "./History.ts"
import { messageRanks } from "./ProgressRules.ts"
import { fieldOf, isSuccess, type Request, spanOf, textOf } from "./Requests.ts"
import { subscriptions } from "./Subscriptions.ts"

const keyOf = (event: Resource, ...data: ReadonlyArray<string>): string =>
  [event["type"], ...data.map((name) => fieldOf(event, "data", name))].join(" ")

const violation = (rule: string, detail: string, calls: ReadonlyArray<number> = []): Violation => ({
  rule,
  detail,
  calls
})

/** An event that must have been raised: how often, and by which call. */
interface ExpectedEvent {
  readonly key: string
  readonly least: number
  readonly most: number
  readonly calls: ReadonlyArray<number>
}

const once = (key: string, calls: ReadonlyArray<number> = []): ExpectedEvent => ({ key, least: 1, most: 1, calls })

const callsOf = ({ outcomes }: Request): ReadonlyArray<number> => outcomes.slice(0, 1).map(({ index }) => index)

const ofContacts = (evidence: Evidence, organization: number): ReadonlyArray<ExpectedEvent> =>
  evidence.requests.flatMap((request) => {
    const { call: { operation, organization: own }, outcomes: [first] } = request
    const isCreated = own === organization && operation === "contacts.create" && first !== undefined &&
      isSuccess(first.response)
    return isCreated ? once(`contact.created ${createdId(evidence, request)}`, callsOf(request)) : []
  })

const ofMessages = ({ messages, sends }: FinalState): ReadonlyArray<ExpectedEvent> => [
  ...Object.values(messages).flat().flatMap(({ deleted_at, direction, id, status }) =>
    [
      once(`message.${direction === "inbound" ? "received" : "sent"} ${id}`),
      direction === "outbound" && status !== "sent" && deleted_at === null
        ? once(`message.updated ${id} ${status}`)
        : []
    ].flat()
  ),
  ...sends.flatMap(({ failure_reason, id, status }) =>
    status === "failed" && failure_reason !== "recipient_opted_out" ? once(`send.failed ${id}`) : []
  )
]

/** Each time at which a conversation was seen closed is a change of its own. */
const ofConversations = ({ requests, observations }: Evidence, organization: number): ReadonlyArray<ExpectedEvent> => {
  const own = observations.conversations.filter((observation) => observation.organization === organization)
  return Array.from(Map.groupBy(own, ({ resource }) => String(resource["id"])), ([id, same]) => {
    const closes = requests.filter(({ attempts, call: { operation, request: { path } } }) =>
      operation === "conversations.close" && attempts.length > 0 && path.toLowerCase().includes(id)
    )
    const seen = new Set(same.flatMap(({ resource }) => textOf(resource, "closed_at") ?? []))
    return { key: `conversation.closed ${id}`, least: seen.size, most: closes.length, calls: closes.flatMap(callsOf) }
  })
}

const ofWebhooks = ({ webhooks }: FinalState): ReadonlyArray<ExpectedEvent> =>
  webhooks.flatMap(({ id, status }) => status === "disabled" ? once(`webhook.disabled ${id}`) : [])

const raisedKey = (event: Resource): string => {
  switch (event["type"]) {
    case "message.updated":
      return keyOf(event, "message_id", "status")
    case "message.received":
    case "message.sent":
      return keyOf(event, "message_id")
    case "send.failed":
      return keyOf(event, "send_id")
    case "contact.created":
      return keyOf(event, "contact_id")
    case "webhook.disabled":
      return keyOf(event, "webhook_id")
    default:
      return keyOf(event, "conversation_id")
  }
}

/** Each change that was seen raised its event, and no event was raised twice. */
const checkRaising = (evidence: Evidence): ReadonlyArray<Violation> =>
  evidence.history.organizations.flatMap(({ final }, organization) => {
    const raised = Map.groupBy(final.events, raisedKey)
    const wanted = [
      ...ofContacts(evidence, organization),
      ...ofMessages(final),
      ...ofConversations(evidence, organization),
      ...ofWebhooks(final)
    ]
    return wanted.flatMap(({ calls, key, least, most }) => {
      const count = raised.get(key)?.length ?? 0
      const bounds = least === most ? `${least}` : `${least} to ${most}`
      return count >= least && count <= most
        ? []
        : violation("Each change raises one event (contract §13.1).", `${key}: ${count} events, not ${bounds}`, calls)
    })
  })

/** Checks that the facts in an event about a message still hold at the end. */
const checkMessageEvents = ({ history: { organizations } }: Evidence): ReadonlyArray<Violation> =>
  organizations.flatMap(({ final }) => {
    const messages = new Map(Object.values(final.messages).flat().map((message) => [message["id"], message]))
    return final.events.filter(({ type }) => type === "message.updated").flatMap((event) => {
      const message = messages.get(fieldOf(event, "data", "message_id"))
      const status = String(fieldOf(event, "data", "status"))
      const [reported, found] = [messageRanks[status], messageRanks[String(message?.["status"])]]
      const holds = status === "deleted"
        ? message?.["deleted_at"] !== null
        : reported === undefined || found === undefined || found >= reported
      return message === undefined || holds
        ? []
        : violation(
          "What an event reported of a message does not go back (contract §11.4, §11.7).",
          `${JSON.stringify(event)}, and the message is ${JSON.stringify(message)}`
        )
    })
  })

/** Each delivery of an event has the bytes of the event. */
const checkBytes = ({ history: { organizations, received } }: Evidence): ReadonlyArray<Violation> => {
  const stored = new Map(organizations.flatMap(({ final }) => final.events.map((event) => [event["id"], event])))
  const rule = "Every delivery of an event has its ID and the same bytes (contract §13.2)."
  return Array.from(Map.groupBy(received, ({ event_id }) => event_id), ([event_id, same]) => {
    const [first] = same
    const texts = new Set(same.map(({ text }) => text))
    const event: Resource = first === undefined ? {} : JSON.parse(first.text)
    const known = stored.get(event_id)
    const isKnown = event["type"] === "webhook.test" ||
      (known !== undefined && canonicalJson(known) === canonicalJson(event))
    return [
      texts.size === 1 && event["id"] === event_id ? [] : violation(rule, Array.from(texts).join(" and ")),
      isKnown ? [] : violation("Only events that are stored are delivered (contract §13.4).", `${first?.text}`),
      same.every(({ is_signed }) => is_signed !== false)
        ? []
        : violation("Every delivery has a valid signature (contract §14.5).", event_id)
    ].flat()
  }).flat()
}

/** Returns the earliest time of the driver at which the event can have been raised: the start of the request behind it. */
const causesOf = (evidence: Evidence): ReadonlyMap<unknown, number> => {
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

const deliveryRule = "A webhook gets each event of its types at least once (contract §14.10)."

/**
 * Each stored delivery arrived, also of a webhook that was updated since. One may fail if its webhook was disabled, or after
 * the last attempt of the schedule: the end of a run makes attempts due at once.
 */
const checkStoredDeliveries = ({ history: { organizations, received } }: Evidence): ReadonlyArray<Violation> => {
  const arrived = new Set(
    received.filter(({ status }) => status >= 200 && status < 300).map(({ endpoint, event_id }) =>
      `${endpoint} ${event_id}`
    )
  )
  return organizations.flatMap(({ final }) =>
    final.webhooks.flatMap(({ id, status: of_webhook, url }) =>
      (final.deliveries[String(id)] ?? []).flatMap(({ attempt_count, event_id, failure_code, status }) => {
        const hasArrived = arrived.has(`${new URL(String(url)).pathname} ${String(event_id)}`)
        const mayFail = of_webhook === "disabled" || Number(attempt_count) > delays.length
        if (status === "succeeded" ? hasArrived : status === "failed" && mayFail) return []
        const outcome = `${String(status)} (${String(failure_code)})`
        return violation(
          deliveryRule,
          `${String(event_id)} to ${String(url)} is ${outcome}, and arrived: ${hasArrived}`
        )
      })
    )
  )
}

/** By how much the clocks of processes may differ: each estimates the time of the database from slow round trips. */
const clock_error_max = 10_000

/**
 * Returns the latest time of the driver after which an event with a timestamp was raised for sure: the start of a request
 * whose send was created earlier by more than the error of clocks.
 */
const raisedAfter = ({ requests }: Evidence) => {
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

/** A delivery is stored for each event that a webhook subscribed to when it was raised. */
const checkMissingDeliveries = (evidence: Evidence): ReadonlyArray<Violation> => {
  const { organizations, received } = evidence.history
  const causes = causesOf(evidence)
  const raisedBy = raisedAfter(evidence)
  const isSubscribed = subscriptions(evidence)
  const arrivals = Map.groupBy(received, ({ event_id }) => event_id)
  return organizations.flatMap(({ final }) => {
    const raised = final.events.map((event) => ({
      event,
      from: Math.max(
        raisedBy(event["timestamp"]),
        ...["contact_id", "send_id", "message_id"].flatMap((name) => causes.get(fieldOf(event, "data", name)) ?? [])
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
  ...checkRaising(evidence),
  ...checkMessageEvents(evidence),
  ...checkBytes(evidence),
  ...checkStoredDeliveries(evidence),
  ...checkMissingDeliveries(evidence)
]
