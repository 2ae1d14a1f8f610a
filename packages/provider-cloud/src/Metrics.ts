/** The metrics of this package. No label contains personal data. */
import { Metric } from "effect"

/** `reason` as in `Ignored`, or `unconnected` for an account without a channel. `kind` is a documented one, or `other`. */
export const callbacks_ignored = Metric.counter("messaging_crm_callbacks_ignored_total", {
  description: "Parts of the networks' callbacks that were ignored, by reason and kind.",
  incremental: true
})
