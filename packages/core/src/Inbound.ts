/**
 * Inbound: what a provider tells us, whenever, in whatever order and however
 * often it does (spec §2.3).
 *
 * Each event is a unit of work of its own. It first holds the provider's
 * message, so that of several events about one message one is at work at a time.
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { type Channel, ChannelStore } from "./Channels.ts"
import { Contacts } from "./Contacts.ts"
import { Conversations } from "./Conversations.ts"
import { ChannelId, Ids, MessageId, type OrganizationId, SendId } from "./Ids.ts"
import { Media, ReceivedMedia } from "./Media.ts"
import { type Message, Messages, MessageStore, MessageType, report, StatusReport } from "./Messages.ts"
import { Sends } from "./Sends.ts"
import { Text, text } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"

// ---------------------------------------------------------------- data

const ProviderId = text({ min: 1, max: 500 })

/** An outbound message got further, or failed. */
export const MessageStatusReported = Schema.Struct({
  event: Schema.Literal("message_status_reported"),
  channel_id: ChannelId,
  provider_message_id: ProviderId,
  /** The reference of the delivery, where the provider echoes it. */
  reference: Schema.NullOr(SendId),
  ...StatusReport.fields
})
export interface MessageStatusReported extends Schema.Schema.Type<typeof MessageStatusReported> {}

/** A person wrote. */
export const MessageReceived = Schema.Struct({
  event: Schema.Literal("message_received"),
  channel_id: ChannelId,
  provider_message_id: ProviderId,
  from: Schema.Struct({
    /** The person's id on the channel; on phone messaging the number, `+` and digits. */
    external_id: ProviderId,
    display_name: Schema.NullOr(Text),
    username: Schema.NullOr(Text)
  }),
  type: MessageType,
  /** What was written, or the caption of the media. */
  text: Schema.NullOr(Text),
  media: Schema.NullOr(ReceivedMedia),
  /** The provider's time. */
  sent_at: Timestamp
})
export interface MessageReceived extends Schema.Schema.Type<typeof MessageReceived> {}

export const ProviderEvent = Schema.Union([MessageStatusReported, MessageReceived])
export type ProviderEvent = typeof ProviderEvent.Type

// -------------------------------------------------------------- errors

/** No organization has the channel that the event names. */
export class ChannelUnknown extends Schema.TaggedError<ChannelUnknown>()("ChannelUnknown", { channel_id: ChannelId }) {}

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
      const ids = yield* Ids
      const media = yield* Media
      const messages = yield* Messages
      const sends = yield* Sends
      const store = yield* MessageStore
      const unitOfWork = yield* UnitOfWork

      const statusReported = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        { at, channel_id, provider_message_id, reference, status }: MessageStatusReported
      ) {
        const found = yield* store.findByProviderId(organization_id, channel_id, provider_message_id)
        if (Option.isSome(found)) return yield* store.update(organization_id, report(found.value, { status, at }))
        // The report may be early, or all we ever hear of a send whose answer was lost.
        yield* store.park(organization_id, channel_id, provider_message_id, { status, at })
        if (reference !== null) yield* sends.complete(organization_id, reference, provider_message_id)
      })

      const messageReceived = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        channel: Channel,
        { from, media: file, provider_message_id, sent_at, text, type }: MessageReceived
      ) {
        const known = yield* store.findByProviderId(organization_id, channel.id, provider_message_id)
        if (Option.isSome(known)) return
        const phone = channel.type === "phone_messaging" ? from.external_id : null
        const who = yield* contacts.meet(organization_id, { ...from, channel_type: channel.type, phone })
        const conversation_id = yield* conversations.open(organization_id, channel, who)
        const message: Message = {
          id: MessageId.make(yield* ids.uuid),
          conversation_id,
          direction: "inbound",
          type,
          text,
          sender: { type: "contact", name: from.display_name },
          status: "received",
          media: file === null ? null : yield* media.keep(organization_id, file),
          provider_message_id,
          created_at: yield* DateTime.now,
          sent_at,
          delivered_at: null,
          read_at: null,
          failed_at: null,
          edited_at: null,
          deleted_at: null
        }
        yield* messages.record(organization_id, channel.id, message)
      })

      const receive = Effect.fn("Inbound.receive")(function*(event: ProviderEvent) {
        const located = yield* channels.locate(event.channel_id)
        if (Option.isNone(located)) return yield* new ChannelUnknown({ channel_id: event.channel_id })
        const { channel, organization_id } = located.value
        const take = event.event === "message_received"
          ? messageReceived(organization_id, channel, event)
          : statusReported(organization_id, event)
        yield* store.hold(channel.id, event.provider_message_id).pipe(
          Effect.andThen(take),
          unitOfWork.transact
        )
      })

      return Inbound.of({ receive })
    })
  )
}
