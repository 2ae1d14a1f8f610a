/**
 * What contacts refer to: their owners, their organization's fields and its tags, read once for any number of contacts.
 */
import { Array, Effect, Option, Result, Schema } from "effect"
import { type MemberRow, MemberStore } from "../accounts/Members.ts"
import { admits, type ContactField, ContactFieldStore } from "../catalog/ContactFields.ts"
import { type Tag, TagStore } from "../catalog/Tags.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import type { MemberId, TagId } from "../kernel/Ids.ts"
import { together } from "../work/Decide.ts"
import type { WritableContact } from "./Contact.ts"

/** The body refers to something the organization does not have: `value`, an id, at the path `param`. */
export class ReferenceUnknown extends Schema.TaggedError<ReferenceUnknown>()("ReferenceUnknown", {
  param: Schema.String,
  value: Schema.String
}) {}

/** A custom value does not fit its field's type. */
export class CustomValueInvalid extends Schema.TaggedError<CustomValueInvalid>()("CustomValueInvalid", {
  param: Schema.String,
  type: Schema.String
}) {}

/** Those of the things that some contacts refer to which the organization has. */
export interface References {
  readonly owners: ReadonlyMap<MemberId, MemberRow>
  readonly fields: ReadonlyMap<string, ContactField>
  /** By name key, as a contact's tags are. */
  readonly tags: ReadonlyArray<Tag>
}

/** Returns the tags of a contact, or its first unresolved reference. */
export const resolve = (
  { fields, owners, tags }: References,
  { custom_values, owner_user_id, tag_ids }: WritableContact
): Result.Result<ReadonlyArray<Tag>, ReferenceUnknown | CustomValueInvalid> => {
  if (owner_user_id && !owners.has(owner_user_id)) {
    return Result.fail(new ReferenceUnknown({ param: "owner_user_id", value: owner_user_id }))
  }
  for (const [key, value] of Object.entries(custom_values ?? {})) {
    const param = `custom_values.${key}`
    const field = fields.get(key)
    if (field === undefined) return Result.fail(new ReferenceUnknown({ param, value: key }))
    if (value !== null && !admits(field, value)) return Result.fail(new CustomValueInvalid({ param, type: field.type }))
  }
  const wanted = new Set(tag_ids)
  const found = tags.filter(({ id }) => wanted.has(id))
  for (const { id } of found) wanted.delete(id)
  const [unknown] = wanted
  return unknown === undefined
    ? Result.succeed(found)
    : Result.fail(new ReferenceUnknown({ param: "tag_ids", value: unknown }))
}

/**
 * Returns what reads the references of some contacts.
 *
 * It asks for each owner, and at most once for fields and for tags, however many the contacts are.
 */
export const reader = Effect.gen(function*() {
  const fieldStore = yield* ContactFieldStore
  const members = yield* MemberStore
  const tagStore = yield* TagStore

  return Effect.fnUntraced(function*(contacts: ReadonlyArray<WritableContact>) {
    const { organization_id } = yield* CurrentActor
    const owner_ids = Array.dedupe(contacts.flatMap(({ owner_user_id }) => owner_user_id ?? []))
    const tag_ids: ReadonlyArray<TagId> = Array.dedupe(contacts.flatMap(({ tag_ids }) => tag_ids ?? []))
    const hasValues = contacts.some(({ custom_values }) => Object.keys(custom_values ?? {}).length > 0)
    const { fields, owners, tags } = yield* Effect.all({
      owners: Effect.forEach(owner_ids, (id) => members.find(organization_id, id), together),
      fields: hasValues ? fieldStore.list(organization_id) : Effect.succeed([]),
      tags: tag_ids.length > 0 ? tagStore.findMany(organization_id, tag_ids) : Effect.succeed([])
    }, together)
    const references: References = {
      owners: new Map(
        owners.flatMap(Option.toArray).flatMap((row) => row.left_at === null ? [[row.id, row]] : [])
      ),
      fields: new Map(fields.map((field) => [field.id, field])),
      tags
    }
    return references
  })
})
