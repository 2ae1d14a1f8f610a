/** Makes calls and records each of them in a history. */
import type { KeyedOperation, Operation } from "@messaging-crm/core/Operations"
import { Effect, Exit } from "effect"
import type * as Processes from "../Processes.ts"
import type { Call, OrganizationIndex, RecordedResponse } from "./History.ts"

/** A request that a client repeats until the outcome is known. */
export interface PlannedRequest {
  readonly operation: KeyedOperation
  readonly method: "DELETE" | "GET" | "PATCH" | "POST"
  readonly path: string
  readonly body?: unknown
  readonly idempotency_key?: string
}

/** A key of the API, and the ID by which it is listed. */
export interface Key {
  readonly id: string
  readonly secret: string
}

/** The client that makes a call, and its organization. */
export interface Caller {
  readonly client: number
  readonly organization: OrganizationIndex
}

/** A client waits this long for a response, and then repeats the request: shorter than most faults. */
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
  { url }: Processes.Server,
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
    return await readResponse(
      await fetch(
        `${url}/v1${path}`,
        body === undefined ? init : {
          ...init,
          body: JSON.stringify(body)
        }
      )
    )
  } catch {
    return null
  }
}

type Request = Call["request"]

/** Makes a recorder, whose times begin now. */
export const make = () => {
  const begun = performance.now()
  const now = (): number => Math.round((performance.now() - begun) * 1000) / 1000
  const calls: Array<Call> = []

  const begin = ({ client, organization }: Caller, operation: Operation, request: Request): Call => {
    const call: Call = {
      client,
      index: calls.length,
      organization,
      operation,
      request,
      started_at: now(),
      ended_at: null,
      response: null
    }
    calls.push(call)
    return call
  }
  const end = (call: Call, response: RecordedResponse | null): void => {
    if (response !== null) calls[call.index] = { ...call, ended_at: now(), response }
  }
  const nextId = (): string => `r-${calls.length}`

  return {
    calls: calls as ReadonlyArray<Call>,
    now,
    /** Sends one request to a server. Returns null where no response arrives. */
    request: (caller: Caller, server: Processes.Server, key: Key, planned: PlannedRequest) =>
      Effect.promise(async () => {
        const request_id = nextId()
        const call = begin(caller, planned.operation, {
          method: planned.method,
          path: planned.path,
          body: planned.body ?? null,
          idempotency_key: planned.idempotency_key ?? null,
          request_id,
          key_id: key.id
        })
        const response = await fetchResponse(server, key.secret, planned, request_id)
        end(call, response)
        return response
      }),
    /** Runs an operator's command, which gets no response if it fails. */
    command: <A>(caller: Caller, operation: Operation, input: unknown, run: Effect.Effect<A>) =>
      Effect.gen(function*() {
        const request = { method: "COMMAND", path: "", body: input, idempotency_key: null, key_id: null } as const
        const call = begin(caller, operation, { ...request, request_id: nextId() })
        const outcome = yield* Effect.exit(run)
        if (Exit.isFailure(outcome)) return null
        const text = JSON.stringify(outcome.value ?? null)
        const body = JSON.parse(text) as unknown
        end(call, {
          status: 200,
          body,
          text,
          is_replay: false,
          original_request_id: null,
          retry_after_seconds: null,
          rate: null
        })
        return outcome.value
      })
  }
}

export type Recorder = ReturnType<typeof make>
