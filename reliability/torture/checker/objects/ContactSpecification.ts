/**
 * The sequential specification of one contact (contract §8).
 *
 * It contains the writable fields, because other fields change without a call. It does not use the model of the
 * conformance suite, which changes a whole organization in place and determines times and outcomes: a search needs small
 * values, and reads times and outcomes from the responses.
 */
import { WritableContact } from "@messaging-crm/core/Contacts"
import { limits } from "@messaging-crm/core/Limits"
import type { Resource } from "../../History.ts"
import { listOf, textOf } from "../../Responses.ts"
import type { Specification } from "./Linearizability.ts"
import { type Action, effectOf, forget, type Outcome } from "./Outcomes.ts"

/** The fields that calls write. */
interface Known {
  readonly plain: Readonly<Record<string, unknown>>
  readonly custom_values: Readonly<Record<string, unknown>>
  /** Sorted. */
  readonly tag_ids: ReadonlyArray<string>
}

/** `unknown` until the first response about a contact that no call created. */
export type ContactState = "absent" | "unknown" | Known

const plainFields = Object.keys(WritableContact.fields).filter((name) => name !== "custom_values" && name !== "tag_ids")

const sorted = (ids: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(ids)).toSorted()

const sortedRecord = (record: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== null).toSorted(([a], [b]) => a < b ? -1 : 1)
  )

const nothing: Known = {
  plain: Object.fromEntries(plainFields.map((name) => [name, null])),
  custom_values: {},
  tag_ids: []
}

const read = (resource: Resource): Known => ({
  plain: Object.fromEntries(plainFields.map((name) => [name, resource[name]])),
  // The API returns an object of texts.
  custom_values: sortedRecord((resource["custom_values"] ?? {}) as Readonly<Record<string, unknown>>),
  tag_ids: sorted(listOf(resource, "tags").flatMap(({ id }) => typeof id === "string" ? [id] : []))
})

const keys = new WeakMap<object, string>()

/** Cached, because a state has many fields and is compared often. */
const keyOf = (state: ContactState): string => {
  if (typeof state === "string") return state
  const known = keys.get(state) ?? JSON.stringify(state)
  keys.set(state, known)
  return known
}

/** Returns the state if a response can show the contact in it. */
const observe = (state: ContactState, resource: Resource): ReadonlyArray<ContactState> => {
  const shown = read(resource)
  if (state === "unknown") return [shown]
  return state === "absent" || keyOf(shown) !== keyOf(state) ? [] : [state]
}

/** The fields of a request that sets them, in the form in which the service stores them. */
interface GivenFields {
  readonly add_tag_ids?: ReadonlyArray<string>
  readonly remove_tag_ids?: ReadonlyArray<string>
  readonly tag_ids?: ReadonlyArray<string> | null
  readonly custom_values?: Readonly<Record<string, unknown>> | null
}

/** Sets the given fields: custom values by key, tags as a whole or one by one. */
const set = (state: Known, body: unknown): Known => {
  // Random requests have no invalid body.
  const given = (body ?? {}) as GivenFields
  const { add_tag_ids = [], custom_values, remove_tag_ids = [], tag_ids, ...plain } = given
  const kept = tag_ids === undefined
    ? state.tag_ids.filter((id) => !remove_tag_ids.some((removed) => removed === id))
    : tag_ids ?? []
  return {
    plain: { ...state.plain, ...plain },
    custom_values: custom_values === undefined
      ? state.custom_values
      : sortedRecord(custom_values === null ? {} : { ...state.custom_values, ...custom_values }),
    tag_ids: sorted([...kept, ...add_tag_ids])
  }
}

const addNote = (state: Known, text: string): Known => {
  const before = state.plain["notes"]
  return { ...state, plain: { ...state.plain, notes: typeof before === "string" ? `${before}\n\n${text}` : text } }
}

const isTooLong = ({ plain: { notes } }: Known): boolean =>
  typeof notes === "string" && Array.from(notes).length > limits.notes_chars_max

/** Returns the contact after a write; null if the contract rejects the write in this state. */
const afterWrite = (state: Known, { body, name }: Action): Known | null => {
  switch (name) {
    case "contacts.add_note": {
      const next = addNote(state, textOf(body, "text") ?? "")
      return isTooLong(next) ? null : next
    }
    case "set_owner":
      return { ...state, plain: { ...state.plain, owner_user_id: body } }
    default: {
      const next = set(state, body)
      return next.tag_ids.length <= limits.tag_ids_max ? next : null
    }
  }
}

const create = ({ body, outcome }: Action): ReadonlyArray<ContactState> => {
  const made = set(nothing, body)
  return outcome === null || outcome.resource === null ? [made] : observe(made, outcome.resource)
}

const explain = (state: ContactState, next: Known | null, outcome: Outcome): ReadonlyArray<ContactState> => {
  if (outcome.status === 404) return state === "absent" || state === "unknown" ? [state] : []
  if (outcome.status >= 400) return next === null ? [state] : []
  if (next === null) return []
  return outcome.resource === null ? [next] : observe(next, outcome.resource)
}

const next = (state: ContactState, action: Action): ReadonlyArray<ContactState> => {
  const { body, name, outcome } = action
  if (name === "contacts.create") return state === "absent" ? create(action) : []
  if (name === "read" || (name === "contacts.update" && Object.keys(body ?? {}).length === 0)) {
    if (outcome === null) return [state]
    return outcome.resource === null ? explain(state, null, outcome) : observe(state, outcome.resource)
  }
  if (state === "absent" || state === "unknown") {
    if (outcome === null || outcome.status === 404 || outcome.resource === null) return [state]
    return observe(state, outcome.resource)
  }
  const after = afterWrite(state, action)
  return outcome === null ? [after ?? state] : explain(state, after, outcome)
}

/** The specification of a contact: `absent` if a call creates it, and `unknown` if it exists from some time on. */
export const contact = (initial: "absent" | "unknown"): Specification<ContactState, Action> => ({
  initial,
  next,
  keyOf,
  effectOf,
  forget
})
