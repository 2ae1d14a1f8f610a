/**
 * The secrets that sign for a webhook, and their signatures by Standard Webhooks 1.0, which public libraries can verify.
 *
 * The newest secret signs, and former ones for a day after a rotation (contract §14.16). They are stored as one encrypted text,
 * so that all are replaced and encrypted anew together.
 */
import { DateTime, Duration, Effect, Option, Redacted, Schema } from "effect"
import { Digests } from "../kernel/Digests.ts"
import type { OrganizationId, WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { RandomBytes } from "../kernel/RandomBytes.ts"
import { equalConstantTime, type Secrets } from "../kernel/Secrets.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"

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

/** The signed parts of an attempt. */
export interface Signed {
  /** The event's ID, the same on every attempt. It must not contain a period, which is the separator of the signed text. */
  readonly id: string
  /** The time of the attempt. An endpoint rejects a signature older than five minutes. */
  readonly timestamp: DateTime.Utc
  readonly body: string
}

const prefix = "whsec_"
const encodeBase64 = Schema.encodeSync(Schema.Uint8ArrayFromBase64)
const decodeBase64 = Schema.decodeEffect(Schema.Uint8ArrayFromBase64)

/** Makes a new signing secret: `whsec_` and 32 random bytes in base64. */
export const newSecret: Effect.Effect<Redacted.Redacted> = Effect.map(
  RandomBytes,
  (random) => Redacted.make(prefix + encodeBase64(random(new Uint8Array(32))))
)

const seconds = (timestamp: DateTime.Utc): string => String(Math.floor(DateTime.toEpochMillis(timestamp) / 1000))

/** Returns the signature of an attempt: `v1,` and an HMAC-SHA256 of ID, time and body in base64. */
export const sign = traced("WebhookSignature.sign")(function*(
  secret: Redacted.Redacted,
  { body, id, timestamp }: Signed
) {
  // Only this service makes secrets, so one that is not base64 is a broken row and not an error of the caller.
  const bytes = yield* Effect.orDie(decodeBase64(Redacted.value(secret).slice(prefix.length)))
  const { hmac } = yield* Digests
  const signing = yield* hmac(bytes)
  return `v1,${encodeBase64(yield* signing(`${id}.${seconds(timestamp)}.${body}`))}`
})

/** Returns all headers of an attempt, with a signature of each secret. */
export const headersOf = (
  secrets: ReadonlyArray<Redacted.Redacted>,
  signed: Signed
): Effect.Effect<Readonly<Record<string, string>>> =>
  Effect.map(Effect.forEach(secrets, (secret) => sign(secret, signed)), (signatures) => ({
    "content-type": "application/json",
    "user-agent": "messaging-crm-webhooks/1",
    "webhook-id": signed.id,
    "webhook-timestamp": seconds(signed.timestamp),
    "webhook-signature": signatures.join(" ")
  }))

const tolerance = Duration.minutes(5)

/**
 * Returns whether a request was signed with the secret less than five minutes
 * ago. For receivers of webhooks that use Effect.
 *
 * The header names must be in lower case, and the body must be the unchanged text.
 */
export const verify = traced("WebhookSignature.verify")(function*(
  secret: Redacted.Redacted,
  headers: Readonly<Record<string, string | undefined>>,
  body: string
) {
  const { "webhook-id": id = "", "webhook-signature": signatures = "", "webhook-timestamp": time = "" } = headers
  if (!/^[0-9]{1,12}$/.test(time)) return false
  const timestamp = DateTime.makeUnsafe(Number(time) * 1000)
  const age = Duration.abs(DateTime.distance(timestamp, yield* DateTime.now))
  if (Duration.isGreaterThan(age, tolerance)) return false
  const expected = yield* sign(secret, { id, timestamp, body })
  return signatures.split(" ").some((signature) => equalConstantTime(signature, expected))
})
