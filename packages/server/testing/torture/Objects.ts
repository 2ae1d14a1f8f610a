/** Splits a history by object: each contact, conversation, and webhook with its specification, and every action on it. */
import { canonical } from "@messaging-crm/core/Phones"
import { Option } from "effect"
import { contact, type ContactState } from "./ContactSpecification.ts"
import { conversation, ownerBy } from "./ConversationSpecification.ts"
import { createdId, type Evidence, type Kind } from "./Evidence.ts"
import { search, type SearchResult, type Specification } from "./Linearizability.ts"
import { type Action, outcomeOf, seen } from "./Outcomes.ts"
import { type RepeatableStep, withRepeats } from "./Repeats.ts"
import { canChangeNothing, isCompleted, listOf, type Request, spanOf, textOf } from "./Requests.ts"
import { webhook } from "./WebhookSpecification.ts"

type ObjectKind = Exclude<Kind, "messages" | "sends">

/** One object and the actions on it. */
export interface ObjectHistory {
  readonly kind: ObjectKind
  readonly id: string
  readonly steps: Array<RepeatableStep>
  readonly search: (steps: ReadonlyArray<RepeatableStep>, budget?: number) => SearchResult
}

const searching = <State>(specification: Specification<State, Action>) => {
  const repeatable = withRepeats(specification)
  return (steps: ReadonlyArray<RepeatableStep>, budget?: number) => search(repeatable, steps, budget)
}

const searches = {
  contacts: (isCreated: boolean) => searching<ContactState>(contact(isCreated ? "absent" : "unknown")),
  conversations: () => searching(conversation),
  webhooks: (isCreated: boolean) => searching(webhook(isCreated ? "absent" : "unknown"))
}

const idIn = (path: string): string | null => /^\/?\w+\/([\w-]+)/.exec(path)?.[1]?.toLowerCase() ?? null

/** Returns the steps of a request on an object. */
const stepsOf = (request: Request): ReadonlyArray<RepeatableStep> => {
  const { call, outcomes } = request
  const span = spanOf(request)
  if (span === null) return []
  const [first] = outcomes
  const step = (kind: "effect" | "effect or nothing" | "nothing"): RepeatableStep => ({
    ...span,
    action: {
      kind,
      request: kind === "effect" ? null : call.index,
      action: {
        call: first?.index ?? call.index,
        name: call.operation,
        body: call.request.body,
        outcome: first === undefined ? null : outcomeOf(first.response)
      }
    }
  })
  if (first === undefined || !canChangeNothing(request)) return [step("effect")]
  const isSame = outcomes.every(({ response }) => response.text === first.response.text)
  if (isSame && !outcomes.every(({ response }) => response.is_replay)) return [step("effect")]
  const repeats = outcomes.map(({ response, ended_at, index, started_at }): RepeatableStep => ({
    started_at,
    ended_at,
    action: {
      kind: "repeat",
      request: call.index,
      action: { call: index, name: "read", body: null, outcome: outcomeOf(response) }
    }
  }))
  return [step(isSame ? "effect or nothing" : "nothing"), ...repeats]
}

/** Returns a step that no repetition concerns. */
const plain = (
  action: Action,
  { ended_at, started_at }: { readonly started_at: number; readonly ended_at: number | null }
): RepeatableStep => ({ started_at, ended_at, action: { kind: "effect", request: null, action } })

class Objects {
  readonly #evidence: Evidence
  readonly #found = new Map<string, ObjectHistory>()
  readonly #created = new Set<string>()
  /** The conversation of a channel and an external ID, and the contact of a conversation. */
  readonly #conversations = new Map<string, string>()
  readonly #contacts = new Map<string, string>()

  constructor(evidence: Evidence) {
    this.#evidence = evidence
    for (const request of evidence.requests) this.#findCreated(request)
    for (const { resource } of evidence.observations.conversations) {
      const id = textOf(resource, "id") ?? ""
      const [channel, person] = [textOf(resource, "channel", "id"), textOf(resource, "contact", "external_id")]
      this.#conversations.set(`${channel} ${person}`, id)
      this.#contacts.set(id, textOf(resource, "contact", "id") ?? "")
    }
  }

