/** Splits a history by object: each contact, conversation, and webhook with its specification, and every action on it. */
import { listOf, textOf } from "../../Responses.ts"
import { createdId, type Evidence, type Kind } from "../Evidence.ts"
import { isCompleted, phoneOf, type Request } from "../Requests.ts"
import { contact, type ContactState } from "./ContactSpecification.ts"
import { contactOwnerOf, conversation } from "./ConversationSpecification.ts"
import { search, type SearchResult, type Specification, type Step } from "./Linearizability.ts"
import { readStep, rejectableSteps, sideEffectSteps, singleStep, stepsOf } from "./ObjectSteps.ts"
import { type Action, successfulRead } from "./Outcomes.ts"
import { type RepeatableAction, type RepeatableStep, withRepeats } from "./Repeats.ts"
import { upsertSteps } from "./Upserts.ts"
import { webhook } from "./WebhookSpecification.ts"

const kinds = ["contacts", "conversations", "webhooks"] as const

type ObjectKind = Extract<Kind, typeof kinds[number]>

/** The name of each kind in a violation. */
const names = {
  contacts: "contact (contract §8)",
  conversations: "conversation (contract §10)",
  webhooks: "webhook (contract §14)"
} as const

/** The steps on one object, and the search for an order that explains them. */
export interface ObjectTrace<Action> {
  /** The kind of object, as a violation names it. */
  readonly name: string
  readonly id: string
  readonly steps: ReadonlyArray<Step<Action>>
  readonly search: (steps: ReadonlyArray<Step<Action>>, budget?: number) => SearchResult
  /** Returns the call of an action, null for a final read, and the object that its response contained. */
  readonly viewOf: (action: Action) => { readonly call: number | null; readonly shown: unknown }
}

/** A step with its object. */
interface ObjectStep {
  readonly kind: ObjectKind
  readonly id: string
  readonly step: RepeatableStep
}

/** Returns the steps on an object; none if its ID is unknown. */
const stepsOn = (
  kind: ObjectKind,
  id: string | null | undefined,
  ...steps: ReadonlyArray<RepeatableStep>
): ReadonlyArray<ObjectStep> => id ? steps.map((step) => ({ kind, id, step })) : []

const searching = <State>(specification: Specification<State, Action>) => {
  const repeatable = withRepeats(specification)
  return (steps: ReadonlyArray<RepeatableStep>, budget?: number) => search(repeatable, steps, budget)
}

const searches = {
  contacts: (isCreated: boolean) => searching<ContactState>(contact(isCreated ? "absent" : "unknown")),
  conversations: () => searching(conversation),
  webhooks: (isCreated: boolean) => searching(webhook(isCreated ? "absent" : "unknown"))
}

const createdBy = (evidence: Evidence, request: Request): ReadonlyArray<string> => {
  const { call: { operation }, outcomes: [first] } = request
  if (operation === "contacts.create" || operation === "webhooks.create") return [createdId(evidence, request) ?? ""]
  if (operation !== "contacts.upsert") return []
  return listOf(first?.response.body, "data", "results")
    .flatMap(({ contact_id, outcome }) => outcome === "created" ? String(contact_id) : [])
}

/** The relations of objects that the responses show. */
interface Relations {
  /** The conversation of a channel and an external ID. */
  readonly conversations: ReadonlyMap<string, string>
  /** The contact of a conversation. */
  readonly contacts: ReadonlyMap<string, string>
}

const relationsOf = ({ observations }: Evidence): Relations => {
  const seen = observations.conversations.map(({ resource }) => ({
    id: textOf(resource, "id") ?? "",
    contact_id: textOf(resource, "contact", "id") ?? "",
    person: `${textOf(resource, "channel", "id")} ${textOf(resource, "contact", "external_id")}`
  }))
  return {
    conversations: new Map(seen.map(({ id, person }) => [person, id])),
    contacts: new Map(seen.map(({ contact_id, id }) => [id, contact_id]))
  }
}

const idIn = (path: string): string | null => /^\/?\w+\/([\w-]+)/.exec(path)?.[1]?.toLowerCase() ?? null

/** Returns the steps of a request that creates an object. */
const creationSteps = (evidence: Evidence, kind: ObjectKind, request: Request): ReadonlyArray<ObjectStep> => {
  const [first] = request.outcomes
  if (first !== undefined && first.response.status >= 400) return []
  return stepsOn(kind, createdId(evidence, request), ...stepsOf(request))
}

/** An update without a field changes nothing, so each of its responses is a read. */
const updateSteps = (request: Request): ReadonlyArray<RepeatableStep> => {
  const { call: { operation, request: { body } }, outcomes } = request
  return operation === "contacts.update" && Object.keys(body ?? {}).length === 0
    ? outcomes.map(readStep)
    : stepsOf(request)
}

