/**
 * The history of a torture run: the calls of its clients, the requests to the network and the endpoints, the faults, and
 * the final state. The driver writes it, and the checker compares it with the contract. It is plain JSON.
 *
 * Every time is in milliseconds of the driver's monotonic clock since the start of the run.
 */
import type { Operation } from "@messaging-crm/core/Operations"

/** An organization of the run, by its position in `History.organizations`. */
export type OrganizationIndex = number

/** A JSON object, as the API returned it. */
export type Resource = Readonly<Record<string, unknown>>

/**
 * One HTTP request, or one command of an operator.
 *
 * A client without a final response repeats the request, which is another call with the same `idempotency_key`. A call
 * without a response can take effect at any later time, and one with a 5xx can have taken effect.
 */
export interface Call {
  /** A client makes one call at a time. */
  readonly client: number
  /** The position among all calls, by `started_at`. */
  readonly index: number
  readonly organization: OrganizationIndex
  readonly operation: Operation
  readonly request: {
    /** `COMMAND` for an operator's command, which has neither a key nor an `idempotency_key`. */
    readonly method: "COMMAND" | "DELETE" | "GET" | "PATCH" | "POST"
    /** Below `/v1`, with its query. Empty for a command. */
    readonly path: string
    /** Null without a body. Of a command, its input. */
    readonly body: unknown
    readonly idempotency_key: string | null
    /** The `X-Request-Id` of this call and of its audit record. Each repetition has another one. */
    readonly request_id: string
    /** The ID of the API key that authenticated it; null for a command. */
    readonly key_id: string | null
  }
  readonly started_at: number
  /** Null if no response arrived before the timeout or the end of the connection. */
  readonly ended_at: number | null
  readonly response: RecordedResponse | null
}

export interface RecordedResponse {
  readonly status: number
  /** The parsed JSON. */
  readonly body: unknown
  /** The exact text, which each replay must equal. */
  readonly text: string
  readonly is_replay: boolean
  /** The `X-Request-Id` of the first request under the key; null unless it is a replay. */
  readonly original_request_id: string | null
  readonly retry_after_seconds: number | null
  /** The key's window: the requests that are left, and its end in Unix seconds. Null without these headers. */
  readonly rate: { readonly remaining: number; readonly reset_seconds: number } | null
}

/** A message that the network accepted. They are in the order of acceptance. */
export interface AcceptedMessage {
  /** The send's ID. */
  readonly reference: string
  readonly provider_message_id: string
  readonly recipient: string
  readonly text: string | null
}

/** An inbound message that the network reported until a callback returned 2xx, sometimes once more. */
export interface InboundMessage {
  readonly organization: OrganizationIndex
  readonly channel_id: string
  readonly provider_message_id: string
  readonly from: string
  readonly text: string
  readonly started_at: number
  /** When the service acknowledged it; null if it never did. */
  readonly acknowledged_at: number | null
}

/** A request that an endpoint received. They are in the order of receipt. */
export interface ReceivedDelivery {
  readonly organization: OrganizationIndex
  /** The path of the endpoint, which is unique in the run and part of the webhook's `url`. */
  readonly endpoint: string
  /** The header `webhook-id`. */
  readonly event_id: string
  /** The exact bytes as text: `id`, `type`, `timestamp`, and `data` of the event. */
  readonly text: string
  readonly at: number
  /** The status that the endpoint returned. */
  readonly status: number
  /** Whether the signature matched a signing secret that a client got for the webhook; null if no client got one. */
  readonly is_signed: boolean | null
}

export const faultKinds = [
  "kill",
  "stop",
  "postgres_restart",
  "failover",
  "database_cut",
  "database_delay",
  "provider_cut",
  "provider_delay",
  "endpoint_cut",
  "endpoint_delay",
  "clock_ahead",
  "clock_behind",
  "disk_full",
  "read_only",
  "older_version"
] as const

export type FaultKind = (typeof faultKinds)[number]

export interface Fault {
  readonly kind: FaultKind
  /** The affected process or connection. */
  readonly target: string
  readonly from: number
  readonly to: number
}

/** The data of an organization after the faults had ended and the queue was empty. Every list is complete and in its order. */
export interface FinalState {
  readonly contacts: ReadonlyArray<Resource>
  readonly tags: ReadonlyArray<Resource>
  readonly conversations: ReadonlyArray<Resource>
  /** By the ID of the conversation. */
  readonly messages: Readonly<Record<string, ReadonlyArray<Resource>>>
  readonly sends: ReadonlyArray<Resource>
  /** The sends that lost the response to an attempt. They delay no other send. */
  readonly uncertain_sends: ReadonlyArray<string>
  readonly events: ReadonlyArray<Resource>
  readonly webhooks: ReadonlyArray<Resource>
  /** All deliveries, by the ID of the webhook. */
  readonly deliveries: Readonly<Record<string, ReadonlyArray<Resource>>>
  /** The audit records. */
  readonly audit: ReadonlyArray<Resource>
}

export interface History {
  readonly seed: number
  readonly organizations: ReadonlyArray<{ readonly id: string; readonly final: FinalState }>
  readonly calls: ReadonlyArray<Call>
  readonly accepted: ReadonlyArray<AcceptedMessage>
  readonly inbound: ReadonlyArray<InboundMessage>
  readonly received: ReadonlyArray<ReceivedDelivery>
  readonly faults: ReadonlyArray<Fault>
  /** The remaining work at the end. Empty in a run without a violation. */
  readonly unfinished: ReadonlyArray<string>
}

/** A broken guarantee. */
export interface Violation {
  /** The rule in one sentence, with its section of the contract. */
  readonly rule: string
  /** The observation that breaks the rule. */
  readonly detail: string
  /** A small set of calls that shows it, by `index`. */
  readonly calls: ReadonlyArray<number>
}

export const violation = (rule: string, detail: string, calls: ReadonlyArray<number> = []): Violation => ({
  rule,
  detail,
  calls
})

/** The checker: a pure function, exported as `check` by `Checker.ts` of this folder. */
export type Check = (history: History) => ReadonlyArray<Violation>
