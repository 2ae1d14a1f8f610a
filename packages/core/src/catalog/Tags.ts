/**
 * Tags: colored labels for contacts (contract §9.3).
 *
 * This file shows the order of every resource file: data, errors, decisions,
 * operations. A resource that needs queries of its own also has a port.
 */
import { Context, Effect, Layer, Option, Result, Schema } from "effect"
import { type OrganizationRow, OrganizationRows, OrganizationStore } from "../accounts/Organizations.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { TagId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { foldCase, trimmedText } from "../kernel/Text.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import { declareRows, pickFields, Rows } from "../work/Rows.ts"

// ---------------------------------------------------------------- data

export const TagColor = Schema.Literals([
  "gray",
  "red",
  "orange",
  "amber",
  "green",
  "teal",
  "blue",
  "indigo",
  "purple",
  "pink"
])
export type TagColor = typeof TagColor.Type

/** Trimmed, then 1 to 40 characters. */
const TagName = trimmedText({ min: limits.tag_name_chars_min, max: limits.tag_name_chars_max }).pipe(
  Schema.annotateEncoded({ description: "Trimmed. Unique in the organization, regardless of case." })
)

export const Tag = Schema.Struct({
  id: TagId,
  name: TagName,
  color: TagColor
}).annotate({ identifier: "Tag", description: "A colored label for contacts." })
export interface Tag extends Schema.Schema.Type<typeof Tag> {}

export const CreateTag = Schema.Struct({
  name: TagName,
  color: TagColor
}).annotate({ identifier: "CreateTag" }).pipe(Schema.brand("CreateTag"))
export interface CreateTag extends Schema.Schema.Type<typeof CreateTag> {}

/** The columns of a tag. `name_key`, the case-folded name, is unique in the organization. */
export const TagColumns = Schema.Struct({ ...Tag.fields, name_key: Schema.String })
export interface TagColumns extends Schema.Schema.Type<typeof TagColumns> {}

export const TagRows = declareRows(TagColumns)({
  name: "tags",
  key: { id: "uuid" },
  unique: { columns: ["name_key"], within: "organization" },
  list: { order: ["name_key"] }
})

export const toTag = pickFields(Tag)

// -------------------------------------------------------------- errors

/** The organization already has a tag with this name, ignoring case. */
export class TagNameTaken extends Schema.TaggedError<TagNameTaken>()("TagNameTaken", {
  name: Schema.String
}) {}

/** The organization already has the maximum number of tags. */
export class TooManyTags extends Schema.TaggedError<TooManyTags>()("TooManyTags", { limit: Schema.Int }) {}

// ----------------------------------------------------------- decisions

const create = (
  { organization, tags }: {
    readonly organization: Option.Option<OrganizationRow>
    readonly tags: ReadonlyArray<Tag>
  },
  input: CreateTag,
  { uuid }: DecisionContext
): Result.Result<Changes.Decision<Tag>, TagNameTaken | TooManyTags> => {
  const name_key = foldCase(input.name)
  if (tags.some(({ name }) => foldCase(name) === name_key)) return Result.fail(new TagNameTaken({ name: input.name }))
  if (tags.length >= limits.tags_max) return Result.fail(new TooManyTags({ limit: limits.tags_max }))
  const tag: Tag = { id: TagId.make(uuid()), name: input.name, color: input.color }
  return Result.succeed({
    result: tag,
    changes: Changes.all(
      TagRows.insert({ ...tag, name_key }),
      // Two concurrent creations of the last allowed tag must conflict.
      ...Option.toArray(organization).map((row) => OrganizationRows.update(row, {}))
    )
  })
}

// ---------------------------------------------------------- operations

/** Operations on the current actor's tags. */
export class Tags extends Context.Service<Tags, {
  /** Creates a tag. Names are unique in the organization regardless of case. */
  readonly create: Write<[input: CreateTag], Tag, TagNameTaken | TooManyTags>
  /** Returns every tag of the organization, ordered by name. */
  readonly list: Effect.Effect<ReadonlyArray<Tag>, never, CurrentActor>
}>()("@messaging-crm/core/Tags") {
  static readonly layer = Layer.effect(
    Tags,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const organizations = yield* OrganizationStore
      const rows = yield* Rows

      const createTag = write("tags.create", function*(input: CreateTag) {
        const { organization_id } = yield* CurrentActor
        return {
          // Loads the organization first: its version must not be newer than the count that it protects.
          load: Effect.all({
            organization: organizations.find(organization_id),
            tags: rows.list(TagRows, organization_id)
          }),
          decide: (loaded, context) => create(loaded, input, context)
        }
      })

      const list = operation("tags.list")(function*() {
        const { organization_id } = yield* CurrentActor
        return (yield* rows.list(TagRows, organization_id)).map(toTag)
      })()

      return Tags.of({ create: createTag, list })
    })
  )
}