  readonly all = (): ReadonlyArray<ObjectHistory> => {
    for (const request of this.#evidence.requests) this.#write(request)
    this.#read()
    this.#receive()
    return Array.from(this.#found.values())
  }

  readonly #findCreated = (request: Request) => {
    const { call: { operation }, outcomes: [first] } = request
    if (operation === "contacts.create" || operation === "webhooks.create") {
      this.#created.add(createdId(this.#evidence, request) ?? "")
    }
    if (operation !== "contacts.upsert" || first === undefined) return
    for (const { contact_id, outcome } of listOf(first.response.body, "data", "results")) {
      if (outcome === "created") this.#created.add(String(contact_id))
    }
  }

  readonly #add = (kind: ObjectKind, id: string | null | undefined, ...steps: ReadonlyArray<RepeatableStep>) => {
    if (!id) return
    const known = this.#found.get(id) ?? { kind, id, steps: [], search: searches[kind](this.#created.has(id)) }
    known.steps.push(...steps)
    this.#found.set(id, known)
  }

  readonly #write = (request: Request) => {
    const { call, outcomes: [first] } = request
    const { operation, request: { path } } = call
    switch (operation) {
      case "contacts.create":
      case "webhooks.create":
        if (first !== undefined && first.response.status >= 400) return
        return this.#add(
          operation === "contacts.create" ? "contacts" : "webhooks",
          createdId(this.#evidence, request),
          ...stepsOf(request)
        )
      case "contacts.update":
      case "contacts.add_note":
        return this.#add("contacts", idIn(path), ...this.#isEmpty(request) ? this.#reads(request) : stepsOf(request))
      case "contacts.upsert":
        return this.#upsert(request)
      case "conversations.assign":
        this.#add("conversations", idIn(path), ...stepsOf(request))
        return this.#own(request, idIn(path))
      case "conversations.close":
      case "conversations.reopen":
        return this.#add("conversations", idIn(path), ...stepsOf(request))
      case "webhooks.disable":
      case "webhooks.update":
        return this.#add("webhooks", idIn(path), ...stepsOf(request))
      case "webhooks.replay":
      case "webhooks.test":
        return this.#add("webhooks", idIn(path), ...this.#rejectable(request))
      case "sends.start":
        return this.#start(request)
    }
  }

  readonly #isEmpty = ({ call: { operation, request: { body } } }: Request): boolean =>
    operation === "contacts.update" && Object.keys(body ?? {}).length === 0

  /** An update without a field changes nothing, so each of its responses is a read. */
  readonly #reads = ({ outcomes }: Request): ReadonlyArray<RepeatableStep> =>
    outcomes.map((call) =>
      plain({ call: call.index, name: "read", body: null, outcome: outcomeOf(call.response) }, call)
    )

  /** A request that has an effect on another object than the one that it returns. */
  readonly #effect = (request: Request, name: Action["name"], body: unknown): ReadonlyArray<RepeatableStep> => {
    const span = spanOf(request)
    const [first] = request.outcomes
    if (span === null || (first !== undefined && first.response.status >= 400)) return []
    const outcome = first === undefined ? null : { status: 200, resource: null, param: null }
    return [plain({ call: request.call.index, name, body, outcome }, span)]
  }

  /** A request that returns another object, and that this one may reject. */
  readonly #rejectable = (request: Request): ReadonlyArray<RepeatableStep> =>
    stepsOf(request).map((step) => {
      const { action } = step.action
      const outcome = action.outcome && { ...action.outcome, resource: null }
      return { ...step, action: { ...step.action, action: { ...action, outcome } } }
    })

  readonly #own = (request: Request, conversation_id: string | null) => {
    const owner = ownerBy(request.call.request.body)
    if (owner === null) return
    this.#add("contacts", this.#contacts.get(conversation_id ?? ""), ...this.#effect(request, "own", owner))
  }

  readonly #start = (request: Request) => {
    const { call: { request: { body } }, outcomes: [first] } = request
    const known = this.#conversations.get(`${textOf(body, "channel_id")} ${phoneOf(textOf(body, "phone"))}`)
    const id = first === undefined ? known : textOf(first.response.body, "data", "conversation_id")
    this.#add("conversations", id, ...this.#effect(request, "open", null))
  }

  readonly #upsert = (request: Request) => {
    const { call: { index, request: { body } }, outcomes: [first] } = request
    // Each contact is committed on its own, so an attempt without a response can have written some of them.
    const whole = spanOf(request)
    const span = whole && { ...whole, started_at: request.attempts[0]?.started_at ?? whole.started_at }
    const results = first === undefined ? [] : listOf(first.response.body, "data", "results")
    if (span === null) return
    for (const [position, given] of listOf(body, "contacts").entries()) {
      const { external_id: _external_id, ...fields } = given
      const action = { call: index, body: fields, outcome: null } as const
      const match = textOf(body, "match") ?? ""
      if (first === undefined) {
        for (const id of this.#matching(match, given)) {
          this.#add("contacts", id, plain({ ...action, name: "upsert" }, { ...span, ended_at: null }))
        }
        continue
      }
      const { contact_id, outcome } = results[position] ?? {}
      const name = outcome === "created" ? "contacts.create" : "upsert"
      const done = { status: 200, resource: null, param: null }
      if (typeof contact_id === "string") {
        this.#add("contacts", contact_id, plain({ ...action, name, outcome: done }, span))
      }
    }
  }

  /** The contacts that ever had the value of an upsert's match. */
  readonly #matching = (match: string, given: unknown): ReadonlySet<string> => {
    const wanted = match === "primary_phone" ? phoneOf(textOf(given, match)) : textOf(given, match)
    const has = (resource: unknown) =>
      match === "external_id"
        ? listOf(resource, "identities").some(({ external_id }) => external_id === wanted)
        : textOf(resource, match)?.toLowerCase() === wanted?.toLowerCase()
    return new Set(
      this.#evidence.observations.contacts.filter(({ resource }) => has(resource)).map(({ resource }) =>
        String(resource["id"])
      )
    )
  }

  readonly #read = () => {
    const { history: { calls }, observations } = this.#evidence
    const writes = new Set(this.#evidence.requests.flatMap(({ outcomes }) => outcomes.map(({ index }) => index)))
    for (const kind of ["contacts", "conversations", "webhooks"] as const) {
      for (const { call, resource, ...span } of observations[kind]) {
        if (call !== null && writes.has(call)) continue
        const id = textOf(resource, "id")
        this.#add(kind, id, plain({ call, name: "read", body: null, outcome: seen(resource) }, span))
      }
    }
    for (const call of calls.filter(isCompleted)) {
      const [kind, action] = call.operation.split(".")
      if (action !== "get" || call.response.status !== 404) continue
      if (kind !== "contacts" && kind !== "conversations" && kind !== "webhooks") continue
      const outcome = outcomeOf(call.response)
      this.#add(kind, idIn(call.request.path), plain({ call: call.index, name: "read", body: null, outcome }, call))
    }
  }

  /** A message of a person opens the conversation at some time after the network reported it. */
  readonly #receive = () => {
    const { history: { inbound }, observations } = this.#evidence
    const open = { call: null, name: "open", body: null, outcome: null } as const
    const reported = new Set<unknown>()
    for (const { channel_id, from, provider_message_id, started_at } of inbound) {
      if (reported.has(provider_message_id)) continue
      reported.add(provider_message_id)
      const id = this.#conversations.get(`${channel_id} ${from}`)
      this.#add("conversations", id, plain(open, { started_at, ended_at: null }))
    }
    // The network responses some messages on its own.
    for (const { call, resource } of observations.messages) {
      const { conversation_id, direction, provider_message_id } = resource
      if (call !== null || direction !== "inbound" || reported.has(provider_message_id)) continue
      this.#add("conversations", String(conversation_id), plain(open, { started_at: 0, ended_at: null }))
    }
  }
}

/** Returns a phone as the service stores it; as it was written if it is not one. */
const phoneOf = (written: string | null): string | null =>
  written === null ? null : Option.getOrElse(canonical(written), () => written)

/** Returns every object with the actions on it. */
export const objectsOf = (evidence: Evidence): ReadonlyArray<ObjectHistory> => new Objects(evidence).all()
