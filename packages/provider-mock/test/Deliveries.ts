/** Deliveries to a mock provider, their outcomes, and the kinds of events that it reports. */
import type { Channel } from "@messaging-crm/core/Channels"
import { ChannelId, SendId } from "@messaging-crm/core/Ids"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { MessagingProvider, type OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { DateTime, Effect, Result } from "effect"

export const channel: Channel = {
  id: ChannelId.make("01990000-0000-7000-8000-000000000001"),
  type: "phone_messaging",
  name: "Support",
  address: "+493012345678",
  phone_messaging_business_account_id: "acme",
  connected_at: DateTime.makeUnsafe(0)
}

let last_number = 0

/** Returns a message with a new reference. */
export const delivery = (recipient: string): OutboundMessage => ({
  channel,
  reference: SendId.make(`01990000-0000-7000-8000-${String(++last_number).padStart(12, "0")}`),
  recipient,
  content: { type: "text", text: "Grüß Gott 🙂" }
})

export const deliver = (to: OutboundMessage) => Effect.result(MessagingProvider.use((provider) => provider.deliver(to)))

/** Delivers a message, and returns the outcome as text. */
export const outcomeOf = (to: OutboundMessage) =>
  Effect.map(deliver(to), (result) => {
    if (Result.isSuccess(result)) return "accepted"
    const { failure } = result
    if (failure._tag === "ProviderOutcomeUnknown") return "unknown"
    return failure._tag === "ProviderBusy"
      ? `busy: ${failure.reason}, ${failure.retry_after_seconds}`
      : `rejected: ${failure.reason}`
  })

/** Returns the type of a received message, the status of a report, or else the name of the event. */
export const kindOf = (event: ProviderEvent): string => {
  if (event.event === "message_received") return event.type
  return event.event === "message_status_reported" ? event.status : event.event
}
