/** Webhooks, and what they are told, as the specification tells it (spec §2.7, §6). */
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

/** Something happened that active webhooks subscribe to. */
export const raise = (organization: Organization, type: EventType, data: Event["data"]) => {
  for (const webhook of organization.webhooks) {
    if (webhook.disabled_at === null && webhook.event_types.includes(type)) webhook.untold.push({ type, data })
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
    event_types,
    created_at: at.now,
    disabled_at: null,
    told: [],
    untold: [],
    abandoned: []
  }
  organization.webhooks.push(webhook)
  return ok(showWebhook(webhook))
}

export const disableWebhook = (at: Moment, webhook: Webhook | undefined): Answer => {
  if (webhook === undefined) return refused("WebhookNotFound")
  webhook.disabled_at ??= at.now
  webhook.abandoned.push(...webhook.untold)
  webhook.untold = []
  return ok(showWebhook(webhook))
}

/** The worker tells what is untold. */
export const tell = (organization: Organization) => {
  for (const webhook of organization.webhooks) {
    webhook.told.push(...webhook.untold)
    webhook.untold = []
  }
}
