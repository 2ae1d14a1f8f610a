/** Calls operations with the types of the contract, and retries failed attempts. */
import {
  attempt,
  attemptStream,
  type Call,
  type Fetch,
  isObject,
  type LastResponse,
  type Received,
  unexpectedResponse,
  type WithResponse
} from "./Attempt.ts"
import { type Operations, version } from "./Contract.ts"
import { type Page, Pages } from "./Pages.ts"
import { pause, pauseAfter } from "./Retries.ts"

/** An operation: its method and path. */
export type Route = keyof Operations

/** The input of an operation: the values of its path, its query and its body. */
export type Input<R extends Route> = Omit<Operations[R], "response">

/** The query parameters of a list. */
export type Query<R extends Route> = Operations[R] extends { readonly query?: infer Q } ? NonNullable<Q> : never

/** Options of one call, which override the client's. */
export interface RequestOptions {
  /** Calls with the same key have one effect, and all get the first response. By default a new UUID. */
  readonly idempotencyKey?: string
  /** The maximum number of retries. */
  readonly maxRetries?: number
  /** The time limit of one attempt, in milliseconds. */
  readonly timeout?: number
  readonly signal?: AbortSignal
}

/** Options of one call that changes a contact. */
export interface ConditionalOptions extends RequestOptions {
  /**
   * The `lastResponse.etag` of the contact as you read it. If the contact has changed since, the call changes nothing and
   * throws a `MessagingCrmError` with the code `precondition_failed`.
   */
  readonly ifMatch?: string | null
}

/** Options of one call with a time limit for all its attempts. */
export interface CallOptions extends ConditionalOptions {
  /** The time at which the last attempt ends, in milliseconds since 1970; by default none. */
  readonly until?: number
}

/** A failed attempt that the client is about to repeat. */
export interface Retry {
  readonly method: string
  /** The template of the path, such as `/contacts/{contact_id}`. */
  readonly path: string
  /** The number of attempts so far. */
  readonly attempt: number
  /** The pause before the next attempt, in milliseconds. */
  readonly pause: number
  readonly error: unknown
}

export interface Settings {
  readonly onRetry: (retry: Retry) => void
  readonly apiKey: string
  readonly baseUrl: string
  readonly fetch: Fetch
  readonly maxRetries: number
  readonly timeout: number
}

/** The kinds of calls. */
export interface Transport {
  /** Calls any operation, and returns the body of its response. */
  readonly request: <R extends Route>(
    route: R,
    input: Input<R>,
    options?: CallOptions
  ) => Promise<WithResponse<Operations[R]["response"]>>
  /** Calls an operation that returns one resource. */
  readonly one: <R extends Route>(
    route: R,
    input: Input<R>,
    options?: CallOptions
  ) => Promise<WithResponse<Operations[R]["response"]["data"]>>
  /** Returns the pages of an operation that returns a list. */
  readonly list: <R extends Route>(
    route: R,
    input: Input<R>,
    options?: RequestOptions
  ) => Pages<Operations[R]["response"]["data"] extends ReadonlyArray<infer A> ? A : never>
  /** Makes one attempt of an operation whose response is a stream of server-sent events, and returns its text as it arrives. */
  readonly stream: <R extends Route>(
    route: R,
    input: Input<R>,
    options?: RequestOptions
  ) => AsyncGenerator<string, void, undefined>
  /** Waits before a failed attempt is repeated. Throws its error if it cannot succeed. */
  readonly pauseAfter: (
    route: Route,
    error: unknown,
    attempts: number,
    signal: AbortSignal | undefined
  ) => Promise<void>
}

/** The input of any operation. */
interface AnyInput {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
}

const urlOf = (baseUrl: string, template: string, { path = {}, query = {} }: AnyInput): string => {
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ""))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return `${baseUrl.replace(/\/+$/, "")}${filled}${search.size === 0 ? "" : `?${search}`}`
}

/** Rejects a time limit that is not positive, and a negative number of retries. A time limit can be `Infinity`. */
export const checkLimits = (
  { maxRetries = 0, timeout = 1 }: { readonly maxRetries?: number; readonly timeout?: number }
): void => {
  if (!(timeout > 0)) throw new TypeError("timeout must be a positive number of milliseconds.")
  if (!(maxRetries >= 0)) throw new TypeError("maxRetries must be a number from 0.")
}

