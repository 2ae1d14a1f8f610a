/** Messages for a provider, and the outcomes of their deliveries. */
import type { Channel } from "@messaging-crm/core/Channels"
import { ChannelId, SendId } from "@messaging-crm/core/Ids"
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

const reference = (number: number) => SendId.make(`01990000-0000-7000-8000-${String(number).padStart(12, "0")}`)

export const delivery = (number: number, recipient: string): OutboundMessage => ({
  channel,
  reference: reference(number),
  recipient,
  content: { type: "text", text: "Grüß Gott 🙂" }
})

/** The outcome of a delivery as text, from the result of the port. */
export const outcome = (to: OutboundMessage) =>
  Effect.map(Effect.result(MessagingProvider.use(({ deliver }) => deliver(to))), (result) => {
    if (Result.isSuccess(result)) return "accepted"
    const { failure } = result
    if (failure._tag === "ProviderOutcomeUnknown") return "unknown"
    return failure._tag === "ProviderBusy"
      ? `busy: ${failure.reason}, ${failure.retry_after_seconds}`
      : `rejected: ${failure.reason}`
  })
