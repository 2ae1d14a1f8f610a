import * as Provider from "@messaging-crm/conformance/MessagingProvider"
import { layer, MockProvider } from "@messaging-crm/provider-mock"
import { Effect, Queue } from "effect"
import { TestClock } from "effect/testing"

Provider.suite("mock", layer, {
  dedup: "callback_ref",
  account: {
    id: "acme",
    template_ids: ["order_ready", "appointment_reminder", "spring_sale", "invoice_ready", "win_back", "receipt"]
      .map((name) => `acme.${name}`)
  },
  recipients: {
    accepted: "+49151125678",
    ProviderBusy: "+49151120004",
    ProviderRejected: "+49151120002",
    ProviderOutcomeUnknown: "+49151120005"
  },
  accepted: (reference) => MockProvider.use((mock) => mock.acceptedOf({ reference })),
  reported: MockProvider.use(({ callbacks }) => Effect.andThen(TestClock.adjust("1 seconds"), Queue.clear(callbacks))),
  breakCatalog: MockProvider.use((mock) => mock.setDown(true))
})
