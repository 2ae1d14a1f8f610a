/** The requests of a history, and every observation of each object, as the checks need them. */
import type { Operation } from "@messaging-crm/core/Operations"
import type { Call, FinalState, History, Resource } from "../History.ts"
import { isSuccess, resourcesIn, textOf } from "../Responses.ts"
import { type CompletedCall, isCompleted, type Request, requestsOf } from "./Requests.ts"

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
  /** By kind, every object in a response. Replays are left out, because they can show older states. */
  readonly observations: Readonly<Record<Kind, ReadonlyArray<Observation>>>
  /** A time after every call and every inbound message. */
  readonly end: number
  /** The IDs of the objects that an attempt changed, by its `request_id`. */
  readonly changed: ReadonlyMap<string, ReadonlyArray<string>>
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

const endOf = ({ calls, inbound }: History): number => {
  const times = [
    ...calls.map(({ ended_at, started_at }) => ended_at ?? started_at),
    ...inbound.map(({ acknowledged_at, started_at }) => acknowledged_at ?? started_at)
  ]
  return times.reduce((latest, time) => Math.max(latest, time), 0) + 1
}

const observationsOf = ({ calls, organizations }: History, end: number): Evidence["observations"] => {
  const observations: Record<Kind, Array<Observation>> = {
    contacts: [],
    conversations: [],
    messages: [],
    sends: [],
    webhooks: []
  }
  for (const call of calls.filter(isObservation)) {
    const kind = kindOf(call.operation)
    if (kind === null) continue
    const { ended_at, index, organization, started_at } = call
    for (const resource of resourcesIn(call.response.body)) {
      observations[kind].push({ organization, resource, call: index, started_at, ended_at })
    }
  }
  for (const [organization, { final }] of organizations.entries()) {
    for (const [kind, resources] of Object.entries(finalOf(final))) {
      const span = { call: null, started_at: end, ended_at: end + 1 }
      // The keys are those of `finalOf`.
      for (const resource of resources) observations[kind as Kind].push({ organization, resource, ...span })
    }
  }
  return observations
}

const changesOf = ({ organizations }: History): Evidence["changed"] => {
  const changed = new Map<string, Array<string>>()
  for (const record of organizations.flatMap(({ final }) => final.audit)) {
    const request_id = textOf(record, "request_id")
    const resource_id = textOf(record, "resource_id")
    if (request_id === null || resource_id === null) continue
    changed.set(request_id, [...changed.get(request_id) ?? [], resource_id])
  }
  return changed
}

export const gather = (history: History): Evidence => {
  const end = endOf(history)
  return {
    history,
    end,
    requests: requestsOf(history),
    observations: observationsOf(history, end),
    changed: changesOf(history)
  }
}

/** Returns the ID of the object that a request created: from its response, or else from the audit. */
export const createdId = ({ changed }: Evidence, { attempts, outcomes: [first] }: Request): string | null =>
  first === undefined
    ? attempts.flatMap(({ request }) => changed.get(request.request_id) ?? [])[0] ?? null
    : textOf(first.response.body, "data", "id")
