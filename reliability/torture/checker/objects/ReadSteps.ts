/** The steps that read an object. */
import { textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import { isCompleted } from "../Requests.ts"
import { idIn, kinds, type ObjectStep, readStep, stepsOn } from "./ObjectSteps.ts"
import { successfulRead } from "./Outcomes.ts"

/** Returns a step for each response that shows an object, and for each 404 of a read. */
export const readSteps = ({ history: { calls }, observations, requests }: Evidence): ReadonlyArray<ObjectStep> => {
  const writes = new Set(requests.flatMap(({ outcomes }) => outcomes.map(({ index }) => index)))
  const shown = kinds.flatMap((kind) =>
    observations[kind].flatMap(({ call, resource, ...span }) => {
      if (call !== null && writes.has(call)) return []
      const action = { call, name: "read", body: null, outcome: successfulRead(resource) } as const
      return stepsOn(kind, textOf(resource, "id"), { ...span, action })
    })
  )
  const missing = calls.filter(isCompleted).flatMap((call) => {
    const kind = kinds.find((one) => call.operation === `${one}.get`)
    return kind !== undefined && call.response.status === 404
      ? stepsOn(kind, idIn(call.request.path), readStep(call))
      : []
  })
  return [...shown, ...missing]
}
