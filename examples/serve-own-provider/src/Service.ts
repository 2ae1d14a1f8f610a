/** The complete service over your own provider: its API, workers, probes, and metrics. */
import { ChannelId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import type { Provider } from "@messaging-crm/server/Provider"
import { serve } from "@messaging-crm/server/Service"
import { Console, DateTime, Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"

/** A provider that prints each message. `examples/custom-provider` sends messages over HTTP instead. */
const outbound = Layer.succeed(MessagingProvider, {
  dedup: "client_ref",
  deliver: ({ content, recipient, reference }) =>
    Effect.as(Console.log(`to ${recipient}: ${content.text}`), { provider_message_id: reference }),
  templates: () => Effect.succeed([])
})

const Params = Schema.Struct({ channel_id: ChannelId })

/** A callback of this network: a message of a person. */
const Callback = Schema.Struct({ id: Schema.String, from: Schema.String, text: Schema.String })

const respond = (status: number, text: string) => () => Effect.succeed(HttpServerResponse.text(text, { status }))

/**
 * The route for the network's callbacks. The URL of each callback contains the ID of its channel. Your own must also verify a
 * signature. It responds with 200 only after the event is stored, so that the network repeats a callback that failed.
 */
const ingress = HttpRouter.use((router) =>
  Effect.flatMap(Inbound, ({ receive }) =>
    router.add(
      "POST",
      "/ingress/printer/:channel_id",
      Effect.gen(function*() {
        const { channel_id } = yield* HttpRouter.schemaPathParams(Params)
        const { from, id, text } = yield* HttpServerRequest.schemaBodyJson(Callback)
        yield* receive({
          event: "message_received",
          channel_id,
          provider_message_id: id,
          from: { external_id: from, display_name: null, username: null },
          type: "text",
          text,
          media: null,
          sent_at: yield* DateTime.now
        })
        return HttpServerResponse.text("ok")
      }).pipe(
        Effect.catchTags({
          ChannelUnknown: respond(404, "No channel has this ID."),
          FileUnavailable: respond(503, "Repeat this callback later."),
          HttpServerError: respond(400, "The body cannot be read."),
          SchemaError: respond(400, "The body is not a callback.")
        })
      )
    ))
)

const printer: Provider = { outbound, ingress, background: Layer.empty }

/** The service that `messaging-crm serve` runs. Settings come from the environment: DATABASE_URL, SECRET_KEY, PORT. */
export const service = serve(printer, { migrate: true })
