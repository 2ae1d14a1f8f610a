/**
 * The sequential specification of one conversation (contract §10).
 *
 * A message of the contact opens a closed conversation without a call. It is an action without a response, which can
 * take effect at any time after the network reported it. Its time is unknown until a response shows the conversation.
 */
import type { Resource } from "../../History.ts"
import { fieldOf, textOf } from "../../Responses.ts"
import type { Specification } from "./Linearizability.ts"
import { type Action, effectOf, forget, type Outcome } from "./Outcomes.ts"

/** A time that no response has shown yet. */
const unseen = "unseen"

interface Known {
  readonly status: string | null
  readonly close_category: string | null
  readonly assigned_user_id: string | null
  readonly opened_at: string | null
  readonly closed_at: string | null
}

type ConversationState = "unknown" | Known

const read = (resource: Resource): Known => ({
  status: textOf(resource, "status"),
  close_category: textOf(resource, "close_category"),
  assigned_user_id: textOf(resource, "assigned_user_id"),
  opened_at: textOf(resource, "opened_at"),
  closed_at: textOf(resource, "closed_at")
})

const isSameTime = (expected: string | null, shown: string | null): boolean =>
  expected === unseen ? shown !== null : expected === shown

const observe = (state: ConversationState, resource: Resource): ReadonlyArray<ConversationState> => {
  const shown = read(resource)
  if (state === "unknown") return [shown]
  const isSame = shown.status === state.status &&
    shown.close_category === state.close_category &&
    shown.assigned_user_id === state.assigned_user_id &&
    isSameTime(state.opened_at, shown.opened_at) &&
    isSameTime(state.closed_at, shown.closed_at)
  return isSame ? [shown] : []
}

const opened = (state: Known): Known =>
  state.status === "open"
    ? state
    : { ...state, status: "open", close_category: null, opened_at: unseen, closed_at: null }

const closed = (state: Known, body: unknown): Known =>
  state.status === "closed"
    ? state
    : { ...state, status: "closed", close_category: textOf(body, "category"), closed_at: unseen }

const afterWrite = (state: Known, { body, name }: Action): Known => {
  switch (name) {
    case "conversations.close":
      return closed(state, body)
    case "conversations.assign":
      return { ...state, assigned_user_id: textOf(body, "assigned_user_id") }
    case "conversations.reopen":
    case "open":
      return opened(state)
    default:
      return state
  }
}

const explain = (state: ConversationState, next: ConversationState, { resource, status }: Outcome) => {
  if (status === 404) return state === "unknown" ? [state] : []
  return resource === null ? [next] : observe(next, resource)
}

/** The specification of a conversation that exists from some time on. */
export const conversation: Specification<ConversationState, Action> = {
  initial: "unknown",
  next: (state, action) => {
    const after = state === "unknown" ? state : afterWrite(state, action)
    return action.outcome === null ? [after] : explain(state, after, action.outcome)
  },
  keyOf: (state) => JSON.stringify(state),
  effectOf,
  forget
}

/** Returns the member who also becomes the owner of the contact; null if an assignment leaves the owner unchanged. */
export const contactOwnerOf = (body: unknown): string | null =>
  fieldOf(body, "sync_contact_owner") === false ? null : textOf(body, "assigned_user_id")
