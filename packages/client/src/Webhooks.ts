import type { Answered } from "./Attempt.ts"
import type { CreatedWebhook, CreateWebhook, Webhook, WebhookDelivery } from "./Contract.ts"
import type { WebhookEvent } from "./Events.ts"
import type { Pages } from "./Pages.ts"
import type { RequestOptions, Transport } from "./Transport.ts"

/** Where events are to be posted, and which. */
export interface NewWebhook extends CreateWebhook {
  readonly event_types: ReadonlyArray<WebhookEvent["type"]>
}

/** `/webhooks`: list, create and disable; their deliveries: list and retry. */
export const webhooks = ({ list, one }: Transport) => ({
  /** Lists the 100 most recent webhooks, without their secrets. */
  list: (options?: RequestOptions): Pages<Webhook> => list("GET /webhooks", {}, options),
  /** Subscribes an https endpoint to events. Keep `signing_secret`, which `verifyWebhook` needs: it is not shown again. */
  create: (webhook: NewWebhook, options?: RequestOptions): Promise<Answered<CreatedWebhook>> =>
    one("POST /webhooks", { body: webhook }, options),
  /** Disables a webhook for good. */
  disable: (webhook_id: string, options?: RequestOptions): Promise<Answered<Webhook>> =>
    one("DELETE /webhooks/{webhook_id}", { path: { webhook_id } }, options),
  /** Lists the 100 most recent deliveries of a webhook. */
  deliveries: (webhook_id: string, options?: RequestOptions): Pages<WebhookDelivery> =>
    list("GET /webhooks/{webhook_id}/deliveries", { path: { webhook_id } }, options),
  /** Delivers an event again, now. */
  retry: (webhook_id: string, delivery_id: string, options?: RequestOptions): Promise<Answered<WebhookDelivery>> =>
    one("POST /webhooks/{webhook_id}/deliveries/{delivery_id}/retry", { path: { webhook_id, delivery_id } }, options)
})
