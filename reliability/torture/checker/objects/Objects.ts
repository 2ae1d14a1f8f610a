/** Splits a history by object: each contact, conversation, and webhook with its specification, and every action on it. */
import { listOf } from "../../Responses.ts"
import { createdId, type Evidence } from "../Evidence.ts"
import type { Request } from "../Requests.ts"
import { contact, type ContactState } from "./ContactSpecification.ts"
import { conversation } from "./ConversationSpecification.ts"
import { inboundSteps } from "./InboundSteps.ts"
import { search, type SearchResult, type Specification, type Step } from "./Linearizability.ts"
import type { Action } from "./Outcomes.ts"
import { readSteps } from "./ReadSteps.ts"
import { relationsOf } from "./Relations.ts"
import { webhook } from "./WebhookSpecification.ts"
import { writeSteps } from "./WriteSteps.ts"

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

const searching =
  <State>(specification: Specification<State, Action>) => (steps: ReadonlyArray<Step<Action>>, budget?: number) =>
    search(specification, steps, budget)

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

/** Returns every object with the steps on it. */
export const objectsOf = (evidence: Evidence): ReadonlyArray<ObjectTrace<Action>> => {
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
