/** The reports about an accepted message: its statuses and a reply, later and in any order. */
import type { MessageStatusReported, ProviderEvent, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import type { Accepted, OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { DateTime, Duration, Effect, FiberSet, Random } from "effect"
import type { Behavior } from "./Behaviors.ts"
import { picture } from "./Picture.ts"

/** A message that the network has accepted. */
export interface AcceptedMessage extends Accepted {
  readonly message: OutboundMessage
  readonly accepted_at: DateTime.Utc
}

/** The maximum delay of a callback after its message was accepted. */
const callback_delay_max_millis = 200

/** The probability that a callback is repeated. */
const repeat_probability = 0.2

/** Returns the status reports of an accepted message. */
const statusesOf = (
  { message, provider_message_id, accepted_at }: AcceptedMessage,
  { reports }: Behavior
): ReadonlyArray<ProviderEvent> =>
  (["sent", ...reports] as const).map((status, index): MessageStatusReported => ({
    event: "message_status_reported",
    channel_id: message.channel.id,
    provider_message_id,
    reference: message.reference,
    status,
    at: DateTime.add(accepted_at, { milliseconds: index })
  }))

/** Returns the reply to an accepted message, if there is one. */
const replyTo = (
  { message, provider_message_id, accepted_at }: AcceptedMessage,
  { reply }: Behavior
): ReadonlyArray<ProviderMessageReceived> =>
  reply === null ? [] : [{
    event: "message_received",
    channel_id: message.channel.id,
    provider_message_id: `${provider_message_id}.reply`,
    from: { external_id: message.recipient, display_name: "Echo", username: null },
    type: reply,
    text: reply === "text" ? `echo: ${message.content.text}` : null,
    media: reply === "text"
      ? null
      : { kind: reply, mime_type: "image/png", filename: null, transcript: null, bytes: picture },
    sent_at: DateTime.add(accepted_at, { milliseconds: 10 })
  }]

/** Returns the callbacks about an accepted message. */
export const reportsOf = (accepted: AcceptedMessage, behavior: Behavior): ReadonlyArray<ProviderEvent> => [
  ...statusesOf(accepted, behavior),
  ...replyTo(accepted, behavior)
]

/** Emits each event after a random delay, so that they arrive in any order. Some are repeated. */
export const emitLater = Effect.fnUntraced(function*(
  events: ReadonlyArray<ProviderEvent>,
  emit: (event: ProviderEvent) => Effect.Effect<void>,
  delayed: FiberSet.FiberSet<void>
) {
  for (const event of events) {
    const times = (yield* Random.next) < repeat_probability ? 2 : 1
    for (let time = 0; time < times; time++) {
      const delay = Duration.millis(yield* Random.nextIntBetween(1, callback_delay_max_millis))
      yield* FiberSet.run(delayed, Effect.delay(emit(event), delay))
    }
  }
})
