/** The monitor of a service: the newest reports of each kind by its process, in memory. */
import type { WebhookEvent } from "@messaging-crm/client"
import { Feed } from "./Feed.ts"

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

type CountedKind = "deliveries" | "messages" | "requests"

/** The number of reports of each kind that the monitor stores. */
const reports_max = 300
/** The number of minutes whose counts the monitor stores. */
const minutes_max = 30

const isMessage = ({ type }: WebhookEvent) => type === "message.received" || type === "message.sent"

/** Receives reports of a process, keeps the newest, and sends them to every page. */
export class Monitor {
  readonly feed = new Feed()
  private readonly requests: Array<CompletedRequest & { readonly at: string }> = []
  private readonly events: Array<WebhookEvent> = []
  private readonly sends = new Map<string, SendReport>()
  /** The number of each kind, by the minute since 1970. */
  private readonly counts: Record<CountedKind, Record<number, number>> = { deliveries: {}, messages: {}, requests: {} }

  /** Returns everything that a page shows when it is opened. */
  snapshot() {
    const { counts, events, requests, sends } = this
    return { requests, events, sends: Array.from(sends.values()), counts }
  }

  request(completed: CompletedRequest): void {
    this.append(this.requests, "request", { ...completed, at: new Date().toISOString() })
    this.count("requests")
  }

  /** Reports an event, with its resource. */
  event(event: WebhookEvent): void {
    this.append(this.events, "event", event)
    if (isMessage(event)) this.count("messages")
  }

  send(report: SendReport): void {
    const send = { ...this.sends.get(report.id), ...report }
    this.sends.set(report.id, send)
    if (this.sends.size > reports_max) this.sends.delete(this.sends.keys().next().value ?? "")
    this.feed.publish("send", send)
  }

  /** Reports that an attempt of a delivery ended, or that a delivery was changed. */
  delivery({ attempted }: { readonly attempted: boolean }): void {
    if (attempted) this.count("deliveries")
    this.feed.publish("delivery", {})
  }

  /** Reports that a conversation or a contact changed without an event. */
  change(changed: { readonly conversation_id?: string; readonly contact_id?: string }): void {
    this.feed.publish("change", changed)
  }

  private append<A>(list: Array<A>, name: string, item: A): void {
    list.push(item)
    if (list.length > reports_max) list.shift()
    this.feed.publish(name, item)
  }

  private count(kind: CountedKind): void {
    const counts = this.counts[kind]
    const minute = Math.floor(Date.now() / 60_000)
    const count = counts[minute] = (counts[minute] ?? 0) + 1
    for (const earlier of Object.keys(counts).map(Number)) if (earlier <= minute - minutes_max) delete counts[earlier]
    this.feed.publish("count", { kind, minute, count })
  }
}
