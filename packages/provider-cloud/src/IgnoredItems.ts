/** Counts and logs the items of callbacks that become no event. No label contains personal data. */
import { callbacks_ignored } from "@messaging-crm/core/Metrics"
import { Effect, Metric } from "effect"
import { isDocumented } from "./Callback/DocumentedKinds.ts"
import type { Ignored } from "./Callback/Entry.ts"

/** Counts an event for an account without a channel. Repeating it would not help, so it counts as received. */
export const countUnconnected = Metric.update(
  callbacks_ignored.of({ reason: "unconnected" }),
  1
)

/** A kind that the log shows although no documentation has it. Anything else could be a text of a person. */
const name_of_kind = /^[a-z]+(?::[a-z_]{1,40})?$/

/** Counts and logs ignored items. Those that no documentation explains are logged at a higher level. */
export const report = (items: ReadonlyArray<Ignored>) =>
  Effect.forEach(
    Map.groupBy(items, ({ kind, reason }) => JSON.stringify([reason, kind])).values(),
    Effect.fnUntraced(function*(alike) {
      const [first] = alike
      if (first === undefined) return
      const { kind, reason } = first
      const count = alike.length
      const label = isDocumented(kind) ? kind : "other"
      yield* Metric.update(callbacks_ignored.of({ reason }), count)
      const shown = name_of_kind.test(kind) ? kind : label
      const log = reason === "unknown" || reason === "unreadable" ? Effect.logInfo : Effect.logDebug
      yield* Effect.annotateLogs(log("Callback item ignored"), { reason, kind: shown, count })
    }),
    { discard: true }
  )
