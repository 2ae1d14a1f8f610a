/** What the journeys of sends share. */
import type { SendId } from "@messaging-crm/core/Ids"
import { ProviderBusy } from "@messaging-crm/core/MessagingProvider"
import { Effect } from "effect"
import { ScriptedProvider } from "../../Provider.ts"

export const attemptsOf = Effect.fnUntraced(function*(id: SendId) {
  const deliveries = yield* ScriptedProvider.use((provider) => provider.received)
  return deliveries.filter(({ reference }) => reference === id).length
})

/** The provider is unavailable for a moment. */
export const busy = new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })
