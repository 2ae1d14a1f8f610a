/**
 * Inbound: what a provider tells us, whenever, in whatever order and however
 * often it does (spec §2.3).
 *
 * Each event is a unit of work of its own. It first holds the provider's
 * message, so that of several events about one message one is at work at a time.
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { type Channel, ChannelStore } from "./Channels.ts"
import { Contacts, type Person } from "./Contacts.ts"
import { Conversations } from "./Conversations.ts"
import { Events } from "./Events.ts"
import { ChannelId, Ids, MessageId, type OrganizationId, SendId } from "./Ids.ts"
import { Media, ReceivedMedia } from "./Media.ts"
import {
  type Message,
  type MessageReport,
  Messages,
  MessageStore,
  MessageType,
  report,
  StatusReport
} from "./Messages.ts"
import { canonical } from "./Phones.ts"
import { Sends } from "./Sends.ts"
import { Text, text } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"
import { WorkSignal } from "./WorkQueue.ts"

// ---------------------------------------------------------------- data

const ProviderId = text({ min: 1, max: 500 })

/** Who somebody is on the channel; on phone messaging the id is the number, `+` and digits, where the network tells it. */
const Sender = Schema.Struct({
  external_id: ProviderId,
  /** Other ids of the same person, where the network has several. */
  aliases: Schema.optionalKey(Schema.Array(ProviderId)),
  display_name: Schema.NullOr(Text),
  username: Schema.NullOr(Text)
})

const OfMessage = { channel_id: ChannelId, provider_message_id: ProviderId }

/** An outbound message got further, or failed. */
export const MessageStatusReported = Schema.Struct({
  event: Schema.Literal("message_status_reported"),
  ...OfMessage,
  /** The reference of the delivery, where the provider echoes it. */
  reference: Schema.NullOr(SendId),
  ...StatusReport.fields
})
export interface MessageStatusReported extends Schema.Schema.Type<typeof MessageStatusReported> {}

/** A person wrote. */
export const MessageReceived = Schema.Struct({
  event: Schema.Literal("message_received"),
  ...OfMessage,
  from: Sender,
  type: MessageType,
  /** What was written, or the caption of the media. */
  text: Schema.NullOr(Text),
  media: Schema.NullOr(ReceivedMedia),
  /** The provider's time. */
  sent_at: Timestamp
})
export interface MessageReceived extends Schema.Schema.Type<typeof MessageReceived> {}

/** The author of a message changed its text, or caption. */
export const MessageEdited = Schema.Struct({
  event: Schema.Literal("message_edited"),
  ...OfMessage,
  text: Schema.NullOr(Text),
  at: Timestamp
})
export interface MessageEdited extends Schema.Schema.Type<typeof MessageEdited> {}

/** The author of a message took it back. */
export const MessageDeleted = Schema.Struct({
  event: Schema.Literal("message_deleted"),
  ...OfMessage,
  at: Timestamp
})
export interface MessageDeleted extends Schema.Schema.Type<typeof MessageDeleted> {}

/** A person has another id than before: a new number, for one. */
export const IdentityChanged = Schema.Struct({
  event: Schema.Literal("identity_changed"),
  channel_id: ChannelId,
  former_external_id: ProviderId,
  now: Sender
})
export interface IdentityChanged extends Schema.Schema.Type<typeof IdentityChanged> {}

export const ProviderEvent = Schema.Union([
  MessageStatusReported,
  MessageReceived,
  MessageEdited,
  MessageDeleted,
  IdentityChanged
])
export type ProviderEvent = typeof ProviderEvent.Type

// -------------------------------------------------------------- errors

/** No organization has the channel that the event names. */
export class ChannelUnknown extends Schema.TaggedError<ChannelUnknown>()("ChannelUnknown", { channel_id: ChannelId }) {}

// ---------------------------------------------------------- transitions

/** Returns the first of a person's ids that is a number, canonical. */
const numberOf = (ids: ReadonlyArray<string>): string | null => Option.getOrNull(Option.firstSomeOf(ids.map(canonical)))

/** Returns the person that a provider tells of on a channel. */
const personOf = (channel: Channel, { aliases = [], ...sender }: typeof Sender.Type): Person => ({
  ...sender,
  aliases,
  channel_type: channel.type,
  phone: channel.type === "phone_messaging" ? numberOf([sender.external_id, ...aliases]) : null
})

// ---------------------------------------------------------- operations

