/** What a mock provider in a process of its own and the service say to each other over HTTP. */
import { Channel } from "@messaging-crm/core/Channels"
import { Content } from "@messaging-crm/core/Content"
import { SendId } from "@messaging-crm/core/Ids"
import { ProviderEvent } from "@messaging-crm/core/Inbound"
import { FailureReason } from "@messaging-crm/core/MessagingProvider"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Template } from "@messaging-crm/core/Templates"
import { Timestamp } from "@messaging-crm/core/Timestamps"
import { Effect, Option, Schema } from "effect"
import { Behaviour, Target } from "../index.ts"

export const DeliverRequest = Schema.Struct({
  channel: Channel,
  reference: SendId,
  recipient: Schema.String,
  content: Content
})

/** The answer to a message: 200 taken, 422 refused for good, 429 and 503 not now. Any other tells nothing. */
export const Taken = Schema.Struct({ provider_message_id: Schema.String })
export const Rejected = Schema.Struct({ reason: FailureReason })
export const Busy = Schema.Struct({ reason: FailureReason, retry_after_seconds: Schema.NullOr(Schema.Number) })

export const TemplatesAnswer = Schema.Struct({ templates: Schema.Array(Template) })

/** Whose messages to count: those of a reference, or of a number, or all. */
export const TakenQuery = Schema.Struct({
  reference: Schema.optionalKey(SendId),
  recipient: Schema.optionalKey(Schema.String)
})

/** What the network took, for whoever counts. */
export const TakenMessages = Schema.Struct({
  taken: Schema.Array(Schema.Struct({
    provider_message_id: Schema.String,
    reference: SendId,
    recipient: Schema.String,
    text: Schema.String,
    taken_at: Timestamp
  }))
})

/** Sets what the network does. */
export const Script = Schema.Struct({ target: Target, behaviour: Behaviour })

/** Takes the network down, or up again. */
export const Down = Schema.Struct({ down: Schema.Boolean })

/** The body of a callback to `/ingress/mock`. */
export const Callback = Schema.Struct({ events: Schema.Array(ProviderEvent) })

/**
 * The header with the SHA-256 digest of a callback's exact bytes, a point, and the signature of that digest: so who may
 * call back is known before the first byte of the body is read.
 */
export const signatureHeader = "x-mock-signature"

/** What the signature is for, so that no other signature under the same key passes for it. */
const signaturePurpose = "mock-provider-callback"

/** Returns the header's value for a body. */
export const sign = Effect.fnUntraced(function*(body: string) {
  const secrets = yield* Secrets
  const digest = yield* secrets.sha256(body)
  return `${digest}.${yield* secrets.sign(signaturePurpose, digest)}`
})

/** Returns the digest that a header's value promises, or none where we did not sign it. */
export const promised = Effect.fnUntraced(function*(header: string) {
  const [digest = "", signature = "", ...rest] = header.split(".")
  const secrets = yield* Secrets
  const isOurs = rest.length === 0 && (yield* secrets.verify(signaturePurpose, digest, signature))
  return isOurs ? Option.some(digest) : Option.none<string>()
})
