/**
 * The references of a contact to be written: its owner, contact fields and tags. They are loaded together for any
 * number of contacts, then resolved for each.
 */
import { Effect, Result, Schema } from "effect"
import { hasLeft, type MemberRow, MemberRows } from "../accounts/Members.ts"
import { accepts, type ContactField, ContactFieldRows } from "../catalog/ContactFields.ts"
import { type Tag, TagRows, toTag } from "../catalog/Tags.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import type { MemberId, TagId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { byCodePoint, foldCase } from "../kernel/Text.ts"
import { Rows } from "../work/Rows.ts"
import type { Contact } from "./Contact.ts"
import type { TagChanges, WritableContact } from "./ContactInput.ts"

/** The body refers to something the organization does not have: `value`, an ID, at the path `param`. */
export class ReferenceUnknown extends Schema.TaggedError<ReferenceUnknown>()("ReferenceUnknown", {
  param: Schema.String,
  value: Schema.String
}) {}

/** A custom value does not fit its field's type. */
export class CustomValueInvalid extends Schema.TaggedError<CustomValueInvalid>()("CustomValueInvalid", {
  param: Schema.String,
  type: Schema.String,
  value: Schema.String
}) {}

/** The contact would have more tags than it may. */
export class TagsTooMany extends Schema.TaggedError<TagsTooMany>()("TagsTooMany", { limit: Schema.Int }) {}

/** The loaded owners, fields and tags that exist in the organization. */
export interface References {
  readonly owners: ReadonlyMap<MemberId, MemberRow>
  readonly fields: ReadonlyMap<string, ContactField>
  /** Ordered by `name_key`, as a contact's tags are. */
  readonly tags: ReadonlyArray<Tag>
}

/** The parts of a write that refer to other resources. */
type Referring = TagChanges & Pick<WritableContact, "custom_values" | "owner_user_id">

/** The current references of a contact. An update accepts them unchanged, even if they could not be set anymore. */
type Current = Pick<Contact, "custom_values" | "owner_user_id" | "tags">

const no_references: Current = { custom_values: {}, owner_user_id: null, tags: [] }

const tagParams = ["tag_ids", "add_tag_ids", "remove_tag_ids"] as const

/** Returns whether a write sets, adds, or removes tags. */
export const editsTags = (input: TagChanges): boolean => tagParams.some((param) => input[param] !== undefined)

/** Returns the tags of a contact after a write, by name. */
const applyTagChanges = (
  tags: References["tags"],
  { add_tag_ids = [], remove_tag_ids = [], tag_ids }: TagChanges,
  current: Current
): ReadonlyArray<Tag> => {
  const wanted = new Set(tag_ids === undefined ? current.tags.map(({ id }) => id).concat(add_tag_ids) : tag_ids)
  for (const id of remove_tag_ids) wanted.delete(id)
  const known = new Map([...current.tags, ...tags].map((tag) => [tag.id, tag]))
  return Array.from(wanted, (id) => known.get(id) ?? [])
    .flat()
    .toSorted((a, b) => byCodePoint(foldCase(a.name), foldCase(b.name)))
}

/** Returns the tags of a contact after a write, or fails with its first unresolved reference or invalid custom value. */
export const resolveReferences = (
  { fields, owners, tags }: References,
  input: Referring,
  current: Current = no_references
): Result.Result<ReadonlyArray<Tag>, ReferenceUnknown | CustomValueInvalid> => {
  const { custom_values, owner_user_id } = input
  if (owner_user_id && owner_user_id !== current.owner_user_id && !owners.has(owner_user_id)) {
    return Result.fail(new ReferenceUnknown({ param: "owner_user_id", value: owner_user_id }))
  }
  for (const [key, value] of Object.entries(custom_values ?? {})) {
    if (value !== null && value === current.custom_values[key]) continue
    const param = `custom_values.${key}`
    const field = fields.get(key)
    if (field === undefined) return Result.fail(new ReferenceUnknown({ param, value: key }))
    if (value !== null && !accepts(field, value)) {
      return Result.fail(new CustomValueInvalid({ param, type: field.type, value }))
    }
  }
  const known = new Set(tags.map(({ id }) => id))
  for (const param of tagParams) {
    const value = input[param]?.find((id) => !known.has(id))
    if (value !== undefined) return Result.fail(new ReferenceUnknown({ param, value }))
  }
  return Result.succeed(editsTags(input) ? applyTagChanges(tags, input, current) : current.tags)
}

/** Fails if a contact would have too many tags. */
export const withinTagLimit = (tags: ReadonlyArray<Tag>): Result.Result<ReadonlyArray<Tag>, TagsTooMany> =>
  tags.length > limits.tag_ids_max
    ? Result.fail(new TagsTooMany({ limit: limits.tag_ids_max }))
    : Result.succeed(tags)

/**
 * Makes the function that loads the references of contacts: at most one query for
 * owners, one for fields, and one for tags, for any number of contacts.
 */
export const makeLoadReferences = Effect.gen(function*() {
  const rows = yield* Rows

  return Effect.fnUntraced(function*(contacts: ReadonlyArray<Referring>) {
    const { organization_id } = yield* CurrentActor
    const owner_ids = Array.from(new Set(contacts.flatMap(({ owner_user_id }) => owner_user_id ?? [])))
    const tag_ids: ReadonlyArray<TagId> = Array.from(
      new Set(contacts.flatMap((input) => tagParams.flatMap((param) => input[param] ?? [])))
    )
    const hasValues = contacts.some(({ custom_values }) => Object.keys(custom_values ?? {}).length > 0)
    // A single read needs no fiber.
    const reads = [owner_ids.length > 0, hasValues, tag_ids.length > 0].filter((isNeeded) => isNeeded).length
    const { fields, owners, tags } = yield* Effect.all({
      owners: owner_ids.length > 0 ? rows.findMany(MemberRows, organization_id, owner_ids) : Effect.succeed([]),
      fields: hasValues ? rows.list(ContactFieldRows, organization_id) : Effect.succeed([]),
      tags: tag_ids.length > 0 ? rows.findMany(TagRows, organization_id, tag_ids) : Effect.succeed([])
    }, reads > 1 ? concurrently : {})
    const references: References = {
      owners: new Map(owners.filter((owner) => !hasLeft(owner)).map((row) => [row.id, row])),
      fields: new Map(fields.map((field) => [field.id, field])),
      tags: tags.map(toTag)
    }
    return references
  })
})
