import { UnknownOutcomeTimeout } from "@messaging-crm/core/Dispatch"
import { LeaseTime } from "@messaging-crm/core/WorkQueue"
import { Duration, Layer } from "effect"

/** Returns the environment of a process with `shortTimeouts` and another unknown-outcome timeout. */
export const unknownOutcomeTimeout = (seconds: number) => ({ UNKNOWN_OUTCOME_SECONDS: String(seconds) })

/**
 * A lease of 5 seconds and an unknown-outcome timeout of 90 seconds, or `UNKNOWN_OUTCOME_SECONDS`, so that a test of
 * crashes does not take a quarter of an hour.
 */
export const shortTimeouts = Layer.mergeAll(
  Layer.succeed(LeaseTime, Duration.seconds(5)),
  Layer.succeed(UnknownOutcomeTimeout, Duration.seconds(Number(process.env["UNKNOWN_OUTCOME_SECONDS"] ?? 90)))
)
