/** The metrics of core. No label contains personal data: no name, phone number or text. */
import { Metric } from "effect"

/**
 * `outcome`: accepted, rejected, busy (certainly nothing sent), held (the channel cannot be used), unknown (the
 * response was lost); `reason`: the failure reason, or none.
 */
export const send_attempts = Metric.counter("messaging_crm_send_attempts_total", {
  description: "Attempts to send a message through the provider, by outcome.",
  incremental: true
})

/** `outcome`: succeeded, or the `failure_code`. */
export const delivery_attempts = Metric.counter("messaging_crm_delivery_attempts_total", {
  description: "Attempts to deliver an event to a webhook, by outcome.",
  incremental: true
})

/** `reason`: gone (its endpoint responded with 410), failing (for five days). Those that a call disables are not counted. */
export const webhooks_disabled = Metric.counter("messaging_crm_webhooks_disabled_total", {
  description: "Webhooks that were disabled because of their endpoint, by reason.",
  incremental: true
})

/** Counter of commits that failed because a row that the decision depends on had changed, and were decided again. */
export const conflicts = Metric.counter("messaging_crm_conflicts_total", {
  description: "Commits that conflicted with a concurrent write and were retried.",
  incremental: true
})

/**
 * `reason`: `erased` for an event about an erased message, `unconnected` for an account without a channel, or why a provider's
 * adapter made no event. `kind` is a documented one of the network, or `other`.
 */
export const callbacks_ignored = Metric.counter("messaging_crm_callbacks_ignored_total", {
  description: "Parts of the networks' callbacks that were ignored, by reason and kind.",
  incremental: true
})

/** `kind` as in `WorkKind`; `state`: due, later, leased. */
export const work_items = Metric.gauge("messaging_crm_work_items", {
  description: "Items in the work queue, by state: due and waiting for a worker, due later, leased by a worker."
})

/** `kind` as in `WorkKind`. */
export const work_age = Metric.gauge("messaging_crm_work_oldest_due_seconds", {
  description: "Seconds since the longest-waiting item that no worker has claimed became due; 0 if no item is due."
})

export const callbacks_waiting = Metric.gauge("messaging_crm_callbacks_waiting", {
  description: "Stored callbacks that are not processed yet."
})

export const callbacks_age = Metric.gauge("messaging_crm_callbacks_oldest_seconds", {
  description: "Age of the oldest stored callback; 0 if no callback is stored."
})

/** `reason`: provider_auth, channel_blocked. */
export const channels_paused = Metric.gauge("messaging_crm_channels_paused", {
  description: "Channels whose sends wait because their network rejects the channel, by reason."
})
