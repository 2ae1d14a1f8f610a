import { WebhookDeliveryId, WebhookId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { WebhookDelivery } from "@messaging-crm/core/WebhookDeliveries"
import { ReplayWebhook, WebhookReplay } from "@messaging-crm/core/WebhookReplays"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { List, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Texts from "./ErrorTexts.ts"
import * as Examples from "./Examples.ts"
import { keyHeaderOf, Runs } from "./Pipeline.ts"
import * as WebhookExamples from "./WebhookExamples.ts"

/** `/webhooks/{webhook_id}/deliveries`: list, retry, test and replay (contract §14.11, §14.14, §14.17, §14.18). */
export class WebhookDeliveriesGroup extends HttpApiGroup.make("webhook_deliveries")
  .add(
    HttpApiEndpoint.get("list", "/webhooks/:webhook_id/deliveries", {
      params: { webhook_id: WebhookId },
      success: List(WebhookDelivery),
      error: Errors.NotFound
    })
      .annotate(Runs, "webhook_deliveries.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listWebhookDeliveries",
          summary: "List deliveries",
          description:
            `Returns the ${limits.webhook_list_size} most recent deliveries of the webhook, newest first. They are kept for 30 days.`
        })
      )
      .annotate(Examples.Example, { response: Examples.all(WebhookExamples.delivery) }),
    HttpApiEndpoint.post("retry", "/webhooks/:webhook_id/deliveries/:delivery_id/retry", {
      headers: keyHeaderOf("webhook_deliveries.retry"),
      params: { webhook_id: WebhookId, delivery_id: WebhookDeliveryId },
      success: Single(WebhookDelivery).pipe(HttpApiSchema.status(202)),
      error: [Errors.NotFound, Errors.Conflict]
    })
      .annotate(Runs, "webhook_deliveries.retry")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "retryWebhookDelivery",
          summary: "Retry a delivery",
          description:
            "Schedules the delivery for now, also if it is pending and its next attempt is later. The event is posted with the same ID and body. A delivery that is due already or is being attempted does not change."
        })
      )
      .annotate(Examples.Example, {
        response: Examples.one(WebhookExamples.pendingDelivery),
        conflict: Texts.deliveryNotRetried
      }),
    HttpApiEndpoint.post("test", "/webhooks/:webhook_id/test", {
      headers: keyHeaderOf("webhooks.test"),
      params: { webhook_id: WebhookId },
      success: Single(WebhookDelivery).pipe(HttpApiSchema.status(202)),
      error: [Errors.NotFound, Errors.Conflict]
    })
      .annotate(Runs, "webhooks.test")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "testWebhook",
          summary: "Test a webhook",
          description:
            "Posts one signed `webhook.test` event to the webhook, whatever it subscribes to. The response is its delivery; find the outcome in the list of deliveries."
        })
      )
      .annotate(Examples.Example, {
        response: Examples.one(WebhookExamples.testDelivery),
        conflict: Texts.nothingPosted
      }),
    HttpApiEndpoint.post("replay", "/webhooks/:webhook_id/replay", {
      headers: keyHeaderOf("webhooks.replay"),
      params: { webhook_id: WebhookId },
      payload: ReplayWebhook,
      success: Single(WebhookReplay).pipe(HttpApiSchema.status(202)),
      error: [Errors.NotFound, Errors.Conflict]
    })
      .annotate(Runs, "webhooks.replay")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "replayWebhook",
          summary: "Replay events",
          description:
            "Reposts the stored events that the webhook subscribes to, starting at `since`: oldest first, one at a time, with the same IDs and bodies. Live events are not delayed. A failed attempt is repeated before the next event."
        })
      )
      .annotate(Examples.Example, {
        requests: { since: WebhookExamples.replayWebhook },
        response: Examples.one(WebhookExamples.webhookReplay),
        conflict: Texts.replayInProgress
      })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhook deliveries",
      description: "A delivery is one event for one webhook, with the outcome of its attempts."
    })
  )
{}
