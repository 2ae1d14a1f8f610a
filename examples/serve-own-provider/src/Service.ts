/** The whole service over a provider of your own: its API, its workers, its probes and its metrics. */
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import type { Provider } from "@messaging-crm/server/Provider"
import { serve } from "@messaging-crm/server/Service"
import { Console, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

/** Prints what it should hand over. A real one speaks to a network: see `examples/custom-provider`. */
const outbound = Layer.succeed(MessagingProvider, {
  dedup: "client_ref",
  deliver: ({ content, recipient, reference }) =>
    Effect.as(Console.log(`to ${recipient}: ${content.text}`), { provider_message_id: reference }),
  templates: () => Effect.succeed([])
})

/** Where the network calls back. A real one verifies a signature, and tells `Inbound` of each event. */
const ingress = HttpRouter.add("POST", "/ingress/printer", HttpServerResponse.text("ok"))

const printer: Provider = { outbound, ingress, background: Layer.empty }

/** The service that `messaging-crm serve` runs. Settings come from the environment: DATABASE_URL, SECRET_KEY, PORT. */
export const service = serve(printer, { migrate: true })
