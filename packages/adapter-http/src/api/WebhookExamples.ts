/** Examples of webhooks, their deliveries and their replays. They continue the story of `Examples.ts`. */
import type { WebhookDelivery } from "@messaging-crm/core/WebhookDeliveries"
import type { ReplayWebhook, WebhookReplay } from "@messaging-crm/core/WebhookReplays"
import type { CreatedWebhook, CreateWebhook, UpdateWebhook, Webhook } from "@messaging-crm/core/Webhooks"
import * as Examples from "./Examples.ts"

export const createWebhook: typeof CreateWebhook.Encoded = {
  url: "https://shop.example/webhooks/crm",
  event_types: ["message.received", "send.failed"]
}

export const updateWebhook: typeof UpdateWebhook.Encoded = { event_types: ["message.received", "send.failed"] }

export const webhook: typeof Webhook.Encoded = {
  id: Examples.ids.webhook_id,
  url: "https://shop.example/webhooks/crm",
  event_types: ["message.received", "send.failed"],
  include_resource: false,
  status: "active",
  created_at: "2026-11-20T09:00:00.000Z",
  disabled_at: null
}

export const createdWebhook: typeof CreatedWebhook.Encoded = {
  ...webhook,
  signing_secret: "whsec_c2VjcmV0IG9mIHRoZSBzaG9wLCBzaG93biBvbmNlISE="
}

export const disabledWebhook: typeof Webhook.Encoded = {
  ...webhook,
  status: "disabled",
  disabled_at: "2026-11-20T11:00:00.000Z"
}

export const delivery: typeof WebhookDelivery.Encoded = {
  id: Examples.ids.delivery_id,
  webhook_id: Examples.ids.webhook_id,
  event_id: Examples.ids.event_id,
  event_type: "message.received",
  status: "succeeded",
  attempt_count: 2,
  response_status: 200,
  response_body: "ok",
  failure_code: null,
  duration_ms: 84,
  last_attempt_at: "2026-11-20T10:00:05.000Z",
  next_attempt_at: null,
  created_at: "2026-11-20T10:00:00.000Z"
}

export const pendingDelivery: typeof WebhookDelivery.Encoded = {
  ...delivery,
  status: "pending",
  next_attempt_at: "2026-11-20T10:30:00.000Z"
}

export const testDelivery: typeof WebhookDelivery.Encoded = {
  ...pendingDelivery,
  event_type: "webhook.test",
  attempt_count: 0,
  response_status: null,
  response_body: null,
  failure_code: null,
  duration_ms: null,
  last_attempt_at: null,
  next_attempt_at: pendingDelivery.created_at
}

export const replayWebhook: typeof ReplayWebhook.Encoded = { since: "2026-11-20T09:00:00.000Z" }

export const webhookReplay: typeof WebhookReplay.Encoded = {
  id: "019aa0c2-5b00-7000-8000-000000000010",
  webhook_id: Examples.ids.webhook_id,
  since: "2026-11-20T09:00:00.000Z",
  created_at: "2026-11-20T11:00:00.000Z"
}
