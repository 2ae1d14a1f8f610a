/** The sequential specification of one webhook (contract §14). */
import type { Resource } from "../../History.ts"
import { fieldOf, textOf } from "../../Responses.ts"
import type { Specification } from "./Linearizability.ts"
import { type Action, effectOf, forget, type Outcome } from "./Outcomes.ts"

interface Known {
  readonly url: string | null
  /** Sorted. */
  readonly event_types: ReadonlyArray<unknown>
  readonly status: string | null
}

/** `unknown` until the first response about a webhook that no call created. */
type WebhookState = "absent" | "unknown" | Known

const typesOf = (value: unknown): ReadonlyArray<unknown> => {
  const types = fieldOf(value, "event_types")
  return Array.isArray(types) ? types.toSorted() : []
}

const read = (resource: Resource): Known => ({
  url: textOf(resource, "url"),
  event_types: typesOf(resource),
  status: textOf(resource, "status")
})

/** A URL is stored as it is serialized (contract §14.2). */
const urlOf = (value: unknown): string | null => {
  const url = textOf(value, "url")
  return url === null ? null : URL.parse(url)?.href ?? url
}

const keyOf = (state: WebhookState): string => JSON.stringify(state)

const observe = (state: WebhookState, resource: Resource): ReadonlyArray<WebhookState> => {
  const shown = read(resource)
  return state === "unknown" || keyOf(shown) === keyOf(state) ? [shown] : []
}

/** Returns the webhook after a write; null if the contract rejects the write in this state. */
const afterWrite = (state: Known, { body, name }: Action): Known | null => {
  switch (name) {
    case "webhooks.disable":
      return { ...state, status: "disabled" }
    case "webhooks.update": {
      const types = fieldOf(body, "event_types") === undefined ? state.event_types : typesOf(body)
      const set = { ...state, url: urlOf(body) ?? state.url, event_types: types }
      return state.status === "disabled" && keyOf(set) !== keyOf(state) ? null : set
    }
    case "webhooks.replay":
    case "webhooks.test":
      return state.status === "disabled" ? null : state
    default:
      return state
  }
}

const explain = (
  state: WebhookState,
  next: Known | null,
  { resource, status }: Outcome,
  name: Action["name"]
): ReadonlyArray<WebhookState> => {
  if (status === 404) return state === "absent" || state === "unknown" ? [state] : []
  // Another replay can be in progress, whose end no response shows.
  if (status >= 400) return next === null || name === "webhooks.replay" ? [state] : []
  if (next === null) return []
  return resource === null ? [next] : observe(next, resource)
}

const next = (state: WebhookState, action: Action): ReadonlyArray<WebhookState> => {
  const { body, name, outcome } = action
  if (name === "webhooks.create") {
    const made: Known = { url: urlOf(body), event_types: typesOf(body), status: "active" }
    if (state !== "absent") return []
    return outcome?.resource ? observe(made, outcome.resource) : [made]
  }
  if (state === "absent" || state === "unknown") {
    if (outcome === null || outcome.status >= 400 || outcome.resource === null) return [state]
    return state === "absent" ? [] : observe(state, outcome.resource)
  }
  const after = afterWrite(state, action)
  return outcome === null ? [after ?? state] : explain(state, after, outcome, name)
}

/** The specification of a webhook: `absent` if a call creates it, and `unknown` if it exists from some time on. */
export const webhook = (initial: "absent" | "unknown"): Specification<WebhookState, Action> => ({
  initial,
  next,
  keyOf,
  effectOf,
  forget
})