/** Rejects an option that no header can have. The service decides on all others. */
const checkHeaders = ({ idempotencyKey, ifMatch }: ConditionalOptions): void => {
  for (const [name, value] of Object.entries({ idempotencyKey, ifMatch })) {
    if (!/^[\x20-\x7e\x80-\xff]*$/.test(value ?? "")) {
      throw new TypeError(`${name} must have no line breaks, control characters, or characters above U+00FF.`)
    }
  }
}

const callOf = (settings: Settings, route: Route, input: AnyInput, options: ConditionalOptions): Call => {
  const [method = "", path = ""] = route.split(" ")
  return {
    method,
    path,
    url: urlOf(settings.baseUrl, path, input),
    headers: {
      accept: "application/json",
      authorization: `Bearer ${settings.apiKey}`,
      "user-agent": `messaging-crm-client/${version}`,
      ...(input.body === undefined ? {} : { "content-type": "application/json" }),
      ...(method === "GET" ? {} : { "idempotency-key": options.idempotencyKey ?? crypto.randomUUID() }),
      ...(options.ifMatch === undefined || options.ifMatch === null ? {} : { "if-match": options.ifMatch })
    },
    body: input.body === undefined ? null : JSON.stringify(input.body),
    timeout: options.timeout ?? settings.timeout,
    signal: options.signal
  }
}

/** Returns whether a body is a page. The page at a cursor cannot lead to the same cursor. */
const isPage = (
  body: { readonly data?: unknown; readonly next_cursor?: unknown },
  cursor: unknown
): body is Page<never> => {
  const { data, next_cursor } = body
  if (!Array.isArray(data) || !data.every(isObject)) return false
  return next_cursor === null || (typeof next_cursor === "string" && next_cursor !== cursor)
}

const withResponse = <A extends object>(data: A, lastResponse: LastResponse): WithResponse<A> =>
  Object.defineProperty(data, "lastResponse", { value: lastResponse }) as WithResponse<A>

/** Makes the calls of a client. The settings stay in the closure, so that logging a client does not show its key. */
export const transport = (settings: Settings): Transport => {
  const send = async (route: Route, input: AnyInput, options: CallOptions): Promise<Received> => {
    checkLimits(options)
    checkHeaders(options)
    const call = callOf(settings, route, input, options)
    const attempts_max = 1 + (options.maxRetries ?? settings.maxRetries)
    const { until = Infinity } = options
    for (let attempts = 1;; attempts++) {
      try {
        return await attempt(settings.fetch, { ...call, timeout: Math.min(call.timeout, until - Date.now()) })
      } catch (error) {
        const milliseconds = attempts < attempts_max ? pauseAfter(error, attempts) : null
        if (milliseconds === null || Date.now() + milliseconds >= until) throw error
        settings.onRetry({ method: call.method, path: call.path, attempt: attempts, pause: milliseconds, error })
        await pause(milliseconds, call.signal)
      }
    }
  }

  // The service encodes its responses with the schemas that these types are generated from. Only their form is checked
  // here, because a proxy can respond with other JSON.
  const request = async (route: Route, input: AnyInput, options: CallOptions = {}) => {
    const { body, lastResponse } = await send(route, input, options)
    if (!("data" in body)) throw unexpectedResponse(lastResponse)
    return withResponse(body, lastResponse)
  }

  const one = async (route: Route, input: AnyInput, options: CallOptions = {}) => {
    const { body, lastResponse } = await send(route, input, options)
    if (!isObject(body["data"])) throw unexpectedResponse(lastResponse)
    return withResponse(body["data"], lastResponse)
  }

  const list = (route: Route, input: AnyInput, options: RequestOptions = {}) =>
    new Pages(async (cursor) => {
      const query = cursor === undefined ? input.query ?? {} : { ...input.query, cursor }
      const { body, lastResponse } = await send(route, { ...input, query }, options)
      if (!isPage(body, query["cursor"])) throw unexpectedResponse(lastResponse)
      return withResponse(body, lastResponse)
    })

  const stream = (route: Route, input: AnyInput, options: RequestOptions = {}) => {
    checkLimits(options)
    const { headers, ...call } = callOf(settings, route, input, options)
    return attemptStream(settings.fetch, { ...call, headers: { ...headers, accept: "text/event-stream" } })
  }

  const pauseAfterFailure = async (route: Route, error: unknown, attempts: number, signal: AbortSignal | undefined) => {
    const milliseconds = pauseAfter(error, attempts)
    if (milliseconds === null) throw error
    const [method = "", path = ""] = route.split(" ")
    settings.onRetry({ method, path, attempt: attempts, pause: milliseconds, error })
    await pause(milliseconds, signal)
  }

  return { request, one, list, stream, pauseAfter: pauseAfterFailure } as Transport
}
