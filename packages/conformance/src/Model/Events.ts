/** The model of webhooks and deliveries (contract §13, §14). */
import type { EventType } from "@messaging-crm/core/Events"
import {
  type Answer,
  type Event,
  type Moment,
  ok,
  type Organization,
  refused,
  showWebhook,
  type Webhook
} from "./State.ts"

/** Raises an event, which is kept, with a delivery for each active webhook that subscribes to it. */
export const raise = (organization: Organization, type: EventType, data: Event["data"]) => {
  organization.events.push({ type, data })
  for (const webhook of organization.webhooks) {
    if (webhook.disabled_at === null && webhook.event_types.includes(type)) webhook.pending.push({ type, data })
  }
}

export const createWebhook = (
  at: Moment,
  organization: Organization,
  url: string,
  event_types: ReadonlyArray<EventType>
): Answer => {
  const webhook: Webhook = {
    id: at.name(),
    url,
    former_urls: [],
    event_types,
    created_at: at.now,
    disabled_at: null,
    posted: [],
    pending: [],
    abandoned: []
  }
  organization.webhooks.push(webhook)
  return ok(showWebhook(webhook))
}

export const updateWebhook = (
  webhook: Webhook | undefined,
  set: Partial<Pick<Webhook, "event_types" | "url">>
): Answer => {
  if (webhook === undefined) return refused("WebhookNotFound")
  const { event_types = webhook.event_types, url = webhook.url } = set
  const isSame = url === webhook.url && event_types.join() === webhook.event_types.join()
  if (webhook.disabled_at !== null && !isSame) return refused("WebhookDisabled")
  if (url !== webhook.url) webhook.former_urls.push(webhook.url)
  Object.assign(webhook, { event_types, url })
  return ok(showWebhook(webhook))
}

export const disableWebhook = (
  at: Moment,
  organization: Organization,
  webhook: Webhook | undefined
): Answer => {
  if (webhook === undefined) return refused("WebhookNotFound")
  if (webhook.disabled_at !== null) return ok(showWebhook(webhook))
  webhook.disabled_at = at.now
  raise(organization, "webhook.disabled", { webhook_id: webhook.id, reason: "request" })
  webhook.abandoned.push(...webhook.pending)
  webhook.pending = []
  return ok(showWebhook(webhook))
}

/** Attempts every pending delivery. */
export const post = (organization: Organization) => {
  for (const webhook of organization.webhooks) {
    webhook.posted.push(...webhook.pending)
    webhook.pending = []
  }
}
