/**
 * The sequential specification of an organization's tags (contract §9.3): a set that only grows, whose names are unique,
 * and whose list is complete.
 */
import { limits } from "@messaging-crm/core/Limits"
import { byCodePoint, foldCase } from "@messaging-crm/core/Text"
import type { Resource } from "../../History.ts"
import { textOf } from "../../Responses.ts"
import type { Specification } from "./Linearizability.ts"

interface Tag {
  /** Null after a creation without a response, until a list shows the tag. */
  readonly id: string | null
  readonly name: string
  readonly color: string
}

interface TagState {
  /** By the name without case. */
  readonly tags: ReadonlyMap<string, Tag>
  readonly key: string
}

export type TagAction =
  | {
    readonly call: number
    readonly do: "create"
    readonly body: unknown
    /** Null without a response. */
    readonly outcome: { readonly status: number; readonly tag: Resource | null; readonly param: string | null } | null
  }
  | { readonly call: number | null; readonly do: "list"; readonly tags: ReadonlyArray<Resource> }
  /** A list whose response is not considered. */
  | { readonly call: number | null; readonly do: "forgotten" }

const toTag = (resource: unknown): Tag => ({
  id: textOf(resource, "id"),
  name: textOf(resource, "name") ?? "",
  color: textOf(resource, "color") ?? ""
})

const show = ({ color, id, name }: Tag): string => `${id} ${color} ${name}`

/** Adds or replaces a tag. The key is a sum of digests, so that it does not depend on the order. */
const add = ({ key, tags }: TagState, name_key: string, tag: Tag): TagState => {
  const before = tags.get(name_key)
  const [high = 0, low = 0] = key.split(" ").map(Number)
  const plus = digestOf(show(tag))
  const minus = before === undefined ? [0, 0] as const : digestOf(show(before))
  const sum = [(high + plus[0] - minus[0]) >>> 0, (low + plus[1] - minus[1]) >>> 0]
  return { tags: new Map(tags).set(name_key, tag), key: sum.join(" ") }
}

const digestOf = (text: string): readonly [number, number] => {
  let [high, low] = [0x811c9dc5, 0x9dc5811c]
  for (let index = 0; index < text.length; index++) {
    high = Math.imul(high ^ text.charCodeAt(index), 0x01000193)
    low = Math.imul(low + text.charCodeAt(index), 0x5bd1e995) ^ (low >>> 15)
  }
  return [high >>> 0, low >>> 0]
}

const empty: TagState = { tags: new Map(), key: "0 0" }

const create = (state: TagState, { body, outcome }: Extract<TagAction, { readonly do: "create" }>) => {
  const expected = toTag(body)
  const name_key = foldCase(expected.name)
  const isTaken = state.tags.has(name_key)
  const isFull = state.tags.size >= limits.tags_max
  if (outcome === null) return isTaken || isFull ? [state] : [add(state, name_key, expected)]
  if (outcome.tag === null) return (outcome.param === "name" ? isTaken : isFull) ? [state] : []
  const tag = toTag(outcome.tag)
  const isAsked = tag.name === expected.name && tag.color === expected.color
  return isTaken || isFull || !isAsked ? [] : [add(state, name_key, tag)]
}

/** A list shows every tag, in the order of their names. */
const list = (state: TagState, tags: ReadonlyArray<Resource>): ReadonlyArray<TagState> => {
  if (tags.length !== state.tags.size) return []
  let next = state
  let last: string | null = null
  for (const resource of tags) {
    const shown = toTag(resource)
    const name_key = foldCase(shown.name)
    const known = state.tags.get(name_key)
    if (known === undefined || known.name !== shown.name || known.color !== shown.color) return []
    if (known.id !== null && known.id !== shown.id) return []
    if (last !== null && byCodePoint(last, name_key) >= 0) return []
    if (known.id === null) next = add(next, name_key, shown)
    last = name_key
  }
  return [next]
}

/** The specification of tags that start with some tags. */
export const tags = (initial: ReadonlyArray<Resource>): Specification<TagState, TagAction> => ({
  initial: initial.map(toTag).reduce((state, tag) => add(state, foldCase(tag.name), tag), empty),
  next: (state, action) => {
    switch (action.do) {
      case "create":
        return create(state, action)
      case "list":
        return list(state, action.tags)
      case "forgotten":
        return [state]
    }
  },
  keyOf: ({ key, tags }) => `${tags.size} ${key}`,
  effectOf: (action) => action.do === "create" ? JSON.stringify(action.body) : action.do,
  forget: (action) => action.do === "create" ? { ...action, outcome: null } : { call: action.call, do: "forgotten" }
})
