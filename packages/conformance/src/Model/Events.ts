/** The model of webhooks and deliveries (contract §13, §14). */
import type { EventType } from "@messaging-crm/core/Events"
import { limits } from "@messaging-crm/core/Limits"
import { DateTime } from "effect"
import { ok, type Outcome, rejected, showWebhook } from "./Results.ts"
import type { Contact, Event, Organization, Post, Webhook } from "./State.ts"

/** Returns the active webhooks that subscribe to a type of event. */
const subscribersOf = (organization: Organization, type: Event["type"]) =>
  organization.webhooks.filter(({ disabled_at, event_types }) =>
    disabled_at === null && event_types.some((subscribed) => subscribed === type)
  )

/** Raises an event, which is kept. A worker adds its deliveries if an active webhook subscribes to it. */
export const raise = (organization: Organization, type: EventType, data: Event["data"]) => {
  const webhooks = subscribersOf(organization, type)
  const isAsked = webhooks.some(({ include_resource }) => include_resource)
  const has_resource = isAsked && /^(contact|conversation|message)\./.test(type)
  const event: Event = { type, data, created_at: organization.now, has_resource }
  organization.events.push(event)
  if (webhooks.length > 0) organization.unexpanded.push(event)
}

/** Removes the resources of events about a person. */
export const eraseResources = (organization: Organization, { id }: Contact) => {
  const threads = organization.conversations.filter(({ contact }) => contact.id === id).map((thread) => thread.id)
  for (const event of organization.events) {
    const { contact_id, conversation_id } = event.data
    if (contact_id === id || threads.some((thread) => thread === conversation_id)) event.has_resource = false
  }
}

export const createWebhook = (
  organization: Organization,
  url: string,
  { event_types, include_resource }: Pick<Webhook, "event_types" | "include_resource">
): Outcome => {
  const webhook: Webhook = {
    id: organization.newName(),
    url,
    former_urls: [],
    event_types,
    include_resource,
    created_at: organization.now,
    disabled_at: null,
    rotations: [],
    posted: [],
    pending: [],
    abandoned: [],
    replay: null,
    replayed: []
  }
  organization.webhooks.push(webhook)
  return ok(showWebhook(webhook))
}

export const updateWebhook = (
  webhook: Webhook | undefined,
  set: Partial<Pick<Webhook, "event_types" | "include_resource" | "url">>
): Outcome => {
  if (webhook === undefined) return rejected("WebhookNotFound")
  const { event_types = webhook.event_types, include_resource = webhook.include_resource, url = webhook.url } = set
  const isSame = url === webhook.url && event_types.join() === webhook.event_types.join() &&
    include_resource === webhook.include_resource
  if (webhook.disabled_at !== null && !isSame) return rejected("WebhookDisabled")
  if (url !== webhook.url) webhook.former_urls.push(webhook.url)
  Object.assign(webhook, { event_types, include_resource, url })
  return ok(showWebhook(webhook))
}

export const disableWebhook = (
  organization: Organization,
  webhook: Webhook | undefined
): Outcome => {
  if (webhook === undefined) return rejected("WebhookNotFound")
  if (webhook.disabled_at !== null) return ok(showWebhook(webhook))
  // The webhook still counts among those that the event is raised for.
  raise(organization, "webhook.disabled", { conversation_id: null, webhook_id: webhook.id, reason: "request" })
  webhook.disabled_at = organization.now
  webhook.abandoned.push(...webhook.pending)
  webhook.pending = []
  return ok(showWebhook(webhook))
}

/** Replaces the secret. A former one signs for a day, and five sign at most. */
export const rotateSecret = ({ now }: Organization, webhook: Webhook | undefined): Outcome => {
  if (webhook === undefined) return rejected("WebhookNotFound")
  if (webhook.disabled_at !== null) return rejected("WebhookDisabled")
  const former = webhook.rotations.filter((at) => DateTime.isGreaterThan(DateTime.add(at, { hours: 24 }), now))
  if (former.length + 1 >= limits.webhook_secrets_max) return rejected("TooManySecrets")
  webhook.rotations.push(now)
  return ok(showWebhook(webhook))
}

/** Raises an event for one webhook alone. */
export const testWebhook = (organization: Organization, webhook: Webhook | undefined): Outcome => {
  if (webhook === undefined) return rejected("WebhookNotFound")
  if (webhook.disabled_at !== null) return rejected("WebhookDisabled")
  const event: Event = {
    type: "webhook.test",
    data: { conversation_id: null, webhook_id: webhook.id },
    created_at: organization.now,
    has_resource: false
  }
  organization.events.push(event)
  webhook.pending.push(event)
  return ok({ event_type: event.type, status: "pending" })
}

/** Begins to post the events from `since` until now again. */
export const replayWebhook = (
  organization: Organization,
  webhook: Webhook | undefined,
  since: DateTime.Utc
): Outcome => {
  const oldest = DateTime.subtract(organization.now, { days: 30 })
  if (DateTime.isLessThan(since, oldest) || DateTime.isGreaterThan(since, organization.now)) {
    return rejected("SinceOutOfRange")
  }
  if (webhook === undefined) return rejected("WebhookNotFound")
  if (webhook.disabled_at !== null) return rejected("WebhookDisabled")
  if (webhook.replay !== null) return rejected("ReplayInProgress")
  webhook.replay = { since, until: organization.now }
  return ok({ id: organization.newName(), webhook_id: webhook.id, since, created_at: organization.now })
}

/** Adds the deliveries of events to the webhooks that subscribe to them by now, except those that were created after them. */
const expand = (organization: Organization) => {
  for (const event of organization.unexpanded) {
    for (const { created_at, pending } of subscribersOf(organization, event.type)) {
      if (DateTime.isLessThanOrEqualTo(created_at, event.created_at)) pending.push(event)
    }
  }
  organization.unexpanded = []
}

/** Adds the deliveries of events, attempts every pending delivery, and runs the replays. */
export const post = (organization: Organization) => {
  expand(organization)
  for (const webhook of organization.webhooks) {
    const { disabled_at, event_types, include_resource, pending, posted, replay, replayed } = webhook
    const postOf = ({ data, has_resource, type }: Event): Post => ({
      data,
      has_resource: has_resource && include_resource,
      type
    })
    posted.push(...pending.map(postOf))
    webhook.pending = []
    webhook.replay = null
    if (replay === null || disabled_at !== null) continue
    const { since, until } = replay
    const again = organization.events.filter(({ created_at, type }) =>
      event_types.some((subscribed) => subscribed === type) &&
      DateTime.isGreaterThanOrEqualTo(created_at, since) && DateTime.isLessThan(created_at, until)
    )
    replayed.push(...again.map(postOf))
  }
}
