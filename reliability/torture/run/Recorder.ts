/** Makes calls, and records each of them for the history. */
import type { KeyedOperation, Operation } from "@messaging-crm/core/Operations"
import { Effect, Exit } from "effect"
import type * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import type { Call, OrganizationIndex, RecordedResponse } from "../History.ts"

/** A request that a client repeats until the outcome is known. */
export interface PlannedRequest {
  readonly operation: KeyedOperation
  readonly method: "DELETE" | "GET" | "PATCH" | "POST"
  readonly path: string
  readonly body?: unknown
  readonly idempotency_key?: string
}

/** An API key with its ID. */
export interface Key {
  readonly id: string
  readonly secret: string
}

/** The client that makes a call, and its organization. */
export interface Caller {
  readonly client: number
  readonly organization: OrganizationIndex
}

/** The time after which a client repeats its request: shorter than most faults. */
const response_millis_max = 3000

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const rateOf = (headers: Headers): RecordedResponse["rate"] => {
  const [remaining, reset] = [headers.get("x-ratelimit-remaining"), headers.get("x-ratelimit-reset")]
  return remaining === null || reset === null
    ? null
    : { remaining: Number(remaining), reset_seconds: Number(reset) }
}

/** Reads a response. */
export const readResponse = async (response: Response): Promise<RecordedResponse> => {
  const text = await response.text()
  const retry = response.headers.get("retry-after")
  return {
    status: response.status,
    body: parse(text),
    text,
    is_replay: response.headers.get("idempotent-replayed") === "true",
    original_request_id: response.headers.get("original-request-id"),
    retry_after_seconds: retry === null ? null : Number(retry),
    rate: rateOf(response.headers)
  }
}

const fetchResponse = async (
  { url }: Servers.Server,
  secret: string,
  { method, path, body, idempotency_key }: PlannedRequest,
  request_id: string
): Promise<RecordedResponse | null> => {
  const headers = new Headers({ authorization: `Bearer ${secret}`, "x-request-id": request_id })
  if (idempotency_key !== undefined) headers.set("idempotency-key", idempotency_key)
  if (body !== undefined) headers.set("content-type", "application/json")
  const signal = AbortSignal.timeout(response_millis_max)
  const init = { method, headers, signal, redirect: "manual" } as const
  try {
    const response = await fetch(
      `${url}/v1${path}`,
      body === undefined ? init : { ...init, body: JSON.stringify(body) }
    )
    return await readResponse(response)
  } catch {
    return null
  }
}

/** Returns the result of a command as a response. */
const commandResponse = (value: unknown): RecordedResponse => {
  const text = JSON.stringify(value ?? null)
  return {
    status: 200,
    body: JSON.parse(text) as unknown,
    text,
    is_replay: false,
    original_request_id: null,
    retry_after_seconds: null,
    rate: null
  }
}

/** Records the calls of a run. Its times are relative to its creation. */
export class Recorder {
  readonly calls: Array<Call> = []
  readonly #started_at = performance.now()

  readonly now = (): number => Math.round((performance.now() - this.#started_at) * 1000) / 1000

  /** Sends one request to a server. Returns null if no response arrives. */
  readonly request = (caller: Caller, server: Servers.Server, key: Key, planned: PlannedRequest) =>
    Effect.promise(async () => {
      const { body = null, idempotency_key = null, method, operation, path } = planned
      const request = { method, path, body, idempotency_key, key_id: key.id }
      const call = this.#start(caller, operation, request)
      const response = await fetchResponse(server, key.secret, planned, call.request.request_id)
      if (response !== null) this.#end(call, response)
      return response
    })

  /** Runs an operator's command, which has no response if it fails. */
  readonly command = <A>(caller: Caller, operation: Operation, input: unknown, run: Effect.Effect<A>) =>
    Effect.gen({ self: this }, function*() {
      const request = { method: "COMMAND", path: "", body: input, idempotency_key: null, key_id: null } as const
      const call = this.#start(caller, operation, request)
      const outcome = yield* Effect.exit(run)
      if (Exit.isFailure(outcome)) return null
      this.#end(call, commandResponse(outcome.value))
      return outcome.value
    })

  readonly #start = (caller: Caller, operation: Operation, request: Omit<Call["request"], "request_id">): Call => {
    const index = this.calls.length
    const call: Call = {
      ...caller,
      index,
      operation,
      request: { ...request, request_id: `r-${index}` },
      started_at: this.now(),
      ended_at: null,
      response: null
    }
    this.calls.push(call)
    return call
  }

  readonly #end = (call: Call, response: RecordedResponse): void => {
    this.calls[call.index] = { ...call, ended_at: this.now(), response }
  }
}
