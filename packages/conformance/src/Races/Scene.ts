/** The organization in which operations race, with all the rows that they use. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { Conversations } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { Decide } from "@messaging-crm/core/Decide"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import type { EventType } from "@messaging-crm/core/Events"
import { Ids, type SendId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { ProviderOutcomeUnknown } from "@messaging-crm/core/MessagingProvider"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Secrets } from "@messaging-crm/core/Secrets"
import { SendMessage, Sends } from "@messaging-crm/core/Sends"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { WorkKind, WorkQueue, WorkSignal } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer } from "effect"
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

export const phone = "+4915112345678"
export const newPhone = "+4915112345679"

/** One organization with all the rows that the operations use. It claims the work of every organization. */
export const scene = Effect.gen(function*() {
  const { organization, owner } = yield* Organizations.use((all) =>
    all.create(CreateOrganization.make({ name: "Acme", owner_name: "Olga", owner_email: "olga@acme.example" }))
  )
  const as = Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
  return yield* as(Effect.gen(function*() {
    const ada = yield* Members.use((all) =>
      all.add(AddMember.make({ name: "Ada", email: "ada@acme.example", role: "admin" }))
    )
    const channel = yield* Channels.use((all) =>
      all.connect(ConnectChannel.make({
        type: "phone_messaging",
        name: "Support",
        address: "+4930123456",
        phone_messaging_business_account_id: "account"
      }))
    )
    const tags = yield* Effect.forEach(
      ["a", "b"],
      (name) => Tags.use((all) => all.create(CreateTag.make({ name, color: "red" })))
    )
    const webhook = yield* Webhooks.use((all) =>
      all.create(CreateWebhook.make({
        url: "https://example.com/hook",
        event_types: ["message.received", "message.sent", "message.updated", "send.failed", "conversation.closed"]
      }))
    )
    const now = yield* DateTime.now
    const receive = (event: ProviderEvent) => Inbound.use((inbound) => Effect.orDie(inbound.receive(event)))
    const received = (provider_message_id: string, from: string, text: string) =>
      receive({
        event: "message_received",
        channel_id: channel.id,
        provider_message_id,
        from: { external_id: from, display_name: "Kim", username: null },
        type: "text",
        text,
        media: null,
        sent_at: now
      })
    yield* received("m.1", phone, "hi")
    const [conversation] = (yield* Conversations.use((all) => all.list({ cursor: null, page_size: 10 }))).data
    if (conversation === undefined) {
      return yield* Effect.die(new Error("A message opens a conversation."))
    }
    const text = (value: string) =>
      Sends.use((all) => all.send(conversation.id, SendMessage.make({ type: "text", text: value })))
    const reported = (provider_message_id: string, status: "delivered" | "read" | "sent", reference: SendId | null) =>
      receive({
        event: "message_status_reported",
        channel_id: channel.id,
        provider_message_id,
        reference,
        status,
        at: now
      })
    // The answer to one of the sends is lost.
    yield* Provider.ScriptedProvider.use(({ answer }) =>
      answer(({ content, reference }) =>
        content.text === "lost"
          ? Effect.fail(new ProviderOutcomeUnknown())
          : Effect.succeed({ provider_message_id: `p.${reference}` })
      )
    )
    const lost = yield* text("lost")
    const claimedFirst = yield* claims()
    for (const item of claimedFirst.filter(({ ref }) => ref === lost.id)) {
      yield* Dispatch.use((dispatch) => dispatch.attempt(item))
    }
    const inDoubt = (yield* claims(1, ["send_outcome"])).find((
      { ref }
    ) => ref === lost.id)
    if (inDoubt === undefined) return yield* Effect.die(new Error("A lost answer is waited for."))
    const first = yield* text("one")
    yield* reported("p.1", "sent", first.id)
    const queued = yield* text("two")
    const claimed = claimedFirst.concat(yield* claims())
    const deliveries = yield* WebhookDeliveries.use((all) => all.list(webhook.id))
    // A claim returns items in any order.
    const deliveryOf = (type: EventType) =>
      claimed.find(({ ref }) => deliveries.some(({ id, event_type }) => id === ref && event_type === type))
    const done = deliveryOf("message.received")
    const open = deliveryOf("message.sent")
    if (done === undefined || open === undefined) return yield* Effect.die(new Error("Events have deliveries."))
    yield* WebhookDeliveries.use((all) => all.attempt({ claimed: done, outgoing: null }))
    for (const item of claimed.filter(({ kind, ref }) => kind === "send" && ref === first.id)) {
      yield* Dispatch.use((dispatch) => dispatch.attempt(item))
    }
    const sending = (yield* claims()).concat(claimed).find(({ ref }) => ref === queued.id)
    if (sending === undefined) return yield* Effect.die(new Error("A send is queued."))
    return {
      organization_id: organization.id,
      as,
      ada,
      channel,
      tags,
      webhook,
      conversation,
      first,
      inDoubt,
      lost,
      queued,
      done,
      open,
      sending,
      now,
      receive,
      received,
      reported,
      text
    }
  }))
})
export type Scene = Effect.Success<typeof scene>

/** Claims the work that is due so many hours from now. */
const claims = Effect.fnUntraced(function*(hours = 0, kinds: ReadonlyArray<WorkKind> = WorkKind.literals) {
  const queue = yield* WorkQueue
  const ids = yield* Ids
  const now = DateTime.add(yield* DateTime.now, { hours })
  const lease_until = DateTime.add(now, { days: 1 })
  const each = yield* Effect.forEach(
    kinds,
    (kind) => queue.claim({ kind, limit: 64, now, lease_until, token: ids.next() })
  )
  return each.flat()
})
