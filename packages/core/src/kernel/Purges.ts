/** Purges: how rows that have expired are deleted in batches. */
import { DateTime, type Duration, Effect } from "effect"
import type { Timestamp } from "./Timestamps.ts"

/** Deletes one batch of the rows older than `age_max`, at most `limit`, and returns their number. */
export const purgeOlderThan = (
  age_max: Duration.Duration,
  purge: (before: Timestamp, limit: number) => Effect.Effect<number>,
  limit = 5000
): Effect.Effect<number> => Effect.flatMap(DateTime.now, (now) => purge(DateTime.subtractDuration(now, age_max), limit))
