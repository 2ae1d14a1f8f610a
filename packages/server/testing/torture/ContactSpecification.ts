/**
 * The sequential specification of one contact (contract §8).
 *
 * Writes set the writable fields, so these are followed exactly. The others change without a call. The model of the
 * conformance suite is not used here: it changes a whole organization in place and chooses times and outcomes itself,
 * while a search needs small values and takes both from the responses.
 */
import { AddNote, CreateContact, type TagChanges, UpdateContact, WritableContact } from "@messaging-crm/core/Contacts"
import { limits } from "@messaging-crm/core/Limits"
import { Option, Schema } from "effect"
import type { Resource } from "./History.ts"
import type { Specification } from "./Linearizability.ts"
import { type Action, effectOf, forget, type Outcome } from "./Outcomes.ts"
import { listOf } from "./Requests.ts"

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

/** A state has many fields and is compared often. */
const keyOf = (state: ContactState): string => {
  if (typeof state === "string") return state
  const known = keys.get(state) ?? JSON.stringify(state)
  keys.set(state, known)
  return known
}

/** The contact was seen: its fields are those of the state. */
const see = (state: ContactState, resource: Resource): ReadonlyArray<ContactState> => {
  const found = read(resource)
  if (state === "unknown") return [found]
  return state === "absent" || keyOf(found) !== keyOf(state) ? [] : [state]
}

const decoders = {
  create: Schema.decodeUnknownOption(CreateContact),
  update: Schema.decodeUnknownOption(UpdateContact),
  note: Schema.decodeUnknownOption(AddNote)
}

/** Sets the given fields: custom values by key, tags as a whole or one by one. */
const set = (state: Known, given: WritableContact & TagChanges): Known => {
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

/** Returns what a write makes of a contact; null if the contract rejects it in this state. */
const written = (state: Known, { body, name }: Action): Known | null => {
  switch (name) {
    case "contacts.add_note": {
      const next = Option.map(decoders.note(body), ({ text }) => addNote(state, text))
      return Option.getOrNull(Option.filter(next, (contact) => !isTooLong(contact)))
    }
    case "own":
      return { ...state, plain: { ...state.plain, owner_user_id: body } }
    default: {
      const next = Option.map(decoders.update(body), (given) => set(state, given))
      return Option.getOrNull(Option.filter(next, ({ tag_ids }) => tag_ids.length <= limits.tag_ids_max))
    }
  }
}

const create = ({ body, outcome }: Action): ReadonlyArray<ContactState> => {
  const made = Option.getOrNull(Option.map(decoders.create(body), (given) => set(nothing, given)))
  if (made === null) return []
  return outcome === null || outcome.resource === null ? [made] : see(made, outcome.resource)
}

const explain = (state: ContactState, next: Known | null, outcome: Outcome): ReadonlyArray<ContactState> => {
  if (outcome.status === 404) return state === "absent" || state === "unknown" ? [state] : []
  if (outcome.status >= 400) return next === null ? [state] : []
  if (next === null) return []
  return outcome.resource === null ? [next] : see(next, outcome.resource)
}

const next = (state: ContactState, action: Action): ReadonlyArray<ContactState> => {
  const { body, name, outcome } = action
  if (name === "contacts.create") return state === "absent" ? create(action) : []
  if (name === "read" || (name === "contacts.update" && Object.keys(body ?? {}).length === 0)) {
    if (outcome === null) return [state]
    return outcome.resource === null ? explain(state, null, outcome) : see(state, outcome.resource)
  }
  if (state === "absent" || state === "unknown") {
    if (outcome === null || outcome.status === 404 || outcome.resource === null) return [state]
    return see(state, outcome.resource)
  }
  const after = written(state, action)
  return outcome === null ? [after ?? state] : explain(state, after, outcome)
}

/** The specification of a contact that a call creates, or of one that exists or will. */
export const contact = (initial: "absent" | "unknown"): Specification<ContactState, Action> => ({
  initial,
  next,
  keyOf,
  effectOf,
  forget
})
