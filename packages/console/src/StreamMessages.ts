/** The messages of the stream to a page: the server sends them with `Feed.ts`, and `page/stream.mjs` receives each. */
import type { WebhookEvent } from "@messaging-crm/client"

/** The error of a response. */
export interface CompletedError {
  readonly message: string
  /** The field that has the error, or null. */
  readonly param: string | null
  readonly request_id: string
}

/** A request with its response. */
export interface CompletedRequest {
  readonly method: string
  readonly path: string
  readonly status: number
  /** The error code of the response, or null. */
  readonly code: string | null
  /** The error of the response; null if it has none. */
  readonly error: CompletedError | null
  readonly duration_ms: number
}

/** A report about a send. It contains only the changed fields. */
export interface SendReport {
  readonly id: string
  readonly conversation_id?: string
  readonly recipient?: string
  readonly text?: string
  readonly status?: string
  readonly failure_reason?: string | null
  /** Why the last attempt did not succeed: a failure reason such as `provider_unavailable`, or null. */
  readonly waits_for?: string | null
  readonly next_attempt_at?: string | null
  readonly created_at?: string
}

/** A request with the time of its response. */
export interface RequestReport extends CompletedRequest {
  readonly at: string
}

/** A kind of reports that the charts count. */
export type CountedKind = "deliveries" | "messages" | "requests"

/** The number of each kind, by the minute since 1970. */
export type Counts = Readonly<Record<CountedKind, Record<number, number>>>

/** The resource that has changed without an event. */
export interface Changed {
  readonly conversation_id?: string
  readonly contact_id?: string
}

/** The reports that a page shows of a service in development when it is opened. */
export interface Snapshot {
  readonly requests: Array<RequestReport>
  readonly events: Array<WebhookEvent>
  readonly sends: ReadonlyArray<SendReport>
  readonly counts: Counts
}

/** The data of each message, by its name. */
export interface StreamMessages {
  /** The first message of each stream; null without a monitor. */
  readonly snapshot: Snapshot | null
  readonly request: RequestReport
  readonly event: WebhookEvent
  readonly send: SendReport
  /** A delivery has been attempted or changed. */
  readonly delivery: object
  readonly change: Changed
  readonly count: { readonly kind: CountedKind; readonly minute: number; readonly count: number }
}
