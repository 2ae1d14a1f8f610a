/**
 * The metrics of core, with names and units by OpenTelemetry's conventions.
 *
 * No label contains personal data: no name, phone number or text.
 */
import { Effect, Metric } from "effect"
import { AttemptFailureCode } from "./DeliveryFailure.ts"
import { FailureReason } from "./FailureReason.ts"

/** A counter with every series that it counts. `of` returns the metric of a series. */
interface Counter<Labels extends Readonly<Record<string, string>>> {
  readonly id: string
  readonly series: ReadonlyArray<Labels>
  readonly of: (labels: Labels) => Metric.Counter<number>
}

const counterOf = <Labels extends Readonly<Record<string, string>>>(
  id: string,
  unit: string,
  description: string,
  series: ReadonlyArray<Labels>
): Counter<Labels> => {
  const counter = Metric.counter(id, { description, attributes: { unit }, incremental: true })
  return { id, series, of: (labels) => Metric.withAttributes(counter, labels) }
}

const reasons = FailureReason.literals

/** Returns the series of an outcome that has a reason. */
const withReasons = <const Outcome extends string>(outcome: Outcome) => reasons.map((reason) => ({ outcome, reason }))

/**
 * `outcome`: accepted, rejected, busy (certainly nothing sent), held (the channel cannot be used), unknown (the
 * response was lost); `reason`: the failure reason, or none.
 */
export const send_attempts = counterOf<{
  readonly outcome: "accepted" | "busy" | "held" | "rejected" | "unknown"
  readonly reason: FailureReason | "none"
}>("messaging_crm.send_attempts", "{attempt}", "Attempts to send a message through the provider, by outcome.", [
  { outcome: "accepted", reason: "none" },
  { outcome: "unknown", reason: "none" },
  ...withReasons("rejected"),
  ...withReasons("busy"),
  ...withReasons("held")
])

/** `outcome`: succeeded, or the `failure_code`. */
export const delivery_attempts = counterOf(
  "messaging_crm.delivery_attempts",
  "{attempt}",
  "Attempts to deliver an event to a webhook, by outcome.",
  (["succeeded", ...AttemptFailureCode.literals] as const).map((outcome) => ({ outcome }))
)

/** `reason`: gone (its endpoint responded with 410), failing (for five days). Those that a call disables are not counted. */
export const webhooks_disabled = counterOf(
  "messaging_crm.webhooks_disabled",
  "{webhook}",
  "Webhooks that were disabled because of their endpoint, by reason.",
  (["gone", "failing"] as const).map((reason) => ({ reason }))
)

/** Counter of commits that failed because a row that the decision depends on had changed, and were decided again. */
export const conflicts = counterOf(
  "messaging_crm.conflicts",
  "{commit}",
  "Commits that conflicted with a concurrent write and were retried.",
  [{}]
)

/**
 * `reason`: `erased` for an event about an erased message, `unconnected` for an account without a channel, or why a provider's
 * adapter made no event. The log has the kind.
 */
export const callbacks_ignored = counterOf(
  "messaging_crm.callbacks_ignored",
  "{item}",
  "Parts of the networks' callbacks that were ignored, by reason.",
  (["erased", "unconnected", "account", "group", "nothing", "unknown", "unreadable"] as const).map((reason) => ({
    reason
  }))
)

/** Exports every series at 0: an increase from an absent series would not be visible. */
export const startCounters = Effect.forEach(
  [send_attempts, delivery_attempts, webhooks_disabled, conflicts, callbacks_ignored].flatMap(
    // Each counter accepts its own series, but the compiler forgets which one it is.
    ({ of, series }) => series.map((labels) => (of as (labels: unknown) => Metric.Counter<number>)(labels))
  ),
  (counter) => Metric.update(counter, 0),
  { discard: true }
)

/** `kind` as in `WorkKind`; `state`: due, later, leased. */
export const work_items = Metric.gauge("messaging_crm.work_items", {
  attributes: { unit: "{item}" },
  description: "Items in the work queue, by state: due and waiting for a worker, due later, leased by a worker."
})

/** `kind` as in `WorkKind`. */
export const work_age = Metric.gauge("messaging_crm.work_oldest_due", {
  attributes: { unit: "s" },
  description: "Seconds since the longest-waiting item that no worker has claimed became due; 0 if no item is due."
})

export const callbacks_waiting = Metric.gauge("messaging_crm.callbacks_waiting", {
  attributes: { unit: "{callback}" },
  description: "Stored callbacks that are not processed yet."
})

export const callbacks_age = Metric.gauge("messaging_crm.callbacks_oldest", {
  attributes: { unit: "s" },
  description: "Age of the oldest stored callback; 0 if no callback is stored."
})

/** `reason`: provider_auth, channel_blocked. */
export const channels_paused = Metric.gauge("messaging_crm.channels_paused", {
  attributes: { unit: "{channel}" },
  description: "Channels whose sends wait because their network rejects the channel, by reason."
})
