/** What this package counts, for whoever exports it. No label names a person, a number or a text. */
import { Metric } from "effect"

/** `reason` as in `Ignored`; or `unconnected`: about an account that no channel has. */
export const callbacks_ignored = Metric.counter("messaging_crm_callbacks_ignored_total", {
  description: "Parts of the networks' callbacks that led to nothing, by why.",
  incremental: true
})