export class Inbound extends Context.Service<Inbound, {
  /** Takes one event in, durably. Taking it in again changes nothing. */
  readonly receive: (event: ProviderEvent) => Effect.Effect<void, ChannelUnknown>
}>()("@messaging-crm/core/Inbound") {
  static readonly layer = Layer.effect(
    Inbound,
    Effect.gen(function*() {
      const channels = yield* ChannelStore
      const contacts = yield* Contacts
      const conversations = yield* Conversations
      const events = yield* Events
      const ids = yield* Ids
      const media = yield* Media
      const messages = yield* Messages
      const sends = yield* Sends
      const signal = yield* WorkSignal
      const store = yield* MessageStore
      const unitOfWork = yield* UnitOfWork

      /** Changes the message that a report is about, and tells whom it concerns when that made a difference. */
      const revise = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        before: Message,
        reported: MessageReport
      ) {
        const after = report(before, reported)
        if (after === before) return
        yield* messages.revise(organization_id, before, after)
        const isNews = reported.status === "edited" || reported.status === "deleted"
          ? before.deleted_at === null
          : after.status !== before.status
        if (!isNews || reported.status === "sent") return
        const { conversation_id, id: message_id } = after
        const data = { conversation_id, message_id, status: reported.status }
        yield* events.raise(organization_id, { type: "message.updated", data })
      })

      /** A report may be early: then it is kept until its message comes. Answers whether there is one. */
      const reportOn = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        { channel_id, provider_message_id }: Pick<MessageDeleted, "channel_id" | "provider_message_id">,
        reported: MessageReport
      ) {
        const found = yield* store.findByProviderId(organization_id, channel_id, provider_message_id)
        if (Option.isSome(found)) yield* revise(organization_id, found.value, reported)
        else yield* store.park(organization_id, channel_id, provider_message_id, reported, yield* DateTime.now)
        return Option.isSome(found)
      })

      const statusReported = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        event: MessageStatusReported
      ) {
        const { at, provider_message_id, reference, status } = event
        if (yield* reportOn(organization_id, event, { status, at })) return
        // It may be all we ever hear of a send whose answer was lost.
        if (reference !== null) yield* sends.complete(organization_id, reference, { provider_message_id })
      })

      const messageReceived = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        channel: Channel,
        { from, media: file, provider_message_id, sent_at, text, type }: MessageReceived
      ) {
        const known = yield* store.findByProviderId(organization_id, channel.id, provider_message_id)
        if (Option.isSome(known)) return
        const who = yield* contacts.meet(organization_id, personOf(channel, from))
        const conversation_id = yield* conversations.open(organization_id, channel, who)
        const received: Message = {
          id: MessageId.make(yield* ids.uuid),
          conversation_id,
          direction: "inbound",
          type,
          text,
          sender: { type: "contact", name: from.display_name },
          status: "received",
          media: null,
          provider_message_id,
          created_at: yield* DateTime.now,
          sent_at,
          delivered_at: null,
          read_at: null,
          failed_at: null,
          edited_at: null,
          deleted_at: null
        }
        const parked = yield* store.takeParked(organization_id, channel.id, provider_message_id)
        const revised = parked.reduce(report, received)
        // The file of a message that was taken back before it came is not kept at all.
        const isFileless = file === null || revised.deleted_at !== null
        const message = { ...revised, media: isFileless ? null : yield* media.keep(organization_id, file) }
        yield* messages.record(organization_id, channel.id, message)
        const data = { conversation_id, message_id: message.id }
        yield* events.raise(organization_id, { type: "message.received", data })
      })

      const take = (organization_id: OrganizationId, channel: Channel, event: ProviderEvent) => {
        switch (event.event) {
          case "message_received":
            return messageReceived(organization_id, channel, event)
          case "message_status_reported":
            return statusReported(organization_id, event)
          case "message_edited":
            return reportOn(organization_id, event, { status: "edited", text: event.text, at: event.at })
          case "message_deleted":
            return reportOn(organization_id, event, { status: "deleted", at: event.at })
          case "identity_changed":
            return contacts.follow(organization_id, event.former_external_id, personOf(channel, event.now))
        }
      }

      const receive = Effect.fn("Inbound.receive")(function*(event: ProviderEvent) {
        const located = yield* channels.locate(event.channel_id)
        if (Option.isNone(located)) return yield* new ChannelUnknown({ channel_id: event.channel_id })
        const { channel, organization_id } = located.value
        const held = "provider_message_id" in event
          ? store.hold(channel.id, event.provider_message_id)
          : Effect.void
        yield* held.pipe(Effect.andThen(take(organization_id, channel, event)), unitOfWork.transact)
        yield* signal.notify
      })

      return Inbound.of({ receive })
    })
  )
}
