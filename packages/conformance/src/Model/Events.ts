/** The model of webhooks and deliveries (contract §13, §14). */
import type { EventType } from "@messaging-crm/core/Events"
import { limits } from "@messaging-crm/core/Limits"
import { DateTime } from "effect"
import {
  type Answer,
  type Contact,
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
  const webhooks = organization.webhooks.filter((webhook) =>
    webhook.disabled_at === null && webhook.event_types.includes(type)
  )
  const isAsked = webhooks.some(({ include_resource }) => include_resource)
  const has_resource = isAsked && /^(contact|conversation|message)\./.test(type)
  for (const webhook of webhooks) webhook.pending.push({ type, data, has_resource })
}

/** Removes the resources of events about a person. */
export const eraseResources = (organization: Organization, { id }: Contact) => {
  const threads = organization.conversations.filter(({ contact }) => contact.id === id).map((thread) => thread.id)
  for (const post of organization.webhooks.flatMap(({ pending }) => pending)) {
    const { contact_id, conversation_id } = post.data
    if (contact_id === id || threads.some((thread) => thread === conversation_id)) post.has_resource = false
  }
}

export const createWebhook = (
  at: Moment,
  organization: Organization,
  url: string,
  { event_types, include_resource }: Pick<Webhook, "event_types" | "include_resource">
): Answer => {
  const webhook: Webhook = {
    id: at.name(),
    url,
    former_urls: [],
    event_types,
    include_resource,
    created_at: at.now,
    disabled_at: null,
    rotations: [],
    posted: [],
    pending: [],
    abandoned: []
  }
  organization.webhooks.push(webhook)
  return ok(showWebhook(webhook))
}

export const updateWebhook = (
  webhook: Webhook | undefined,
  set: Partial<Pick<Webhook, "event_types" | "include_resource" | "url">>
): Answer => {
  if (webhook === undefined) return refused("WebhookNotFound")
  const { event_types = webhook.event_types, include_resource = webhook.include_resource, url = webhook.url } = set
  const isSame = url === webhook.url && event_types.join() === webhook.event_types.join() &&
    include_resource === webhook.include_resource
  if (webhook.disabled_at !== null && !isSame) return refused("WebhookDisabled")
  if (url !== webhook.url) webhook.former_urls.push(webhook.url)
  Object.assign(webhook, { event_types, include_resource, url })
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

/** Replaces the secret. A former one signs for a day, and five sign at most. */
export const rotateSecret = ({ now }: Moment, webhook: Webhook | undefined): Answer => {
  if (webhook === undefined) return refused("WebhookNotFound")
  if (webhook.disabled_at !== null) return refused("WebhookDisabled")
  const former = webhook.rotations.filter((at) => DateTime.isGreaterThan(DateTime.add(at, { hours: 24 }), now))
  if (former.length + 1 >= limits.webhook_secrets_max) return refused("TooManySecrets")
  webhook.rotations.push(now)
  return ok(showWebhook(webhook))
}

/** Raises an event for one webhook alone. */
export const testWebhook = (organization: Organization, webhook: Webhook | undefined): Answer => {
  if (webhook === undefined) return refused("WebhookNotFound")
  if (webhook.disabled_at !== null) return refused("WebhookDisabled")
  const event = { type: "webhook.test", data: { webhook_id: webhook.id } } as const
  organization.events.push(event)
  webhook.pending.push({ ...event, has_resource: false })
  return ok({ event_type: event.type, status: "pending" })
}

/** Attempts every pending delivery. */
export const post = (organization: Organization) => {
  for (const webhook of organization.webhooks) {
    webhook.posted.push(
      ...webhook.pending.map((each) => ({ ...each, has_resource: each.has_resource && webhook.include_resource }))
    )
    webhook.pending = []
  }
}
