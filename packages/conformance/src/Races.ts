/**
 * Operations that contend for the same rows: every outcome must be serializable.
 *
 * What operations do concurrently must equal what they do one after the other in some order.
 * The orders are tried one by one on a store, and compared with the concurrent run.
 */
import { Effect } from "effect"
import { observe } from "./Races/Observation.ts"
import { type Operation, operations, stepwise } from "./Races/Operations.ts"
import type { RaceScene, Requirements } from "./Races/RaceScene.ts"

export { observe } from "./Races/Observation.ts"
export { operations } from "./Races/Operations.ts"
export { layer, makeScene, type RaceScene, type Requirements } from "./Races/RaceScene.ts"

export type OperationName = keyof typeof operations | keyof typeof stepwise

const allOperations: Readonly<Record<OperationName, Operation>> = { ...operations, ...stepwise }

/** Returns an operation's result, or the tag of its error. */
export const outcomeOf = (name: OperationName, scene: RaceScene): Effect.Effect<unknown, never, Requirements> =>
  scene.as(
    Effect.match(allOperations[name](scene), {
      onFailure: ({ _tag }) => _tag,
      onSuccess: (result) => result ?? null
    })
  )

/** Returns every permutation of the items. */
const ordersOf = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, index) => ordersOf(items.toSpliced(index, 1)).map((rest) => [item, ...rest]))

/** Returns the outcome of operations that run one after the other. Each result is at the index of its operation. */
const runInOrder = Effect.fnUntraced(function*<E, R>(
  restoreScene: Effect.Effect<RaceScene, E, R>,
  order: ReadonlyArray<readonly [index: number, name: OperationName]>
) {
  const scene = yield* restoreScene
  const results: Array<unknown> = []
  for (const [index, name] of order) results[index] = yield* outcomeOf(name, scene)
  return JSON.stringify(yield* observe(scene, results))
})

/** The outcomes of orders by the names of the operations, computed when first needed. */
export type SerialOutcomes = Map<string, Array<string>>

/**
 * Returns null if some order has the same outcome as the concurrent run, otherwise the outcomes of all orders. `restoreScene`
 * must return a scene with equal rows in every call with the same `serial_outcomes`.
 */
export const findViolation = Effect.fnUntraced(function*<E, R>(
  serial_outcomes: SerialOutcomes,
  restoreScene: Effect.Effect<RaceScene, E, R>,
  names: ReadonlyArray<OperationName>,
  outcome: string
) {
  const key = names.join("|")
  const outcomes = serial_outcomes.get(key) ?? []
  serial_outcomes.set(key, outcomes)
  if (outcomes.includes(outcome)) return null
  for (const order of ordersOf(Array.from(names.entries())).slice(outcomes.length)) {
    const serial = yield* runInOrder(restoreScene, order)
    outcomes.push(serial)
    if (serial === outcome) return null
  }
  return outcomes
})
