/** What core counts and measures, for whoever exports it. No label names a person, a number or a text. */
import { Metric } from "effect"

/** `outcome`: accepted, rejected, busy (certainly nothing sent), unknown (the answer is lost); `reason`: why, or none. */
export const send_attempts = Metric.counter("messaging_crm_send_attempts_total", {
  description: "Attempts to hand a message to the provider, by what came of them.",
  incremental: true
})

/** `outcome`: succeeded, or the `failure_code`. */
export const delivery_attempts = Metric.counter("messaging_crm_delivery_attempts_total", {
  description: "Attempts to deliver an event to a webhook, by what came of them.",
  incremental: true
})

/** Commits that found that what they rest on had changed, each decided again. */
export const conflicts = Metric.counter("messaging_crm_conflicts_total", {
  description: "Commits that were decided again, because another came first.",
  incremental: true
})

/** `kind` as in `WorkKind`; `state`: due, later, held. */
export const work_items = Metric.gauge("messaging_crm_work_items", {
  description: "Items in the work queue: due and waiting for a worker, due later, held by a worker."
})

/** `kind` as in `WorkKind`. */
export const work_age = Metric.gauge("messaging_crm_work_oldest_due_seconds", {
  description: "For how long the oldest item that no worker holds has been due; 0 when there is none."
})

export const callbacks_waiting = Metric.gauge("messaging_crm_callbacks_waiting", {
  description: "Bodies of callbacks that are stored and not taken in yet."
})

export const callbacks_age = Metric.gauge("messaging_crm_callbacks_oldest_seconds", {
  description: "For how long the oldest body of a callback has been stored; 0 when there is none."
})
