/** The state of the fake Graph API, and the settings of a test. */
import { DateTime, Duration, Effect, Redacted, Ref } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Behavior, ScriptedResponse } from "./Behaviors.ts"
import type { CallbackEntry } from "./CallbackBodies.ts"

/** A message that the network accepted. */
export interface AcceptedMessage {
  readonly id: string
  /** The ID in the path: of a number, a page or an account. */
  readonly account: string
  /** As in the request: digits, or an ID. */
  readonly recipient: string
  readonly reference: string | null
  readonly text: string | null
  readonly body: unknown
}

/** A template of an account. */
export interface FakeTemplate {
  readonly id: string
  readonly name: string
  readonly [field: string]: unknown
}

interface FakeFile {
  readonly bytes: Uint8Array
  readonly mime_type: string
}

export interface State {
  readonly accepted: ReadonlyArray<AcceptedMessage>
  /** Messages with a user ID in `to`: accepted with 200, and discarded. */
  readonly discarded: ReadonlyArray<AcceptedMessage>
  /** How many calls each message had, by its reference; without one, by its recipient. */
  readonly calls: ReadonlyMap<string, number>
  readonly scripts: ReadonlyMap<string, Behavior>
  readonly next: ReadonlyArray<Behavior>
  /** The callbacks that are still to be posted. */
  readonly waiting: ReadonlyArray<CallbackEntry>
  readonly templates: ReadonlyMap<string, ReadonlyArray<FakeTemplate>>
  readonly broken_page: number | null
  readonly files: ReadonlyMap<string, FakeFile>
  /** Whether requests for files get no response. */
  readonly files_held: boolean
  /** How many of the next links have expired before they are opened. */
  readonly expired_links: number
  /** The business profiles, by the ID of the number. */
  readonly profiles: ReadonlyMap<string, Readonly<Record<string, unknown>>>
  /** By how much its clock differs from that of the service. */
  readonly clock_difference: Duration.Duration
  readonly last_id: number
}

export type StateRef = Ref.Ref<State>

export const make = Ref.make<State>({
  accepted: [],
  discarded: [],
  calls: new Map(),
  scripts: new Map(),
  next: [],
  waiting: [],
  templates: new Map(),
  broken_page: null,
  files: new Map(),
  files_held: false,
  expired_links: 0,
  profiles: new Map(),
  clock_difference: Duration.zero,
  last_id: 0
})

export const set = (state: StateRef, change: (current: State) => Partial<State>) =>
  Ref.update(state, (current) => ({ ...current, ...change(current) }))

/** Returns the time of its clock. */
export const now = (state: StateRef) =>
  Effect.zipWith(Ref.get(state), DateTime.now, ({ clock_difference }, at) => DateTime.addDuration(at, clock_difference))

export const enqueue = (state: StateRef, ...entries: ReadonlyArray<CallbackEntry>) =>
  set(state, ({ waiting }) => ({ waiting: [...waiting, ...entries] }))

export const nextId = (state: StateRef, kind: string) =>
  Ref.modify(
    state,
    (current) => [`${kind}${current.last_id + 1}`, { ...current, last_id: current.last_id + 1 }] as const
  )

interface Rejection extends Extract<ScriptedResponse, { readonly response: "reject" }> {
  /** The text of the error; by default that the fake Graph API rejects. */
  readonly details?: string
}

/** Returns an error response of the network. */
export const errorResponse = (rejection: Rejection) => {
  const { code, details = "Rejected by the fake network.", error_subcode, is_transient, retry_after_seconds } =
    rejection
  const { status = 400 } = rejection
  const error = {
    message: `(#${code}) ${details}`,
    type: "OAuthException",
    code,
    ...(error_subcode === undefined ? {} : { error_subcode }),
    ...(is_transient === undefined ? {} : { is_transient }),
    error_data: { messaging_product: "whatsapp", details },
    fbtrace_id: "AFake"
  }
  const headers = retry_after_seconds === undefined ? {} : { "retry-after": String(retry_after_seconds) }
  return HttpServerResponse.jsonUnsafe({ error }, { status, headers })
}

export const reject = (code: number, status = 400, details?: string) =>
  errorResponse({ response: "reject", code, status, ...(details === undefined ? {} : { details }) })

/** Responds only to requests with the token, and with 401 to others. */
export const authorized =
  (token: Redacted.Redacted) => <E, R>(response: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ headers }) =>
        headers["authorization"] === `Bearer ${Redacted.value(token)}` ? response : Effect.succeed(reject(190, 401))
    )
