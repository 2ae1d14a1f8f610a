/**
 * Tags: the coloured labels an organization puts on its contacts (spec §2.1, §4).
 *
 * Read top to bottom: what a tag is, what can go wrong, what storage must
 * promise, what callers can do.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { Ids, type OrganizationId, TagId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { foldCase, trimmedText } from "./Text.ts"

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
export const TagName = trimmedText({ min: limits.tag_name_chars_min, max: limits.tag_name_chars_max }).pipe(
  Schema.annotateEncoded({ description: "Trimmed. Unique in the organization, regardless of case." })
)

export const Tag = Schema.Struct({
  id: TagId,
  name: TagName,
  color: TagColor
}).annotate({ identifier: "Tag", description: "A coloured label that the organization puts on its contacts." })
export interface Tag extends Schema.Schema.Type<typeof Tag> {}

export const CreateTag = Schema.Struct({
  name: TagName,
  color: TagColor
}).annotate({ identifier: "CreateTag" })
export interface CreateTag extends Schema.Schema.Type<typeof CreateTag> {}

// -------------------------------------------------------------- errors

/** The organization already has a tag with this name, ignoring case. */
export class TagNameTaken extends Schema.TaggedError<TagNameTaken>()("TagNameTaken", {
  name: Schema.String
}) {}

// ---------------------------------------------------------------- port

/**
 * Port: where tags are kept.
 *
 * **Contract** (checked by `conformance/Tags.ts`)
 *
 * - `insert` fails with `TagNameTaken`, and writes nothing, when the
 *   organization has a tag with the same `name_key`. Of two concurrent inserts
 *   of one key exactly one succeeds.
 * - `findMany` returns those of the given tags that the organization has, by `name_key`.
 * - `list` returns the organization's tags ordered by `name_key`, by code point.
 * - No method ever reads or writes another organization's rows.
 */
export class TagStore extends Context.Service<TagStore, {
  readonly insert: (organization_id: OrganizationId, tag: Tag, name_key: string) => Effect.Effect<void, TagNameTaken>
  readonly findMany: (organization_id: OrganizationId, ids: ReadonlyArray<TagId>) => Effect.Effect<ReadonlyArray<Tag>>
  readonly list: (organization_id: OrganizationId) => Effect.Effect<ReadonlyArray<Tag>>
}>()("@messaging-crm/core/Tags/TagStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's tags. */
export class Tags extends Context.Service<Tags, {
  /** Creates a tag. Names are unique in the organization regardless of case. */
  readonly create: (input: CreateTag) => Effect.Effect<Tag, TagNameTaken, CurrentActor>
  /** Returns every tag of the organization, by name. */
  readonly list: Effect.Effect<ReadonlyArray<Tag>, never, CurrentActor>
}>()("@messaging-crm/core/Tags") {
  static readonly layer = Layer.effect(
    Tags,
    Effect.gen(function*() {
      const ids = yield* Ids
      const store = yield* TagStore

      const create = Effect.fn("Tags.create")(function*(input: CreateTag) {
        const { organization_id } = yield* CurrentActor
        const tag: Tag = { id: TagId.make(yield* ids.uuid), name: input.name, color: input.color }
        yield* store.insert(organization_id, tag, foldCase(tag.name))
        return tag
      })

      const list = CurrentActor.use(({ organization_id }) => store.list(organization_id)).pipe(
        Effect.withSpan("Tags.list")
      )

      return Tags.of({ create, list })
    })
  )
}
