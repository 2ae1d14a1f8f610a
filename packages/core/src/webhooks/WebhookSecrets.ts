/**
 * The secrets that sign for a webhook: the newest, and former ones for a day after a rotation (contract §14.16).
 *
 * They are stored as one encrypted text, so that all are replaced and encrypted anew together.
 */
import { DateTime, Duration, Redacted } from "effect"
import { limits } from "../kernel/Limits.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"

/** How long a former secret signs in addition to the new one. */
const overlap = Duration.hours(24)

/** Returns a former secret as text: base64 has no colon and no space. */
const former = (secret: string, until: Timestamp): string => `${secret}:${until.epochMilliseconds}`

const isValid = (part: string, now: Timestamp): boolean =>
  Number(part.split(":")[1] ?? Infinity) > now.epochMilliseconds

/** Returns the secrets that sign at a time, the newest first. */
export const validAt = (stored: Redacted.Redacted, now: Timestamp): ReadonlyArray<Redacted.Redacted> =>
  Redacted.value(stored).split(" ").flatMap((part) =>
    isValid(part, now) ? [Redacted.make(part.split(":")[0] ?? "")] : []
  )

/** Returns the text to store with a new secret, or null if too many former secrets would sign. */
export const rotated = (stored: string, secret: string, now: Timestamp): string | null => {
  const until = DateTime.addDuration(now, overlap)
  const parts = stored.split(" ").filter((part) => isValid(part, now)).map((part) =>
    part.includes(":") ? part : former(part, until)
  )
  return parts.length < limits.webhook_secrets_max ? [secret, ...parts].join(" ") : null
}
