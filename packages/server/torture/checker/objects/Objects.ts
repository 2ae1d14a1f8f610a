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
export interface ObjectHistory<Action> {
  /** The kind of object, as a violation names it. */
  readonly name: string
  readonly id: string
  readonly steps: ReadonlyArray<Step<Action>>
  readonly search: (steps: ReadonlyArray<Step<Action>>, budget?: number) => SearchResult
  /** Returns the call of an action, or null for a final read, and what its response showed. */
  readonly viewOf: (action: Action) => { readonly call: number | null; readonly shown: unknown }
}

interface GrowingHistory extends ObjectHistory<RepeatableAction> {
  readonly steps: Array<RepeatableStep>
}

const viewOf: GrowingHistory["viewOf"] = ({ action: { call, outcome } }) => ({ call, shown: outcome?.resource })

const searching = <State>(specification: Specification<State, Action>) => {
  const repeatable = withRepeats(specification)
  return (steps: ReadonlyArray<RepeatableStep>, budget?: number) => search(repeatable, steps, budget)
}

const searches = {
  contacts: (isCreated: boolean) => searching<ContactState>(contact(isCreated ? "absent" : "unknown")),
  conversations: () => searching(conversation),
  webhooks: (isCreated: boolean) => searching(webhook(isCreated ? "absent" : "unknown"))
}

interface Objects {
  readonly evidence: Evidence
  readonly histories: Map<string, GrowingHistory>
  /** The IDs of the objects that a call created. */
  readonly created: ReadonlySet<string>
  /** The conversation of a channel and an external ID. */
  readonly conversations: ReadonlyMap<string, string>
  /** The contact of a conversation. */
  readonly contacts: ReadonlyMap<string, string>
}

const createdBy = (evidence: Evidence, request: Request): ReadonlyArray<string> => {
  const { call: { operation }, outcomes: [first] } = request
  if (operation === "contacts.create" || operation === "webhooks.create") return [createdId(evidence, request) ?? ""]
  if (operation !== "contacts.upsert") return []
  return listOf(first?.response.body, "data", "results")
    .flatMap(({ contact_id, outcome }) => outcome === "created" ? String(contact_id) : [])
}

const emptyObjects = (evidence: Evidence): Objects => {
  const conversations = evidence.observations.conversations.map(({ resource }) => resource)
  const idOf = (resource: unknown) => textOf(resource, "id") ?? ""
  return {
    evidence,
    histories: new Map(),
    created: new Set(evidence.requests.flatMap((request) => createdBy(evidence, request))),
    conversations: new Map(
      conversations.map((
        one
      ) => [`${textOf(one, "channel", "id")} ${textOf(one, "contact", "external_id")}`, idOf(one)])
    ),
    contacts: new Map(conversations.map((one) => [idOf(one), textOf(one, "contact", "id") ?? ""]))
  }
}

const add = (
  { created, histories }: Objects,
  kind: ObjectKind,
  id: string | null | undefined,
  ...steps: ReadonlyArray<RepeatableStep>
) => {
  if (!id) return
  const history = histories.get(id) ??
    { name: names[kind], id, steps: [], search: searches[kind](created.has(id)), viewOf }
  history.steps.push(...steps)
  histories.set(id, history)
}

const idIn = (path: string): string | null => /^\/?\w+\/([\w-]+)/.exec(path)?.[1]?.toLowerCase() ?? null

/** Adds the object that a request creates. */
const addCreation = (objects: Objects, kind: ObjectKind, request: Request) => {
  const [first] = request.outcomes
  if (first !== undefined && first.response.status >= 400) return
  add(objects, kind, createdId(objects.evidence, request), ...stepsOf(request))
}

/** An update without a field changes nothing, so each of its responses is a read. */
const updateSteps = (request: Request): ReadonlyArray<RepeatableStep> => {
  const { call: { operation, request: { body } }, outcomes } = request
  return operation === "contacts.update" && Object.keys(body ?? {}).length === 0
    ? outcomes.map(readStep)
    : stepsOf(request)
}

