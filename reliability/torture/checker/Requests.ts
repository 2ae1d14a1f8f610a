/**
 * Requests with all their attempts: calls with one idempotency key and one body are one request (contract §5), which
 * takes effect once.
 */
import { rulesOf } from "@messaging-crm/core/Operations"
import { canonical } from "@messaging-crm/core/Phones"
import { Option } from "effect"
import type { Call, History, RecordedResponse } from "../History.ts"
import { codeOf, isSuccess } from "../Responses.ts"

/** A call with its response. */
export interface CompletedCall extends Call {
  readonly ended_at: number
  readonly response: RecordedResponse
}

export interface Request {
  /** One of the attempts, which differ in their times and responses only. */
  readonly call: Call
  /** The attempts that can have taken effect, in the order of their start. */
  readonly attempts: ReadonlyArray<Call>
  /** The attempts whose response is the outcome, in the order of their responses. */
  readonly outcomes: ReadonlyArray<CompletedCall>
}

/** The result of an attempt. */
type AttemptResult =
  /** Its response is the outcome of its request: a success, or a rejection that is recorded (contract §5.4). */
  | "outcome"
  /** It was rejected before it could have an effect. */
  | "no effect"
  /** It can have taken effect, or can still take effect. */
  | "unresolved"

export const isCompleted = (call: Call): call is CompletedCall => call.response !== null && call.ended_at !== null

/** Returns a phone as the service stores it; unchanged if it is not a valid phone. */
export const phoneOf = (phone: string | null): string | null =>
  phone === null ? null : Option.getOrElse(canonical(phone), () => phone)

export const attemptResultOf = ({ response }: Call): AttemptResult => {
  if (response === null) return "unresolved"
  const [code, { retry_after_seconds, status }] = [codeOf(response), response]
  if (isSuccess(response)) return "outcome"
  if (status === 404) return "outcome"
  if (status === 409 && code === "conflict") return retry_after_seconds === null ? "outcome" : "no effect"
  if (status === 409 && code === "request_processing") return "unresolved"
  return status === 500 || status === 502 || status === 504 ? "unresolved" : "no effect"
}

const isWrite = ({ operation, request }: Call): boolean =>
  request.method === "COMMAND" ? rulesOf(operation).audited !== null : rulesOf(operation).idempotency !== null

/** Returns the parts of a request that its fingerprint covers. */
const fingerprintOf = ({ request: { body, method, path } }: Call): string => JSON.stringify([method, path, body ?? {}])

/** Returns whether two calls are attempts of one request. */
export const isSameRequest = (a: Call, b: Call): boolean => fingerprintOf(a) === fingerprintOf(b)

const group = <A>(all: ReadonlyArray<A>, keyOf: (one: A) => string): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from(Map.groupBy(all, keyOf).values())

/** Returns every write of the history. */
export const requestsOf = ({ calls }: Pick<History, "calls">): ReadonlyArray<Request> =>
  group(
    calls.filter(isWrite),
    (call) =>
      call.request.idempotency_key === null
        ? `${call.index}`
        : `${call.organization} ${call.request.idempotency_key} ${fingerprintOf(call)}`
  ).flatMap((attempts) => {
    const [call] = attempts
    if (call === undefined) return []
    return {
      call,
      attempts: attempts.filter((one) => attemptResultOf(one) !== "no effect").toSorted((a, b) =>
        a.started_at - b.started_at
      ),
      outcomes: attempts.filter(isCompleted).filter((one) => attemptResultOf(one) === "outcome")
        .toSorted((a, b) => a.ended_at - b.ended_at)
    }
  })

/**
 * Returns when a request took effect: after the start of the attempt that its responses name, and before its first outcome.
 * Null if no attempt can have taken effect.
 */
export const spanOf = (
  { attempts, outcomes: [first] }: Request
): { readonly started_at: number; readonly ended_at: number | null } | null => {
  const origin = first?.response.original_request_id ?? first?.request.request_id
  const attempt = attempts.find(({ request }) => request.request_id === origin) ?? attempts[0]
  return attempt === undefined ? null : { started_at: attempt.started_at, ended_at: first?.ended_at ?? null }
}
