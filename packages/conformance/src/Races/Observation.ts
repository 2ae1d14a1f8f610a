/** What callers can see of the scene after a race. */
import { ApiKeys } from "@messaging-crm/core/ApiKeys"
import { ChannelAccountRows } from "@messaging-crm/core/ChannelAccounts"
import { Contacts } from "@messaging-crm/core/Contacts"
import { type Conversation, Conversations } from "@messaging-crm/core/Conversations"
import { Events } from "@messaging-crm/core/Events"
import { Members } from "@messaging-crm/core/Members"
import { Messages } from "@messaging-crm/core/Messages"
import { Rows } from "@messaging-crm/core/Rows"
import { everySend, Sends, SendStore } from "@messaging-crm/core/Sends"
import { Tags } from "@messaging-crm/core/Tags"
import { WebhookDeliveries, type WebhookDelivery } from "@messaging-crm/core/WebhookDeliveries"
import { Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { contactResult, conversationResult } from "./Operations.ts"
import type { RaceScene } from "./RaceScene.ts"

/** Returns an external ID. That of an erased identity contains the identity's ID. */
const shownId = (external_id: string | null) => external_id?.startsWith("erased-") === true ? "erased" : external_id

const byText = (values: ReadonlyArray<unknown>) => values.map((value) => JSON.stringify(value)).toSorted()

/** Returns what callers can see of a conversation and its messages. */
const threadOf = (conversation: Conversation) =>
  Effect.map(Messages.use(({ list }) => list(conversation.id, null)), ({ data }) => ({
    ...conversationResult(conversation),
    with: shownId(conversation.contact.external_id),
    preview: conversation.last_activity_preview,
    messages: byText(data.map(({ deleted_at, direction, edited_at, status, text }) => ({
      direction,
      status,
      text,
      edited: edited_at !== null,
      deleted: deleted_at !== null
    })))
  }))

/** Returns a delivery. A pending one of a webhook that was disabled meanwhile ends when a worker claims it. */
const shownDelivery = (
  { attempt_count, event_type, failure_code, status }: WebhookDelivery,
  isWebhookActive: boolean
) =>
  status === "pending" && !isWebhookActive
    ? { event_type, status: "failed", failure_code: "webhook_disabled", attempt_count }
    : { event_type, status, failure_code, attempt_count }

/** Returns everything that callers can see of the scene, without IDs and times. */
export const observe = Effect.fnUntraced(function*(scene: RaceScene, results: ReadonlyArray<unknown>) {
  yield* Fixtures.expandEvents
  const { channel, organization_id, webhook } = scene
  const every = { cursor: null, page_size: 100 }
  const contacts = yield* Contacts.use(({ list }) => list(every))
  const conversations = yield* Conversations.use(({ list }) => list(every))
  const threads = yield* Effect.forEach(conversations.data, threadOf)
  const webhooks = yield* Webhooks.use(({ list }) => list({ status: null }))
  const isActive = webhooks.some(({ id, status }) => id === webhook.id && status === "active")
  const deliveries = yield* WebhookDeliveries.use(({ list }) => list(webhook.id))
  const events = yield* Events.use(({ list }) => list({ type: null, since: null, ...every }))
  const account = yield* Rows.use((rows) => rows.find(ChannelAccountRows, organization_id, channel.id))
  const listedSends = yield* Sends.use(({ list }) => list({ ...everySend, ...every }))
  const sends = yield* Effect.forEach(
    [scene.sends.queued, scene.sends.lost],
    ({ id }) =>
      SendStore.use((store) => Effect.orDie(Effect.flatMap(store.find(organization_id, id), Effect.fromOption)))
  )
  return {
    results: results.map((result) => JSON.stringify(result, (key, value) => key === "send_id" ? "*" : value)),
    contacts: byText(contacts.data.map((contact) => ({
      ...contactResult(contact),
      phone: contact.primary_phone,
      preview: contact.last_activity_preview,
      identities: contact.identities.map(({ display_name, external_id, marketing_opt_out_at }) => [
        shownId(external_id),
        display_name,
        marketing_opt_out_at !== null
      ])
    }))),
    threads: byText(threads),
    account: Option.getOrNull(Option.map(account, ({ account_id }) => account_id.slice(channel.id.length))),
    tags: (yield* Tags.use(({ list }) => list)).map(({ name }) => name),
    members: byText((yield* Members.use(({ list }) => list)).map(({ name, role }) => ({ name, role }))),
    keys: (yield* ApiKeys.use(({ list }) => list)).map(({ revoked_at }) => revoked_at === null ? "valid" : "revoked"),
    webhooks: byText(webhooks.map(({ event_types, status, url }) => ({ event_types, status, url }))),
    events: byText(events.data.map(({ type }) => type)),
    deliveries: byText(deliveries.map((delivery) => shownDelivery(delivery, isActive))),
    all_sends: byText(listedSends.data.map(({ failure_reason, status }) => [status, failure_reason])),
    sends: sends.map(({ failure_reason, message_id, status }) => [status, failure_reason, message_id !== null])
  }
}, (effect, { as }) => as(effect))
