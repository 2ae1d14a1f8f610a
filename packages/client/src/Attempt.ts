/** One attempt of a request: it returns the response or throws the matching error. */
import type { ErrorCode } from "./Contract.ts"
import { ConnectionError, MessagingCrmError, TimeoutError } from "./Errors.ts"

/** A request, the same in every attempt. */
export interface Call {
  readonly method: string
  /** The template of the path, such as `/contacts/{contact_id}`. */
  readonly path: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The time limit of one attempt, in milliseconds. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** The response without its body. */
export interface LastResponse {
  /** The request's ID in the service's log. */
  readonly requestId: string
  readonly status: number
  /** Whether this is the replay of an earlier response to the same idempotency key. */
  readonly isReplayed: boolean
  /** The `ETag` of a contact, for `ifMatch`; null on other responses. */
  readonly etag: string | null
  readonly headers: Headers
}

/** Data with the response that it came in. `lastResponse` is not enumerable, so JSON, spread and comparison omit it. */
export type WithResponse<A> = A & { readonly lastResponse: LastResponse }

export interface Received {
  readonly body: Readonly<Record<string, unknown>>
  readonly lastResponse: LastResponse
}

interface ErrorBody {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly param: string | null }
}

/** Returns the value of a JSON text, or undefined if it is not JSON. */
export const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isErrorBody = (body: unknown): body is ErrorBody => {
  if (!isObject(body) || !isObject(body.error)) return false
  const { code, message, param } = body.error
  return typeof code === "string" && typeof message === "string" && (param === null || typeof param === "string")
}

/** Returns the seconds of a `Retry-After` header. A proxy may send a date. */
const retryAfterOf = (headers: Headers): number | null => {
  const value = headers.get("retry-after")
  if (value === null) return null
  const seconds = /^[0-9]+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000
  return Number.isNaN(seconds) ? null : Math.max(0, seconds)
}

/** Returns the error of a response that is not from the API. */
export const unexpectedResponse = ({ headers, requestId, status }: LastResponse): MessagingCrmError =>
  new MessagingCrmError(
    `The response (status ${status}) is not from the Messaging CRM API. Check the base URL.`,
    { status, requestId, retryAfter: retryAfterOf(headers), code: "unexpected_response", param: null }
  )

const receivedOf = (response: Response, text: string, sentId: string): Received => {
  const { headers, status } = response
  const requestId = headers.get("x-request-id") ?? sentId
  const body = parse(text)
  const isReplayed = headers.has("idempotent-replayed")
  const lastResponse = { requestId, status, isReplayed, etag: headers.get("etag"), headers }
  if (response.ok && isObject(body)) return { body, lastResponse }
  if (status < 400 || !isErrorBody(body)) throw unexpectedResponse(lastResponse)
  const { code, message, param } = body.error
  throw new MessagingCrmError(message, { status, requestId, retryAfter: retryAfterOf(headers), code, param })
}

/** Returns a URL without its query, which can contain personal data. */
const addressOf = (url: string): string => url.replace(/\?.*$/s, "")

/** The longest time of a timer. A longer one, such as `Infinity`, would end at once. */
const timer_millis_max = 2 ** 31 - 1

/** Returns the error of an attempt whose response did not arrive. */
const lostResponse = ({ method, timeout, url }: Call, requestId: string, isLate: boolean, cause: unknown) =>
  isLate
    ? new TimeoutError(`${method} ${addressOf(url)} did not respond within ${timeout} ms.`, { requestId, cause })
    : new ConnectionError(
      `${method} ${addressOf(url)} did not respond: the connection failed. Check the base URL and the network.`,
      { requestId, cause }
    )

/** An attempt in progress. `restart` starts its time limit again. */
interface Attempt {
  readonly requestId: string
  readonly fetch: () => Promise<Response>
  readonly restart: () => void
  /** Ends the attempt. */
  readonly end: () => void
  /** Returns what a failure throws. When the caller's signal aborted, that is the signal's reason. */
  readonly errorOf: (cause: unknown) => unknown
}

const begin = (fetch: Fetch, call: Call): Attempt => {
  const { body, headers, method, signal, timeout, url } = call
  const requestId = crypto.randomUUID()
  const controller = new AbortController()
  let isLate = false
  const abort = () => controller.abort()
  const expire = () => {
    isLate = true
    abort()
  }
  const start = () => setTimeout(expire, Math.min(timeout, timer_millis_max))
  let timer = start()
  signal?.addEventListener("abort", abort, { once: true })
  return {
    requestId,
    fetch: () => {
      signal?.throwIfAborted()
      return fetch(url, {
        method,
        headers: { ...headers, "x-request-id": requestId },
        body,
        // A redirect would turn a write into a read, and send the API key to another address.
        redirect: "manual",
        signal: controller.signal
      })
    },
    restart: () => {
      clearTimeout(timer)
      timer = start()
    },
    end: () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", abort)
      abort()
    },
    errorOf: (cause) => {
      if (cause instanceof MessagingCrmError) return cause
      return signal?.aborted === true ? signal.reason : lostResponse(call, requestId, isLate, cause)
    }
  }
}

/** Makes one attempt. When the caller's signal aborts, it rejects with the signal's reason. */
export const attempt = async (fetch: Fetch, call: Call): Promise<Received> => {
  const { end, errorOf, requestId, ...started } = begin(fetch, call)
  try {
    const response = await started.fetch()
    return receivedOf(response, await response.text(), requestId)
  } catch (cause) {
    throw errorOf(cause)
  } finally {
    end()
  }
}

/** Makes one attempt of a request whose response is a stream, and returns its text as it arrives. The time limit is that of a silence. */
export async function* attemptStream(fetch: Fetch, call: Call): AsyncGenerator<string, void, undefined> {
  const { end, errorOf, requestId, restart, ...started } = begin(fetch, call)
  try {
    const response = await started.fetch()
    const isStream = response.ok && response.headers.get("content-type")?.startsWith("text/event-stream") === true
    if (!isStream || response.body === null) {
      const { lastResponse } = receivedOf(response, await response.text(), requestId)
      throw unexpectedResponse(lastResponse)
    }
    const decoder = new TextDecoder()
    const reader = response.body.getReader()
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      restart()
      yield decoder.decode(part.value, { stream: true })
    }
  } catch (cause) {
    throw errorOf(cause)
  } finally {
    end()
  }
}
