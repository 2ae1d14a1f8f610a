/** The complete service over your own provider: its API, workers, probes, and metrics. */
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import type { Provider } from "@messaging-crm/server/Provider"
import { serve } from "@messaging-crm/server/Service"
import { Console, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

/** A provider that prints each message. `examples/custom-provider` sends messages over HTTP instead. */
const outbound = Layer.succeed(MessagingProvider, {
  dedup: "client_ref",
  deliver: ({ content, recipient, reference }) =>
    Effect.as(Console.log(`to ${recipient}: ${content.text}`), { provider_message_id: reference }),
  templates: () => Effect.succeed([])
})

/** The route for the network's callbacks. Your own must verify a signature and pass each event to `Inbound`. */
const ingress = HttpRouter.add("POST", "/ingress/printer", HttpServerResponse.text("ok"))

const printer: Provider = { outbound, ingress, background: Layer.empty }

/** The service that `messaging-crm serve` runs. Settings come from the environment: DATABASE_URL, SECRET_KEY, PORT. */
export const service = serve(printer, { migrate: true })
