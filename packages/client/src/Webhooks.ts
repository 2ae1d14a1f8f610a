import type { WithResponse } from "./Attempt.ts"
import type {
  CreatedWebhook,
  CreateWebhook,
  UpdateWebhook,
  Webhook,
  WebhookDelivery,
  WebhookReplay
} from "./Contract.ts"
import type { WebhookEventType } from "./Events.ts"
import type { Pages } from "./Pages.ts"
import type { Query, RequestOptions, Transport } from "./Transport.ts"

/** The URL and the types of events of a new webhook, and whether events contain the resource. */
export interface NewWebhook extends CreateWebhook {
  readonly event_types: ReadonlyArray<WebhookEventType>
}

/** The new URL, types of events, or `include_resource` of a webhook. */
export interface WebhookChange extends UpdateWebhook {
  readonly event_types?: ReadonlyArray<WebhookEventType>
}

/** `/webhooks`: subscriptions, their secrets, tests, replays, and deliveries. */
export const webhooks = ({ list, one }: Transport) => ({
  /** Lists the 100 most recent webhooks, newest first, without their secrets. */
  list: (query: Query<"GET /webhooks"> = {}, options?: RequestOptions): Pages<Webhook> =>
    list("GET /webhooks", { query }, options),
  /** Subscribes an https endpoint to events. Store `signing_secret` for `verifyWebhook`: it is not shown again. */
  create: (webhook: NewWebhook, options?: RequestOptions): Promise<WithResponse<CreatedWebhook>> =>
    one("POST /webhooks", { body: webhook }, options),
  /** Returns a webhook, without its secret. */
  get: (webhook_id: string, options?: RequestOptions): Promise<WithResponse<Webhook>> =>
    one("GET /webhooks/{webhook_id}", { path: { webhook_id } }, options),
  /** Changes the URL, the types of events, or `include_resource`. Pending deliveries go to the new URL. */
  update: (webhook_id: string, change: WebhookChange, options?: RequestOptions): Promise<WithResponse<Webhook>> =>
    one("PATCH /webhooks/{webhook_id}", { path: { webhook_id }, body: change }, options),
  /** Replaces the signing secret: store the new one. For 24 hours requests are signed with both. */
  rotateSecret: (webhook_id: string, options?: RequestOptions): Promise<WithResponse<CreatedWebhook>> =>
    one("POST /webhooks/{webhook_id}/rotate_secret", { path: { webhook_id } }, options),
  /** Disables a webhook permanently. */
  disable: (webhook_id: string, options?: RequestOptions): Promise<WithResponse<Webhook>> =>
    one("DELETE /webhooks/{webhook_id}", { path: { webhook_id } }, options),
  /** Lists the 100 most recent deliveries of a webhook. */
  deliveries: (webhook_id: string, options?: RequestOptions): Pages<WebhookDelivery> =>
    list("GET /webhooks/{webhook_id}/deliveries", { path: { webhook_id } }, options),
  /** Posts one signed `webhook.test` event. The result is its delivery, which is pending. */
  test: (webhook_id: string, options?: RequestOptions): Promise<WithResponse<WebhookDelivery>> =>
    one("POST /webhooks/{webhook_id}/test", { path: { webhook_id } }, options),
  /** Reposts the stored events since a time, at most 30 days ago: oldest first, one at a time. */
  replay: (webhook_id: string, since: string, options?: RequestOptions): Promise<WithResponse<WebhookReplay>> =>
    one("POST /webhooks/{webhook_id}/replay", { path: { webhook_id }, body: { since } }, options),
  /** Schedules a delivery for now: the service posts its event again, or attempts a pending one before its time. */
  retry: (webhook_id: string, delivery_id: string, options?: RequestOptions): Promise<WithResponse<WebhookDelivery>> =>
    one("POST /webhooks/{webhook_id}/deliveries/{delivery_id}/retry", { path: { webhook_id, delivery_id } }, options)
})
