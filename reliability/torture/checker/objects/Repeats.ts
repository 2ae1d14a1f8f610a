/**
 * Repeated requests (contract §5.5). A repetition returns the recorded response, except of a request that changed
 * nothing: it returns the object as it is now, so it is a read, and the request itself must have changed nothing.
 */
import type { Specification, Step } from "./Linearizability.ts"
import type { Action } from "./Outcomes.ts"

export interface RepeatableAction extends Action {
  /**
   * `effect`: the request takes effect. `effect or nothing`: only repetitions got a response, which is either the recorded
   * one or a read. `nothing`: the responses differ, so the request changed nothing. `repeat`: a repetition, which is a read
   * if its request changed nothing.
   */
  readonly kind: "effect" | "effect or nothing" | "nothing" | "repeat"
  /** Equal for the attempts of one request; null for a request that was not repeated. */
  readonly request: number | null
}

export type RepeatableStep = Step<RepeatableAction>

interface Repeated<State> {
  readonly inner: State
  /** Whether each repeated request changed something. */
  readonly changed: ReadonlyMap<number, boolean>
}

/** Adds repetitions to the specification of an object. */
export const withRepeats = <State>(
  { effectOf, forget, initial, keyOf, next }: Specification<State, Action>
): Specification<Repeated<State>, RepeatableAction> => {
  const withChange = (state: Repeated<State>, request: number | null, isChange: boolean) =>
    request === null ? state.changed : new Map(state.changed).set(request, isChange)

  const effect = (state: Repeated<State>, action: RepeatableAction) =>
    next(state.inner, action).map((inner) => ({ inner, changed: withChange(state, action.request, true) }))

  /** The request changes nothing. Its `repeat` steps check the response. */
  const nothing = (state: Repeated<State>, action: RepeatableAction) =>
    next(state.inner, forget(action))
      .filter((inner) => keyOf(inner) === keyOf(state.inner))
      .map((inner) => ({ inner, changed: withChange(state, action.request, false) }))

  const repeat = (state: Repeated<State>, action: RepeatableAction) => {
    const isChange = action.request === null ? undefined : state.changed.get(action.request)
    if (isChange === undefined) return []
    return isChange ? [state] : next(state.inner, action).map((inner) => ({ ...state, inner }))
  }

  return {
    initial: { inner: initial, changed: new Map() },
    next: (state, action) => {
      switch (action.kind) {
        case "effect":
          return effect(state, action)
        case "effect or nothing":
          return [...effect(state, action), ...nothing(state, action)]
        case "nothing":
          return nothing(state, action)
        case "repeat":
          return repeat(state, action)
      }
    },
    keyOf: ({ changed, inner }) =>
      changed.size === 0
        ? keyOf(inner)
        : `${keyOf(inner)} ${JSON.stringify(Array.from(changed).toSorted(([a], [b]) => a - b))}`,
    effectOf,
    forget: (action) => ({ ...action, ...forget(action) })
  }
}
