/** Code of yours over the CRM: it names the operations that it needs, and who runs it decides about storage. */
import { type CreateTag, Tags } from "@messaging-crm/core/Tags"
import { foldCase } from "@messaging-crm/core/Text"
import { Effect } from "effect"

/** Returns the tag of a name, however its letters are written, and makes it when there is none. */
export const label = Effect.fn("label")(function*(input: CreateTag) {
  const tags = yield* Tags
  const find = Effect.map(tags.list, (all) => all.find(({ name }) => foldCase(name) === foldCase(input.name)))
  return yield* tags.create(input).pipe(
    // Somebody else was first, so it is there now.
    Effect.catchTag(
      "TagNameTaken",
      (taken) => Effect.flatMap(find, (tag) => tag === undefined ? Effect.fail(taken) : Effect.succeed(tag))
    )
  )
})
