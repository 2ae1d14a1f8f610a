/** How journeys of webhooks start: functions that create webhooks, set the responses of their endpoints, and read the requests. */
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import type * as Events from "@messaging-crm/core/Events"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { type WebhookRequest, WebhookRequestFailed } from "@messaging-crm/core/WebhookTransport"
import { Effect, Redacted, Schema } from "effect"
import { ok, type Outcome, ScriptedEndpoints } from "../Endpoints.ts"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"

const Posted = Schema.fromJsonString(Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  timestamp: Schema.String,
  data: Schema.Record(Schema.String, Schema.NullOr(Schema.String))
}))
const decode = Schema.decodeEffect(Posted)

export const responded = (status: number, retry_after: string | null = null): Outcome =>
  Effect.succeed({ ...ok, status, retry_after })

export const refused: Outcome = Effect.fail(new WebhookRequestFailed({ failure_code: "connection_refused" }))

/** A scene without a webhook, and functions that create webhooks and raise events. */
export const makeWebhookScene = Effect.gen(function*() {
  const scene = yield* Scene.makeScene
  const endpoints = yield* ScriptedEndpoints
  const subscribeWith = Effect.fnUntraced(function*(fields: Pick<CreateWebhook, "event_types" | "include_resource">) {
    const input = CreateWebhook.make({ url: `https://${yield* Fixtures.uuid}.shop.example/crm`, ...fields })
    const { id, signing_secret, url } = yield* Webhooks.use((webhooks) => webhooks.create(input)).pipe(
      scene.as,
      Effect.orDie
    )
    return {
      id,
      url,
      secret: Redacted.make(signing_secret),
      respond: (how: (request: WebhookRequest) => Outcome) => endpoints.respond(url, how),
      posted: endpoints.posted(url),
      events: Effect.flatMap(endpoints.posted(url), (requests) => Effect.forEach(requests, ({ body }) => decode(body))),
      deliveries: WebhookDeliveries.use((deliveries) => deliveries.list(id)).pipe(scene.as, Effect.orDie),
      status: Webhooks.use((webhooks) => webhooks.list({ status: null })).pipe(
        Effect.map((webhooks) => webhooks.find((webhook) => webhook.id === id)?.status),
        scene.as
      )
    }
  })
  const close = Effect.fnUntraced(function*() {
    const { conversation_id } = yield* scene.start()
    yield* Conversations.use((conversations) => conversations.close(conversation_id, CloseConversation.make({}))).pipe(
      scene.as,
      Effect.orDie
    )
    return conversation_id
  })
  const subscribe = (...event_types: ReadonlyArray<Events.EventType>) => subscribeWith({ event_types })
  return { ...scene, close, subscribe, subscribeWith }
})

/** A scene with a webhook that receives the events of closed conversations. */
export const subscribed = Effect.gen(function*() {
  const scene = yield* makeWebhookScene
  return { ...scene, ...yield* scene.subscribe("conversation.closed") }
})
