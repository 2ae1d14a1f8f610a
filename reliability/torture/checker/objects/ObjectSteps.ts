/** A step on an object, and the ways to make one from a request. */
import type { RecordedResponse } from "../../History.ts"
import type { Kind } from "../Evidence.ts"
import { type CompletedCall, type Request, spanOf } from "../Requests.ts"
import type { Step } from "./Linearizability.ts"
import { type Action, outcomeOf } from "./Outcomes.ts"

/** The kinds of objects that have specifications of their own. */
export const kinds = ["contacts", "conversations", "webhooks"] as const

export type ObjectKind = Extract<Kind, typeof kinds[number]>

/** A step with its object. */
export interface ObjectStep {
  readonly kind: ObjectKind
  readonly id: string
  readonly step: Step<Action>
}

/** Returns the steps on an object; none if its ID is unknown. */
export const stepsOn = (
  kind: ObjectKind,
  id: string | null | undefined,
  ...steps: ReadonlyArray<Step<Action>>
): ReadonlyArray<ObjectStep> => id ? steps.map((step) => ({ kind, id, step })) : []

/** Returns the ID of the object in the path of a request. */
export const idIn = (path: string): string | null => /^\/?\w+\/([\w-]+)/.exec(path)?.[1]?.toLowerCase() ?? null

/** The time in which a step takes effect; without an end if the step has no response. */
export interface Span {
  readonly started_at: number
  readonly ended_at: number | null
}

/** Returns the step of a call that reads an object. */
export const readStep = ({ ended_at, index, response, started_at }: CompletedCall): Step<Action> => ({
  started_at,
  ended_at,
  action: { call: index, name: "read", body: null, outcome: outcomeOf(response) }
})

/** Returns the outcome of a success whose response does not show the object; null if there is no response. */
export const successOf = (response: RecordedResponse | undefined): Action["outcome"] =>
  response === undefined ? null : { status: 200, resource: null, param: null }

/** Returns the step of a request on the object that it returns; none if it cannot have taken effect. */
export const stepsOf = (request: Request): ReadonlyArray<Step<Action>> => {
  const { call, outcomes: [first] } = request
  const span = spanOf(request)
  if (span === null) return []
  const action: Action = {
    call: first?.index ?? call.index,
    name: call.operation,
    body: call.request.body,
    outcome: first === undefined ? null : outcomeOf(first.response)
  }
  return [{ ...span, action }]
}

/** Returns the steps of a request on an object that can reject it, while the response shows another object. */
export const rejectableSteps = (request: Request): ReadonlyArray<Step<Action>> =>
  stepsOf(request).map((step) => {
    const { action } = step
    return { ...step, action: { ...action, outcome: action.outcome && { ...action.outcome, resource: null } } }
  })

/** Returns the steps of a request on another object than the one that it returns. */
export const sideEffectSteps = (
  request: Request,
  name: Action["name"],
  body: unknown
): ReadonlyArray<Step<Action>> => {
  const span = spanOf(request)
  const [first] = request.outcomes
  if (span === null || (first !== undefined && first.response.status >= 400)) return []
  return [{ ...span, action: { call: request.call.index, name, body, outcome: successOf(first?.response) } }]
}
