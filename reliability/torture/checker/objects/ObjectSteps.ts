/** A step on an object, and the ways to make one from a request. */
import type { RecordedResponse } from "../../History.ts"
import type { Kind } from "../Evidence.ts"
import { canChangeNothing, type CompletedCall, type Request, spanOf } from "../Requests.ts"
import { type Action, outcomeOf } from "./Outcomes.ts"
import type { RepeatableStep } from "./Repeats.ts"

/** The kinds of objects that have specifications of their own. */
export const kinds = ["contacts", "conversations", "webhooks"] as const

export type ObjectKind = Extract<Kind, typeof kinds[number]>

/** A step with its object. */
export interface ObjectStep {
  readonly kind: ObjectKind
  readonly id: string
  readonly step: RepeatableStep
}

/** Returns the steps on an object; none if its ID is unknown. */
export const stepsOn = (
  kind: ObjectKind,
  id: string | null | undefined,
  ...steps: ReadonlyArray<RepeatableStep>
): ReadonlyArray<ObjectStep> => id ? steps.map((step) => ({ kind, id, step })) : []

/** Returns the ID of the object in the path of a request. */
export const idIn = (path: string): string | null => /^\/?\w+\/([\w-]+)/.exec(path)?.[1]?.toLowerCase() ?? null

/** The time in which a step takes effect; without an end if the step has no response. */
export interface Span {
  readonly started_at: number
  readonly ended_at: number | null
}

/** Returns a step that has no repetition. */
export const singleStep = (action: Action, { ended_at, started_at }: Span): RepeatableStep => ({
  started_at,
  ended_at,
  action: { ...action, kind: "effect", request: null }
})

/** Returns the step of a call that reads an object. */
export const readStep = ({ ended_at, index, response, started_at }: CompletedCall): RepeatableStep =>
  singleStep({ call: index, name: "read", body: null, outcome: outcomeOf(response) }, { started_at, ended_at })

/** Returns the outcome of a success whose response does not show the object; null if there is no response. */
export const successOf = (response: RecordedResponse | undefined): Action["outcome"] =>
  response === undefined ? null : { status: 200, resource: null, param: null }

/** Returns the steps of a request on the object that it returns. */
export const stepsOf = (request: Request): ReadonlyArray<RepeatableStep> => {
  const { call, outcomes } = request
  const span = spanOf(request)
  if (span === null) return []
  const [first] = outcomes
  const step = (kind: "effect" | "effect or nothing" | "nothing"): RepeatableStep => ({
    ...span,
    action: {
      kind,
      request: kind === "effect" ? null : call.index,
      call: first?.index ?? call.index,
      name: call.operation,
      body: call.request.body,
      outcome: first === undefined ? null : outcomeOf(first.response)
    }
  })
  if (first === undefined || !canChangeNothing(request)) return [step("effect")]
  const isSame = outcomes.every(({ response }) => response.text === first.response.text)
  if (isSame && !outcomes.every(({ response }) => response.is_replay)) return [step("effect")]
  const repeats = outcomes.map((outcome): RepeatableStep => {
    const read = readStep(outcome)
    return { ...read, action: { ...read.action, kind: "repeat", request: call.index } }
  })
  return [step(isSame ? "effect or nothing" : "nothing"), ...repeats]
}

/** Returns the steps of a request on an object that can reject it, while the response shows another object. */
export const rejectableSteps = (request: Request): ReadonlyArray<RepeatableStep> =>
  stepsOf(request).map((step) => {
    const { action } = step
    return { ...step, action: { ...action, outcome: action.outcome && { ...action.outcome, resource: null } } }
  })

/** Returns the steps of a request on another object than the one that it returns. */
export const sideEffectSteps = (
  request: Request,
  name: Action["name"],
  body: unknown
): ReadonlyArray<RepeatableStep> => {
  const span = spanOf(request)
  const [first] = request.outcomes
  if (span === null || (first !== undefined && first.response.status >= 400)) return []
  return [singleStep({ call: request.call.index, name, body, outcome: successOf(first?.response) }, span)]
}
