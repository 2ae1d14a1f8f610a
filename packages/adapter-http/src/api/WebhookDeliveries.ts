import { WebhookDeliveryId, WebhookId } from "@messaging-crm/core/Ids"
import { WebhookDelivery } from "@messaging-crm/core/WebhookDeliveries"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { List, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Examples from "./Examples.ts"
import { keyHeaderOf, Runs } from "./Pipeline.ts"

/** `/webhooks/{webhook_id}/deliveries`: list and retry (contract §14.11, §14.14). */
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
          description: "Returns the 100 most recent deliveries of the webhook, newest first. They are kept for 30 days."
        })
      )
      .annotate(Examples.Example, { answer: Examples.all(Examples.delivery) }),
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
            "Makes the delivery due now. The event is posted again with the same ID and body. A pending delivery does not change."
        })
      )
      .annotate(Examples.Example, {
        answer: Examples.one(Examples.pendingDelivery),
        conflict: {
          message: "The webhook is disabled, so its deliveries cannot be retried. Create a new webhook.",
          param: null
        }
      })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhook deliveries",
      description: "A delivery is one event for one webhook, with the outcome of its attempts."
    })
  )
{}
