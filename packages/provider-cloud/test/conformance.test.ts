import * as Provider from "@messaging-crm/conformance/MessagingProvider"
import { Effect, Layer } from "effect"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { over, Received, recorder } from "./Network.ts"

const names = ["order_ready", "appointment_reminder", "spring_sale", "invoice_ready", "win_back"]

const catalog = Layer.effectDiscard(FakeGraph.use((fake) =>
  fake.setTemplates(
    "acme",
    names.map((name, index) => ({
      id: `920070352646140${index}`,
      name,
      language: "en",
      category: "UTILITY",
      status: "APPROVED",
      parameter_format: "POSITIONAL",
      components: [{ type: "BODY", text: "Hello {{1}}", example: { body_text: [["Kim"]] } }]
    }))
  )
))

Provider.suite("cloud", Layer.provideMerge(catalog, over(recorder)), {
  dedup: "callback_ref",
  account: { id: "acme", template_ids: names.map((_, index) => `920070352646140${index}`) },
  recipients: {
    accepted: "+49151125678",
    ProviderBusy: "+49151120004",
    ProviderRejected: "+49151120002",
    ProviderOutcomeUnknown: "+49151120005"
  },
  accepted: (reference) =>
    Effect.map(
      FakeGraph.use(({ accepted }) => accepted),
      (all) => all.filter((message) => message.reference === reference).map(({ id }) => ({ provider_message_id: id }))
    ),
  reported: Effect.andThen(FakeGraph.use(({ post }) => post()), Received.use(({ clear }) => clear)),
  breakCatalog: FakeGraph.use(({ breakPage }) => breakPage(2))
})
