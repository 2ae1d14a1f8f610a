/** Your code on top of the CRM: it requires operations, and the program that runs it chooses the storage. */
import { type CreateTag, Tags } from "@messaging-crm/core/Tags"
import { foldCase } from "@messaging-crm/core/Text"
import { Effect } from "effect"

/** Returns the tag with a name, regardless of case, and creates it if it does not exist. */
export const label = Effect.fn("label")(function*(input: CreateTag) {
  const tags = yield* Tags
  const find = Effect.map(tags.list, (all) => all.find(({ name }) => foldCase(name) === foldCase(input.name)))
  return yield* tags.create(input).pipe(
    // It exists already, or a concurrent request created it.
    Effect.catchTag(
      "TagNameTaken",
      (error) => Effect.flatMap(find, (tag) => tag === undefined ? Effect.fail(error) : Effect.succeed(tag))
    )
  )
})
