/**
 * The secrets that sign for a webhook: the newest, and former ones for a day after a rotation (contract §14.16).
 *
 * They are stored as one encrypted text, so that all are replaced and encrypted anew together.
 */
import { DateTime, Duration, Effect, Option, Redacted } from "effect"
import type { OrganizationId, WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import type { Secrets } from "../kernel/Secrets.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"

/** How long a former secret signs in addition to the new one. */
const overlap = Duration.hours(24)

/** Returns the encryption context of a webhook's secrets, so that the ciphertext cannot be decrypted for another webhook. */
export const secretContext = (organization_id: OrganizationId, id: WebhookId): string =>
  `webhook-secret|${organization_id}|${id}`

/** Returns a former secret as text: base64 has no colon and no space. */
const toFormer = (secret: string, until: Timestamp): string => `${secret}:${until.epochMilliseconds}`

const isValid = (part: string, now: Timestamp): boolean =>
  Number(part.split(":")[1] ?? Infinity) > now.epochMilliseconds

/** Returns the secrets that sign at a time, the newest first. */
export const validAt = (stored: Redacted.Redacted, now: Timestamp): ReadonlyArray<Redacted.Redacted> =>
  Redacted.value(stored).split(" ").flatMap((part) =>
    isValid(part, now) ? [Redacted.make(part.split(":")[0] ?? "")] : []
  )

/** Returns the text to store with a new secret, or null if too many former secrets would sign. */
const addSecret = (stored: string, secret: string, now: Timestamp): string | null => {
  const until = DateTime.addDuration(now, overlap)
  const parts = stored.split(" ").filter((part) => isValid(part, now)).map((part) =>
    part.includes(":") ? part : toFormer(part, until)
  )
  return parts.length < limits.webhook_secrets_max ? [secret, ...parts].join(" ") : null
}

/**
 * Encrypts a new secret together with those that still sign; null if there would be too many of them.
 *
 * If no key decrypts the stored secrets, only the new one signs.
 */
export const sealRotated = Effect.fnUntraced(function*(
  { open, seal }: Secrets["Service"],
  context: string,
  sealed_secret: string,
  secret: string
) {
  const stored = yield* open(context, sealed_secret)
  const now = yield* DateTime.now
  const text = Option.isNone(stored) ? secret : addSecret(stored.value, secret, now)
  return text === null ? null : yield* seal(context, text)
})
