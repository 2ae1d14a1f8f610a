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

/** Makes one attempt. When the caller's signal aborts, it rejects with the signal's reason. */
export const attempt = async (fetch: Fetch, call: Call): Promise<Received> => {
  const { body, headers, method, signal, timeout, url } = call
  const requestId = crypto.randomUUID()
  const controller = new AbortController()
  const abort = () => controller.abort()
  const timer = setTimeout(abort, Math.min(timeout, timer_millis_max))
  signal?.addEventListener("abort", abort, { once: true })
  try {
    signal?.throwIfAborted()
    const response = await fetch(url, {
      method,
      headers: { ...headers, "x-request-id": requestId },
      body,
      // A redirect would turn a write into a read, and send the API key to another address.
      redirect: "manual",
      signal: controller.signal
    })
    const text = await response.text()
    return receivedOf(response, text, requestId)
  } catch (cause) {
    if (cause instanceof MessagingCrmError) throw cause
    signal?.throwIfAborted()
    throw controller.signal.aborted
      ? new TimeoutError(`${method} ${addressOf(url)} did not respond within ${timeout} ms.`, { requestId, cause })
      : new ConnectionError(
        `${method} ${addressOf(url)} did not respond: the connection failed. Check the base URL and the network.`,
        { requestId, cause }
      )
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", abort)
  }
}
