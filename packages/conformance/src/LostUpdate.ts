/** A planted defect, with which tests of a checker show that it detects lost updates. */
import { Commit } from "@messaging-crm/core/Commit"
import { Effect, Layer } from "effect"

/** The numbers of concurrent updates that a commit overwrites. */
const overwritten = [0, 1, 2, 3, 4, 5]

/** Layer that commits updates although their rows have newer versions. */
export const layer: Layer.Layer<Commit, never, Commit> = Layer.effect(
  Commit,
  Effect.map(Commit, ({ commit }) =>
    Commit.of({
      commit: (organization_id, changes) =>
        Effect.firstSuccessOf(overwritten.map((missed) =>
          commit(organization_id, {
            ...changes,
            update: (changes.update ?? []).map((update) => ({ ...update, version: update.version + missed }))
          })
        ))
    }))
)
