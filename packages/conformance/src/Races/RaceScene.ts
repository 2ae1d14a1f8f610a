/** The organization in which operations race, with all the rows that they use. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Changes from "@messaging-crm/core/Changes"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { Conversations } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { Decide } from "@messaging-crm/core/Decide"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import type { EventType } from "@messaging-crm/core/Events"
import {
  type ChannelId,
  type ConversationId,
  Ids,
  type OrganizationId,
  type SendId,
  type WebhookId
} from "@messaging-crm/core/Ids"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { ProviderOutcomeUnknown } from "@messaging-crm/core/MessagingProvider"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Secrets } from "@messaging-crm/core/Secrets"
import { type Send, SendMessage, Sends } from "@messaging-crm/core/Sends"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { DeliveryState, WebhookDeliveries, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookDispatch } from "@messaging-crm/core/WebhookDispatch"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { type ClaimedWork, WorkKind, WorkQueue, WorkSignal } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer } from "effect"
import * as Fixtures from "../Fixtures.ts"
import * as Provider from "../Provider.ts"

/** The services that an operation of a race may need. */
export type Requirements = Crm.Services | Crm.StoragePorts | Dispatch | Ids | Provider.ScriptedProvider

/** Layer for every operation over a storage, with endpoints that accept everything. */
export const layer = <E, R>(storage: Layer.Layer<Crm.StoragePorts, E, R>) =>
  Dispatch.layer.pipe(
    Layer.provide(Decide.layer),
    Layer.provide(Layer.mergeAll(Secrets.layer, StorageUse.layer)),
    Layer.provideMerge(Crm.layer),
    Layer.provideMerge(Layer.mergeAll(storage, Provider.layer("callback_ref"), Ids.layer, WorkSignal.layer))
  )

export const phone = "+5511987654321"
export const newPhone = "+5491123456789"
/** The other spellings of these numbers. */
export const respelled = { phone: "+551187654321", newPhone: "+541123456789" }

/** Returns a value that the scene must have, or dies with the failure. */
const required = <A>(value: A | undefined, failure: string): Effect.Effect<A> =>
  value === undefined ? Effect.die(new Error(failure)) : Effect.succeed(value)

/** Creates the resources that exist before the first message. */
const createResources = Effect.gen(function*() {
  const ada = yield* Members.use(({ add }) =>
    add(AddMember.make({ name: "Ada", email: "ada@acme.example", role: "admin" }))
  )
  const channel = yield* Channels.use(({ connect }) =>
    connect(ConnectChannel.make({
      type: "phone_messaging",
      name: "Support",
      address: "+4930123456",
      phone_messaging_business_account_id: "account"
    }))
  )
  const tags = yield* Effect.forEach(
    ["a", "b"],
    (name) => Tags.use(({ create }) => create(CreateTag.make({ name, color: "red" })))
  )
  const webhook = yield* Webhooks.use(({ create }) =>
    create(CreateWebhook.make({
      url: "https://example.com/hook",
      event_types: ["message.received", "message.sent", "message.updated", "send.failed", "conversation.closed"]
    }))
  )
  return { ada, channel, tags, webhook }
})

/** Returns the functions that report the provider's events on a channel. */
const reportsOn = (channel_id: ChannelId, now: DateTime.Utc) => {
  const receive = (event: ProviderEvent) => Inbound.use((inbound) => Effect.orDie(inbound.receive(event)))
  const receiveText = (provider_message_id: string, from: string, text: string) =>
    receive(Fixtures.messageReceived({
      channel_id,
      provider_message_id,
      from: { external_id: from, display_name: "Kim", username: null },
      text,
      sent_at: now
    }))
  const receiveStatus = (
    provider_message_id: string,
    status: "delivered" | "read" | "sent",
    reference: SendId | null
  ) => receive({ event: "message_status_reported", channel_id, provider_message_id, reference, status, at: now })
  return { receive, receiveText, receiveStatus }
}

/** Claims the work that is due so many hours from now. */
const claimDue = Effect.fnUntraced(function*(hours = 0, kinds: ReadonlyArray<WorkKind> = WorkKind.literals) {
  const queue = yield* WorkQueue
  const ids = yield* Ids
  yield* Fixtures.expandEvents
  const now = DateTime.add(yield* DateTime.now, { hours })
  const lease_until = DateTime.add(now, { days: 1 })
  const claimed = yield* Effect.forEach(
    kinds,
    (kind) => queue.claim({ kind, limit: 64, now, lease_until, token: ids.next() })
  )
  return claimed.flat()
})

/** Attempts a send with its claimed work. */
const attempt = (claimed: ReadonlyArray<ClaimedWork>, { id }: Send) =>
  Effect.forEach(
    claimed.filter(({ ref }) => ref === id),
    (work) => Dispatch.use(({ attempt }) => attempt(work)),
    { discard: true }
  )

