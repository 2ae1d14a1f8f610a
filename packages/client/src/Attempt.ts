/** One exchange with the service: an answer, or the error that says what came instead. */
import type { ErrorCode } from "./Contract.ts"
import { ConnectionError, MessagingCrmError, TimeoutError } from "./Errors.ts"

/** What is asked, alike in every attempt. */
export interface Call {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Milliseconds that one attempt may take. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What is known of an answer beside its body. */
export interface LastResponse {
  /** Names the request in the service's log. */
  readonly requestId: string
  readonly status: number
  /** Whether this is the remembered answer to an earlier request with the same idempotency key. */
  readonly isReplayed: boolean
  readonly headers: Headers
}

/** Data beside what is known of the answer that brought it. JSON, spreading and comparing leave `lastResponse` out. */
export type Answered<A> = A & { readonly lastResponse: LastResponse }

export interface Answer {
  readonly body: unknown
  readonly lastResponse: LastResponse
}

interface Refusal {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly param: string | null }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const isRefusal = (body: unknown): body is Refusal =>
  isObject(body) && isObject(body.error) && typeof body.error.code === "string"

/** Returns the seconds of a `Retry-After` header, which may be a date when something else than the service answered. */
const retryAfterOf = ({ headers }: Response): number | null => {
  const value = headers.get("retry-after")
  if (value === null) return null
  const seconds = /^[0-9]+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000
  return Number.isNaN(seconds) ? null : Math.max(0, seconds)
}

const answerOf = (response: Response, text: string, sentId: string): Answer => {
  const { headers, status } = response
  const requestId = headers.get("x-request-id") ?? sentId
  const body = parse(text)
  if (response.ok && isObject(body)) {
    return { body, lastResponse: { requestId, status, isReplayed: headers.has("idempotent-replayed"), headers } }
  }
  const circumstances = { status, requestId, retryAfter: retryAfterOf(response) }
  if (isRefusal(body)) {
    const { code, message, param } = body.error
    throw new MessagingCrmError(message, { ...circumstances, code, param })
  }
  const message = `The answer with status ${status} is not of the Messaging CRM API. Is the base URL right?`
  throw new MessagingCrmError(message, { ...circumstances, code: "unexpected_answer", param: null })
}

/** Makes one attempt. A caller who gives up gets the reason of their own signal. */
export const attempt = async (fetch: Fetch, call: Call): Promise<Answer> => {
  const { body, headers, method, signal, timeout, url } = call
  const requestId = crypto.randomUUID()
  const end = new AbortController()
  const giveUp = () => end.abort()
  const timer = setTimeout(giveUp, timeout)
  signal?.addEventListener("abort", giveUp, { once: true })
  try {
    signal?.throwIfAborted()
    const response = await fetch(url, {
      method,
      headers: { ...headers, "x-request-id": requestId },
      body,
      // A redirected write would turn into a read, and the key would travel on.
      redirect: "manual",
      signal: end.signal
    })
    const text = await response.text()
    return answerOf(response, text, requestId)
  } catch (cause) {
    if (cause instanceof MessagingCrmError) throw cause
    signal?.throwIfAborted()
    throw end.signal.aborted
      ? new TimeoutError(`No answer came within ${timeout} ms.`, { requestId, cause })
      : new ConnectionError("No answer came: the connection failed.", { requestId, cause })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", giveUp)
  }
}
