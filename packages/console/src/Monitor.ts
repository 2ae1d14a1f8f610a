/** The monitor of a service: the newest reports of each kind by its process, in memory. */
import type { WebhookEvent } from "@messaging-crm/client"
import { Feed } from "./Feed.ts"
import type { Changed, CompletedRequest, CountedKind, RequestReport, SendReport, Snapshot } from "./StreamMessages.ts"

/** The number of reports of each kind that the monitor stores. */
const reports_max = 300
/** The number of minutes whose counts the monitor stores. */
const minutes_max = 30

const isMessage = ({ type }: WebhookEvent) => type === "message.received" || type === "message.sent"

/** Adds a report to a list, and removes the oldest above the limit. */
const append = <A>(list: Array<A>, report: A): void => {
  list.push(report)
  if (list.length > reports_max) list.shift()
}

/** Receives reports of a process, keeps the newest, and sends them to every page. */
export class Monitor {
  readonly feed = new Feed()
  private readonly requests: Array<RequestReport> = []
  private readonly events: Array<WebhookEvent> = []
  private readonly sends = new Map<string, SendReport>()
  /** The number of each kind, by the minute since 1970. */
  private readonly counts: Record<CountedKind, Record<number, number>> = { deliveries: {}, messages: {}, requests: {} }

  /** Returns everything that a page shows when it is opened. */
  snapshot(): Snapshot {
    const { counts, events, requests, sends } = this
    return { requests, events, sends: Array.from(sends.values()), counts }
  }

  request(completed: CompletedRequest): void {
    const report = { ...completed, at: new Date().toISOString() }
    append(this.requests, report)
    this.feed.publish("request", report)
    this.count("requests")
  }

  /** Reports an event, with its resource. */
  event(event: WebhookEvent): void {
    append(this.events, event)
    this.feed.publish("event", event)
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
  change(changed: Changed): void {
    this.feed.publish("change", changed)
  }

  private count(kind: CountedKind): void {
    const counts = this.counts[kind]
    const minute = Math.floor(Date.now() / 60_000)
    const count = counts[minute] = (counts[minute] ?? 0) + 1
    for (const earlier of Object.keys(counts).map(Number)) if (earlier <= minute - minutes_max) delete counts[earlier]
    this.feed.publish("count", { kind, minute, count })
  }
}