/** Adds an assignment of a conversation, which can also set the owner of its contact. */
const addAssignment = (objects: Objects, request: Request, conversation_id: string | null) => {
  add(objects, "conversations", conversation_id, ...stepsOf(request))
  const owner = contactOwnerOf(request.call.request.body)
  if (owner === null) return
  const contact_id = objects.contacts.get(conversation_id ?? "")
  add(objects, "contacts", contact_id, ...sideEffectSteps(request, "set_owner", owner))
}

/** Adds the start of a conversation, which opens it. */
const addStart = (objects: Objects, request: Request) => {
  const { call: { request: { body } }, outcomes: [first] } = request
  const known = objects.conversations.get(`${textOf(body, "channel_id")} ${phoneOf(textOf(body, "phone"))}`)
  const id = first === undefined ? known : textOf(first.response.body, "data", "conversation_id")
  add(objects, "conversations", id, ...sideEffectSteps(request, "open", null))
}

const addWrite = (objects: Objects, request: Request) => {
  const { operation, request: { path } } = request.call
  switch (operation) {
    case "contacts.create":
      return addCreation(objects, "contacts", request)
    case "contacts.update":
    case "contacts.add_note":
      return add(objects, "contacts", idIn(path), ...updateSteps(request))
    case "contacts.upsert":
      return upsertSteps(objects.evidence, request).forEach(([id, step]) => add(objects, "contacts", id, step))
    case "conversations.assign":
      return addAssignment(objects, request, idIn(path))
    case "conversations.close":
    case "conversations.reopen":
      return add(objects, "conversations", idIn(path), ...stepsOf(request))
    case "sends.start":
      return addStart(objects, request)
    case "webhooks.create":
      return addCreation(objects, "webhooks", request)
    case "webhooks.disable":
    case "webhooks.update":
      return add(objects, "webhooks", idIn(path), ...stepsOf(request))
    case "webhooks.replay":
    case "webhooks.test":
      return add(objects, "webhooks", idIn(path), ...rejectableSteps(request))
  }
}

/** Adds each response that shows an object, and each 404 of a read. */
const addReads = (objects: Objects) => {
  const { history: { calls }, observations, requests } = objects.evidence
  const writes = new Set(requests.flatMap(({ outcomes }) => outcomes.map(({ index }) => index)))
  for (const kind of kinds) {
    for (const { call, resource, ...span } of observations[kind]) {
      if (call !== null && writes.has(call)) continue
      const action = { call, name: "read", body: null, outcome: successfulRead(resource) } as const
      add(objects, kind, textOf(resource, "id"), singleStep(action, span))
    }
  }
  for (const call of calls.filter(isCompleted)) {
    const kind = kinds.find((one) => call.operation === `${one}.get`)
    if (kind !== undefined && call.response.status === 404) add(objects, kind, idIn(call.request.path), readStep(call))
  }
}

/** Adds inbound messages. Each opens its conversation at some time after the network reported it. */
const addInbound = (objects: Objects) => {
  const { history: { inbound }, observations } = objects.evidence
  const open = { call: null, name: "open", body: null, outcome: null } as const
  const reported = new Set<unknown>()
  for (const { channel_id, from, provider_message_id, started_at } of inbound) {
    if (reported.has(provider_message_id)) continue
    reported.add(provider_message_id)
    const id = objects.conversations.get(`${channel_id} ${from}`)
    add(objects, "conversations", id, singleStep(open, { started_at, ended_at: null }))
  }
  // The mock network replies to some messages on its own.
  for (const { call, resource } of observations.messages) {
    const { conversation_id, direction, provider_message_id } = resource
    if (call !== null || direction !== "inbound" || reported.has(provider_message_id)) continue
    add(objects, "conversations", String(conversation_id), singleStep(open, { started_at: 0, ended_at: null }))
  }
}

/** Returns every object with the actions on it. */
export const objectsOf = (evidence: Evidence): ReadonlyArray<ObjectHistory<RepeatableAction>> => {
  const objects = emptyObjects(evidence)
  for (const request of evidence.requests) addWrite(objects, request)
  addReads(objects)
  addInbound(objects)
  return Array.from(objects.histories.values())
}