/** Returns the steps of an assignment of a conversation, which can also set the owner of its contact. */
const assignmentSteps = ({ contacts }: Relations, request: Request, conversation_id: string | null) => {
  const owner = contactOwnerOf(request.call.request.body)
  return [
    ...stepsOn("conversations", conversation_id, ...stepsOf(request)),
    ...owner === null
      ? []
      : stepsOn("contacts", contacts.get(conversation_id ?? ""), ...sideEffectSteps(request, "set_owner", owner))
  ]
}

/** Returns the step of the start of a conversation, which opens it. */
const startSteps = ({ conversations }: Relations, request: Request) => {
  const { call: { request: { body } }, outcomes: [first] } = request
  const known = conversations.get(`${textOf(body, "channel_id")} ${phoneOf(textOf(body, "phone"))}`)
  const id = first === undefined ? known : textOf(first.response.body, "data", "conversation_id")
  return stepsOn("conversations", id, ...sideEffectSteps(request, "open", null))
}

const writeSteps = (evidence: Evidence, relations: Relations, request: Request): ReadonlyArray<ObjectStep> => {
  const { operation, request: { path } } = request.call
  switch (operation) {
    case "contacts.create":
      return creationSteps(evidence, "contacts", request)
    case "contacts.update":
    case "contacts.add_note":
      return stepsOn("contacts", idIn(path), ...updateSteps(request))
    case "contacts.upsert":
      return upsertSteps(evidence, request).flatMap(([id, step]) => stepsOn("contacts", id, step))
    case "conversations.assign":
      return assignmentSteps(relations, request, idIn(path))
    case "conversations.close":
    case "conversations.reopen":
      return stepsOn("conversations", idIn(path), ...stepsOf(request))
    case "sends.start":
      return startSteps(relations, request)
    case "webhooks.create":
      return creationSteps(evidence, "webhooks", request)
    case "webhooks.disable":
    case "webhooks.update":
      return stepsOn("webhooks", idIn(path), ...stepsOf(request))
    case "webhooks.replay":
    case "webhooks.test":
      return stepsOn("webhooks", idIn(path), ...rejectableSteps(request))
    default:
      return []
  }
}

/** Returns a step for each response that shows an object, and for each 404 of a read. */
const readSteps = ({ history: { calls }, observations, requests }: Evidence): ReadonlyArray<ObjectStep> => {
  const writes = new Set(requests.flatMap(({ outcomes }) => outcomes.map(({ index }) => index)))
  const shown = kinds.flatMap((kind) =>
    observations[kind].flatMap(({ call, resource, ...span }) => {
      if (call !== null && writes.has(call)) return []
      const action = { call, name: "read", body: null, outcome: successfulRead(resource) } as const
      return stepsOn(kind, textOf(resource, "id"), singleStep(action, span))
    })
  )
  const missing = calls.filter(isCompleted).flatMap((call) => {
    const kind = kinds.find((one) => call.operation === `${one}.get`)
    return kind !== undefined && call.response.status === 404
      ? stepsOn(kind, idIn(call.request.path), readStep(call))
      : []
  })
  return [...shown, ...missing]
}

/** Returns a step for each inbound message, which opens its conversation at some time after the network reported it. */
const inboundSteps = (
  { history: { inbound }, observations }: Evidence,
  { conversations }: Relations
): ReadonlyArray<ObjectStep> => {
  const opening = (started_at: number) =>
    singleStep({ call: null, name: "open", body: null, outcome: null }, { started_at, ended_at: null })
  const reported = new Set<unknown>()
  const ofClients = inbound.flatMap(({ channel_id, from, provider_message_id, started_at }) => {
    if (reported.has(provider_message_id)) return []
    reported.add(provider_message_id)
    return stepsOn("conversations", conversations.get(`${channel_id} ${from}`), opening(started_at))
  })
  // The mock network replies to some messages on its own.
  const ofNetwork = observations.messages.flatMap(({ call, resource }) => {
    const { conversation_id, direction, provider_message_id } = resource
    return call !== null || direction !== "inbound" || reported.has(provider_message_id)
      ? []
      : stepsOn("conversations", String(conversation_id), opening(0))
  })
  return [...ofClients, ...ofNetwork]
}

/** Returns every object with the steps on it. */
export const objectsOf = (evidence: Evidence): ReadonlyArray<ObjectTrace<RepeatableAction>> => {
  const { requests } = evidence
  const relations = relationsOf(evidence)
  const created = new Set(requests.flatMap((request) => createdBy(evidence, request)))
  const steps = [
    ...requests.flatMap((request) => writeSteps(evidence, relations, request)),
    ...readSteps(evidence),
    ...inboundSteps(evidence, relations)
  ]
  return Array.from(Map.groupBy(steps, ({ id }) => id), ([id, same]) => {
    const [{ kind } = { kind: "contacts" as const }] = same
    return {
      name: names[kind],
      id,
      steps: same.map(({ step }) => step),
      search: searches[kind](created.has(id)),
      viewOf: ({ call, outcome }) => ({ call, shown: outcome?.resource })
    }
  })
}
