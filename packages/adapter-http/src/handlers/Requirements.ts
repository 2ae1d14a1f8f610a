import { Context, Effect, Layer, Scope } from "effect"
import { Authentication, IdempotentWrites, InvalidInput, JsonBody } from "../api/Pipeline.ts"

/** The steps of every request, which each group requires in addition to its operations. */
const steps = [Authentication, IdempotentWrites, InvalidInput, JsonBody, Scope.Scope] as const

type Key = Context.Key<never, unknown> | Context.Key<unknown, unknown>
type Required<Operation extends Key> = Context.Service.Identifier<Operation | typeof steps[number]>

/**
 * Builds the layer of a group with only the given operations in its context,
 * because the whole context that a group is built with is copied for each of its requests.
 */
export const requiring =
  <const Operations extends ReadonlyArray<Key>>(...operations: Operations) =>
  <A, E, R extends Required<Operations[number]>>(group: Layer.Layer<A, E, R>) => {
    const pick = Context.pick(...operations, ...steps)
    return Layer.effectContext(
      Effect.updateContext(
        Layer.build(group),
        // The type of a list does not name its members, so the compiler cannot see that `pick` finds all of them.
        (context: Context.Context<Required<Operations[number]>>) => pick(context) as typeof context
      )
    )
  }
