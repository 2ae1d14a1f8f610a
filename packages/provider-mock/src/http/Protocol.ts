/** The HTTP messages between the service and a mock provider in another process. */
import { Channel } from "@messaging-crm/core/Channels"
import { SendId } from "@messaging-crm/core/Ids"
import { ProviderEvent } from "@messaging-crm/core/Inbound"
import { limits } from "@messaging-crm/core/Limits"
import { Content, FailureReason } from "@messaging-crm/core/MessagingProvider"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Template } from "@messaging-crm/core/Templates"
import { Timestamp } from "@messaging-crm/core/Timestamps"
import { Effect, Option, Schema } from "effect"
import { Behavior } from "../Behaviors.ts"
import { Target } from "../Scripts.ts"

/** The maximum size of a body: the largest file in base64, plus 1 MiB for the rest. */
export const body_bytes_max = Math.ceil(limits.media_bytes_max * 4 / 3) + 1_048_576

/** The text of a 413. */
export const body_too_large = `The body exceeds ${Math.floor(body_bytes_max / 1_000_000)} MB.`

export const DeliverRequest = Schema.Struct({
  channel: Channel,
  reference: SendId,
  recipient: Schema.String,
  content: Content
})

/** The body of a 200: the message is accepted. Any other 4xx than those below rejects the request before it sends anything; any other status leaves the outcome unknown. */
export const Accepted = Schema.Struct({ provider_message_id: Schema.String })
/** The body of a 422: the message is rejected. */
export const Rejected = Schema.Struct({ reason: FailureReason })
/** The body of a 429 or 503: nothing was sent, and a later attempt can succeed. */
export const Busy = Schema.Struct({ reason: FailureReason, retry_after_seconds: Schema.NullOr(Schema.Number) })

export const TemplatesResponse = Schema.Struct({ templates: Schema.Array(Template) })

/** Selects accepted messages: those of a reference, of a recipient, or all. */
export const AcceptedQuery = Schema.Struct({
  reference: Schema.optionalKey(SendId),
  recipient: Schema.optionalKey(Schema.String)
})

/** The accepted messages, for tests. */
export const AcceptedMessages = Schema.Struct({
  accepted: Schema.Array(Schema.Struct({
    provider_message_id: Schema.String,
    reference: SendId,
    recipient: Schema.String,
    text: Schema.String,
    accepted_at: Timestamp
  }))
})

/** Sets a behavior. */
export const Script = Schema.Struct({ target: Target, behavior: Behavior })

/** Takes the network down or up. */
export const Down = Schema.Struct({ down: Schema.Boolean })

/** Returns whether a file is so large that its callback would be. */
const isTooLarge = (event: ProviderEvent): boolean => {
  const bytes = "media" in event ? event.media?.bytes : null
  return bytes instanceof Uint8Array && bytes.byteLength > limits.media_bytes_max
}

/** An event to report. A file has at most the size that the service stores. */
export const Report = ProviderEvent.check(
  Schema.makeFilter((event) =>
    isTooLarge(event)
      ? { path: ["media", "bytes"], issue: `Expected at most ${limits.media_bytes_max} bytes` }
      : undefined
  )
)

/** The body of a callback to `/ingress/mock`. */
export const Callback = Schema.Struct({ events: Schema.Array(ProviderEvent) })

/**
 * The header with the SHA-256 digest of a callback's exact bytes, a period, and the signature of that digest, so that an unsigned
 * callback is rejected before its body is read.
 */
export const signature_header = "x-mock-signature"

/** The purpose of the signature, so that a signature made for another purpose with the same key is rejected. */
const signature_purpose = "mock-provider-callback"

/** Returns the header's value for a body. */
export const sign = Effect.fnUntraced(function*(body: string) {
  const secrets = yield* Secrets
  const digest = yield* secrets.sha256(body)
  return `${digest}.${yield* secrets.sign(signature_purpose, digest)}`
})

/** Returns the digest in a header's value, or none if the value was not signed with this service's key. */
export const signedDigest = Effect.fnUntraced(function*(header: string) {
  const [digest = "", signature = "", ...rest] = header.split(".")
  const secrets = yield* Secrets
  const isSigned = rest.length === 0 && (yield* secrets.verify(signature_purpose, digest, signature))
  return isSigned ? Option.some(digest) : Option.none<string>()
})
