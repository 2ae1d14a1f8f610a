/** Signatures of webhooks by Standard Webhooks 1.0, which public libraries can verify. */
import { DateTime, Duration, Effect, Redacted, Schema } from "effect"
import { Digests } from "../kernel/Digests.ts"
import { RandomBytes } from "../kernel/RandomBytes.ts"
import { equalConstantTime } from "../kernel/Secrets.ts"
import { traced } from "../kernel/Traces.ts"

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
