/**
 * Tags: colored labels for contacts (contract §9.3).
 *
 * This file shows the order of every resource file: data, errors, decisions,
 * the storage port, operations.
 */
import { Context, Effect, Layer, Option, Result, Schema } from "effect"
import { type OrganizationRow, OrganizationRows, OrganizationStore } from "../accounts/Organizations.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { type OrganizationId, TagId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { foldCase } from "../kernel/Text.ts"
import { trimmedText } from "../kernel/TextSchemas.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import type { Respond } from "../work/RecordedResponses.ts"

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
export interface TagColumns extends Tag {
  readonly name_key: string
}

export const TagRows = Changes.declareTable<TagColumns>()({
  name: "tags",
  key: { id: "uuid" },
  columns: {
    name: "text",
    name_key: "text",
    color: "text"
  },
  unique: { columns: ["name_key"], within: "organization" },
  activity: null
})

// -------------------------------------------------------------- errors

/** The organization already has a tag with this name, ignoring case. */
export class TagNameTaken extends Schema.TaggedError<TagNameTaken>()("TagNameTaken", {
  name: Schema.String
}) {}

/** The organization already has the maximum number of tags. */
export class TooManyTags extends Schema.TaggedError<TooManyTags>()("TooManyTags", { limit: Schema.Int }) {}

// ----------------------------------------------------------- decisions

export const create = (
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

// ---------------------------------------------------------------- port

/**
 * Port: where tags are read.
 *
 * **Contract** (checked by `conformance/Ports/Tags.ts`)
 *
 * - `findMany` returns those of the given tags that the organization has, ordered by `name_key`.
 * - `list` returns the organization's tags ordered by `name_key`, by code point.
 * - No method ever reads another organization's rows.
 */
export class TagStore extends Context.Service<TagStore, {
  readonly findMany: (organization_id: OrganizationId, ids: ReadonlyArray<TagId>) => Effect.Effect<ReadonlyArray<Tag>>
  readonly list: (organization_id: OrganizationId) => Effect.Effect<ReadonlyArray<Tag>>
}>()("@messaging-crm/core/Tags/TagStore") {}

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
      const { runAudited } = yield* Decide
      const organizations = yield* OrganizationStore
      const store = yield* TagStore

      const createTag = operation("tags.create")(function*<Out>(input: CreateTag, respond?: Respond<Tag, Out>) {
        const { organization_id } = yield* CurrentActor
        return yield* runAudited("tags.create", {
          // Loads the organization first: its version must not be newer than the count that it protects.
          load: Effect.all({
            organization: organizations.find(organization_id),
            tags: store.list(organization_id)
          }),
          decide: (loaded, context) => create(loaded, input, context)
        }, respond)
      })

      const list = operation("tags.list")(function*() {
        const { organization_id } = yield* CurrentActor
        return yield* store.list(organization_id)
      })()

      return Tags.of({ create: createTag, list })
    })
  )
}
