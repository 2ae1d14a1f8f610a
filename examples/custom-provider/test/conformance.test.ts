import * as Provider from "@messaging-crm/conformance/MessagingProvider"
import { Effect } from "effect"
import { layer, Network } from "../src/Network.ts"

Provider.suite("courier", layer, {
  dedup: "client_ref",
  account: { id: "acme", template_ids: ["greeting", "farewell", "draft"] },
  recipients: {
    accepted: "+4915112345600",
    ProviderRejected: "+4915112345601",
    ProviderBusy: "+4915112345602",
    ProviderOutcomeUnknown: "+4915112345603"
  },
  accepted: (reference) =>
    Network.use(({ accepted }) => accepted).pipe(
      Effect.map((all) =>
        all.filter(({ client_reference }) => client_reference === reference)
          .map(({ id }) => ({ provider_message_id: id }))
      )
    ),
  reported: Effect.succeed([]),
  breakCatalog: Network.use(({ breakCatalog }) => breakCatalog)
})
