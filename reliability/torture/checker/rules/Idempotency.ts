/** The rules of contract §5 for the responses under one idempotency key. */
import type { Violation } from "../../History.ts"
import { codeOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import { attemptResultOf, type CompletedCall, isCompleted, isSameRequest, type Request } from "../Requests.ts"

const indexes = (calls: ReadonlyArray<CompletedCall>): ReadonlyArray<number> => calls.map(({ index }) => index)

const checkResponses = (request: Request): ReadonlyArray<Violation> => {
  const { attempts, call: { operation, request: { idempotency_key } }, outcomes } = request
  if (idempotency_key === null) return []
  const [first] = outcomes
  const different = outcomes.filter(({ response }) => response.text !== first?.response.text)
  const originals = outcomes.filter(({ response }) => !response.is_replay)
  const known = new Set(attempts.map(({ request }) => request.request_id))
  const unknown = outcomes.filter(({ response: { original_request_id } }) =>
    original_request_id !== null && !known.has(original_request_id)
  )
  return [
    different.length === 0 ? [] : {
      rule: "Every retry of a request gets the same bytes (contract §5.5).",
      detail: `${operation} with the key ${idempotency_key} returned ${first?.response.text} and with ${
        different[0]?.response.text
      }`,
      calls: indexes([...outcomes.slice(0, 1), ...different.slice(0, 1)])
    },
    originals.length <= 1 ? [] : {
      rule: "A request takes effect once; every other response is marked as a replay (contract §5.5).",
      detail: `${operation} with the key ${idempotency_key} has ${originals.length} responses that are not replays`,
      calls: indexes(originals)
    },
    unknown.length === 0 ? [] : {
      rule: "A replay names the first request under its key (contract §5.5).",
      detail: `${operation} with the key ${idempotency_key} names ${unknown[0]?.response.original_request_id}`,
      calls: indexes(unknown)
    }
  ].flat()
}

/** Of different requests under one key, one takes effect, and the others conflict with it. */
const checkConflicts = ({ history: { calls } }: Evidence): ReadonlyArray<Violation> => {
  const byKey = Map.groupBy(
    calls.filter(({ request }) => request.idempotency_key !== null),
    ({ organization, request }) => `${organization} ${request.idempotency_key}`
  )
  return Array.from(byKey.values(), (same): ReadonlyArray<Violation> => {
    const completed = same.filter(isCompleted)
    const first = completed.find((call) => attemptResultOf(call) === "outcome")
    const conflicting = first === undefined
      ? []
      : completed.filter((call) => attemptResultOf(call) === "outcome" && !isSameRequest(call, first))
    const unfounded = completed.filter((call) =>
      codeOf(call.response) === "idempotency_conflict" &&
      !same.some((other) => attemptResultOf(other) !== "no effect" && !isSameRequest(call, other))
    )
    return [
      first === undefined || conflicting.length === 0 ? [] : {
        rule: "Different requests with one key do not both take effect (contract §5.6).",
        detail: `the key ${first.request.idempotency_key}`,
        calls: indexes([first, ...conflicting.slice(0, 1)])
      },
      unfounded.length === 0 ? [] : {
        rule: "A request is an idempotency conflict only if another request has its key (contract §5.6).",
        detail: `the key ${unfounded[0]?.request.idempotency_key}`,
        calls: indexes(unfounded.slice(0, 1))
      }
    ].flat()
  }).flat()
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...evidence.requests.flatMap(checkResponses),
  ...checkConflicts(evidence)
]