/** Returns the function that sends a text to a conversation. */
const sendsTextTo = (id: ConversationId) => (value: string) =>
  Sends.use(({ send }) => send(id, SendMessage.make({ type: "text", text: value })))

/** Sends texts, and claims their work: one is sent, one is queued, and the response to one is lost. */
const prepareSends = Effect.fnUntraced(function*(
  { receiveStatus }: ReturnType<typeof reportsOn>,
  sendText: ReturnType<typeof sendsTextTo>
) {
  yield* Provider.ScriptedProvider.use(({ respond }) =>
    respond((message) =>
      message.content.text === "lost" ? Effect.fail(new ProviderOutcomeUnknown()) : Provider.accept(message)
    )
  )
  const lost = yield* sendText("lost")
  const claimed = yield* claimDue()
  yield* attempt(claimed, lost)
  const waiting = yield* claimDue(1, ["send_outcome"])
  const lostSend = yield* required(
    waiting.find(({ ref }) => ref === lost.id),
    "The lost send has no work that waits for a callback."
  )
  const sent = yield* sendText("one")
  yield* receiveStatus("p.1", "sent", sent.id)
  const queued = yield* sendText("two")
  return { sends: { lost, queued, sent }, claimed: claimed.concat(yield* claimDue()), lostSend }
})

/** Makes a delivery whose first attempt has failed, and that waits for the next. */
const prepareWaitingDelivery = Effect.fnUntraced(function*(organization_id: OrganizationId, webhook_id: WebhookId) {
  const delivery = yield* WebhookDeliveries.use(({ test }) => test(webhook_id))
  const claimed = yield* required(
    (yield* claimDue(0, ["webhook_delivery"])).find(({ ref }) => ref === delivery.id),
    "The test of the webhook was not claimed."
  )
  const at = yield* DateTime.now
  const due_at = DateTime.add(at, { hours: 1 })
  const attempt = { at, duration_ms: 1, failure_code: "timeout", response_body: null, response_status: null } as const
  yield* Fixtures.mustCommit(
    organization_id,
    WebhookDeliveryRows.update({ id: delivery.id, version: 1 }, DeliveryState.attempt(delivery, attempt, due_at)),
    Changes.settle({ claimed, outcome: "postpone", due_at })
  )
  return delivery
})

/** Returns the claims of two deliveries, of which one has been attempted. */
const prepareDeliveries = Effect.fnUntraced(function*(webhook_id: WebhookId, claimed: ReadonlyArray<ClaimedWork>) {
  const deliveries = yield* WebhookDeliveries.use(({ list }) => list(webhook_id))
  // A claim returns items in any order.
  const deliveryOf = (type: EventType) =>
    required(
      claimed.find(({ ref }) => deliveries.some(({ id, event_type }) => id === ref && event_type === type)),
      `No delivery of a ${type} event was claimed.`
    )
  const doneDelivery = yield* deliveryOf("message.received")
  const openDelivery = yield* deliveryOf("message.sent")
  yield* WebhookDispatch.use(({ attempt }) => attempt({ claimed: doneDelivery, outgoing: null }))
  return { doneDelivery, openDelivery }
})

/** One organization with all the rows that the operations use. It claims the work of every organization. */
export const makeScene = Effect.gen(function*() {
  const { organization, owner } = yield* Organizations.use(({ create }) =>
    create(
      CreateOrganization.make({ name: "Acme", owner_name: "Olga", owner_email: "olga@acme.example" })
    )
  )
  const as = Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
  return yield* as(Effect.gen(function*() {
    const resources = yield* createResources
    const now = yield* DateTime.now
    const reports = reportsOn(resources.channel.id, now)
    yield* reports.receiveText("m.1", phone, "hi")
    const { data } = yield* Conversations.use(({ list }) => list({ cursor: null, page_size: 10 }))
    const conversation = yield* required(data[0], "The received message opened no conversation.")
    const sendText = sendsTextTo(conversation.id)
    const { claimed, lostSend, sends } = yield* prepareSends(reports, sendText)
    const deliveries = yield* prepareDeliveries(resources.webhook.id, claimed)
    const waitingDelivery = yield* prepareWaitingDelivery(organization.id, resources.webhook.id)
    yield* attempt(claimed, sends.sent)
    const queuedSend = yield* required(
      (yield* claimDue()).concat(claimed).find(({ ref }) => ref === sends.queued.id),
      "The work of the queued send was not claimed."
    )
    return {
      organization_id: organization.id,
      as,
      now,
      ...resources,
      conversation,
      sendText,
      sends,
      waitingDelivery,
      claims: { ...deliveries, lostSend, queuedSend },
      reports
    }
  }))
})
export type RaceScene = Effect.Success<typeof makeScene>
