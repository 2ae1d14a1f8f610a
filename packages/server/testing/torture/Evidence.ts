/** The evidence of a history, arranged for the checks: its requests, and when each object was seen. */
import type { Operation } from "@messaging-crm/core/Operations"
import type { Call, FinalState, History, Resource } from "./History.ts"
import {
  type CompletedCall,
  isCompleted,
  isSuccess,
  type Request,
  requestsOf,
  resourcesIn,
  textOf
} from "./Requests.ts"

/** An object in a response, or in the final state. */
export interface Observation {
  readonly organization: number
  readonly resource: Resource
  /** The position of the call; null for the final state. */
  readonly call: number | null
  readonly started_at: number
  readonly ended_at: number
}

export type Kind = "contacts" | "conversations" | "messages" | "sends" | "webhooks"

export interface Evidence {
  readonly history: History
  readonly requests: ReadonlyArray<Request>
  /** By kind, every object as a response showed it at the time of the response. Replays show older states, and are left out. */
  readonly observations: Readonly<Record<Kind, ReadonlyArray<Observation>>>
  /** A time after every call and every message of a person. */
  readonly end: number
  /** The objects that the request of an attempt changed, by the attempt's `request_id`. */
  readonly recorded: ReadonlyMap<string, ReadonlyArray<string>>
}

const kindOf = (operation: Operation): Kind | null => {
  switch (operation) {
    case "contacts.create":
    case "contacts.get":
    case "contacts.list":
    case "contacts.update":
    case "contacts.add_note":
      return "contacts"
    case "conversations.assign":
    case "conversations.close":
    case "conversations.get":
    case "conversations.list":
    case "conversations.reopen":
      return "conversations"
    case "messages.get":
    case "messages.list":
      return "messages"
    case "sends.get":
    case "sends.list":
    case "sends.send":
    case "sends.start":
      return "sends"
    case "webhooks.create":
    case "webhooks.disable":
    case "webhooks.get":
    case "webhooks.list":
    case "webhooks.update":
      return "webhooks"
    default:
      return null
  }
}

const finalOf = (final: FinalState): Readonly<Record<Kind, ReadonlyArray<Resource>>> => ({
  contacts: final.contacts,
  conversations: final.conversations,
  messages: Object.values(final.messages).flat(),
  sends: final.sends,
  webhooks: final.webhooks
})

const isObservation = (call: Call): call is CompletedCall =>
  isCompleted(call) && isSuccess(call.response) && !call.response.is_replay

export const gather = (history: History): Evidence => {
  const times = [
    ...history.calls.map(({ ended_at, started_at }) => ended_at ?? started_at),
    ...history.inbound.map(({ acknowledged_at, started_at }) => acknowledged_at ?? started_at)
  ]
  const end = times.reduce((latest, time) => Math.max(latest, time), 0) + 1
  const observations: Record<Kind, Array<Observation>> = {
    contacts: [],
    conversations: [],
    messages: [],
    sends: [],
    webhooks: []
  }
  for (const call of history.calls.filter(isObservation)) {
    const kind = kindOf(call.operation)
    if (kind === null) continue
    const { ended_at, index, organization, started_at } = call
    for (const resource of resourcesIn(call.response.body)) {
      observations[kind].push({ organization, resource, call: index, started_at, ended_at })
    }
  }
  const recorded = new Map<string, Array<string>>()
  for (const [organization, { final }] of history.organizations.entries()) {
    for (const [kind, resources] of Object.entries(finalOf(final))) {
      // The keys are those of `finalOf`.
      const seen = observations[kind as Kind]
      for (const resource of resources) {
        seen.push({ organization, resource, call: null, started_at: end, ended_at: end + 1 })
      }
    }
    for (const record of final.audit) {
      const request_id = textOf(record, "request_id")
      const resource_id = textOf(record, "resource_id")
      if (request_id === null || resource_id === null) continue
      recorded.set(request_id, [...recorded.get(request_id) ?? [], resource_id])
    }
  }
  return { history, requests: requestsOf(history), observations, end, recorded }
}

/** Returns the object that a creation made: from its response, or else from the audit. */
export const createdId = ({ recorded }: Evidence, { attempts, outcomes: [first] }: Request): string | null =>
  first === undefined
    ? attempts.flatMap(({ request }) => recorded.get(request.request_id) ?? [])[0] ?? null
    : textOf(first.response.body, "data", "id")
