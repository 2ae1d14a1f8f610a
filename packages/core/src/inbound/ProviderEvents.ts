/** The events that a provider reports. Every adapter of a provider makes them. */
import { Schema } from "effect"
import { MarketingPreference } from "../contacts/MarketingPreferences.ts"
import { FailureReason } from "../kernel/FailureReason.ts"
import { ChannelId, SendId } from "../kernel/Ids.ts"
import { Text, text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { ReceivedMedia } from "../messages/Media.ts"
import { MessageDetails } from "../messages/MessageDetails.ts"
import { MessageType, StatusUpdate } from "../messages/Messages.ts"

const ProviderId = text({ min: 1, max: 500 })

/**
 * A person's identity on the channel.
 *
 * On phone messaging `external_id` is the number, `+` and digits, if the network
 * provides it.
 */
export const ProviderPerson = Schema.Struct({
  external_id: ProviderId,
  /** Other IDs of the same person, if the network has several. */
  aliases: Schema.optionalKey(Schema.Array(ProviderId)),
  display_name: Schema.NullOr(Text),
  username: Schema.NullOr(Text)
})

const OfMessage = { channel_id: ChannelId, provider_message_id: ProviderId }

/** The status of an outbound message changed. */
export const MessageStatusReported = Schema.Struct({
  event: Schema.Literal("message_status_reported"),
  ...OfMessage,
  /** The send's reference, if the provider returns it. */
  reference: Schema.NullOr(SendId),
  /** Other IDs of the recipient, if the network reports them. */
  recipient_aliases: Schema.optionalKey(Schema.Array(ProviderId)),
  ...StatusUpdate.fields,
  /** Set if the network rejects the channel itself: its other sends then wait until an operator resumes it. */
  pauses_channel: Schema.optionalKey(FailureReason)
})
export interface MessageStatusReported extends Schema.Schema.Type<typeof MessageStatusReported> {}

const Content = {
  type: MessageType,
  /** The text of the message, or the caption of its media. */
  text: Schema.NullOr(Text),
  media: Schema.NullOr(ReceivedMedia),
  /** The content in addition to the text and the file. */
  details: Schema.optionalKey(Schema.NullOr(MessageDetails)),
  /** The provider's time. */
  sent_at: Timestamp
}

/** A person sent a message, or the network sent a notice about them. */
export const ProviderMessageReceived = Schema.Struct({
  event: Schema.Literal("message_received"),
  ...OfMessage,
  from: ProviderPerson,
  /** False if no person is known to have written it: a notice opens no reply window (contract §10.7). By default, the person did. */
  is_written_by_person: Schema.optionalKey(Schema.Boolean),
  ...Content
})
export interface ProviderMessageReceived extends Schema.Schema.Type<typeof ProviderMessageReceived> {}

/** The business sent a message: in the network's own app, or with another program. */
export const ProviderMessageSent = Schema.Struct({
  event: Schema.Literal("message_sent"),
  ...OfMessage,
  /** A text that may be the reference of a send. If that send can have the message, the event only proves it. */
  reference: Schema.optionalKey(Schema.NullOr(SendId)),
  to: ProviderPerson,
  ...Content
})
export interface ProviderMessageSent extends Schema.Schema.Type<typeof ProviderMessageSent> {}

/** A person received or read every message that was sent to them before a time. */
export const MessagesReported = Schema.Struct({
  event: Schema.Literal("messages_reported"),
  channel_id: ChannelId,
  external_id: ProviderId,
  status: Schema.Literals(["delivered", "read"]),
  /** The provider's time of the last of these messages. */
  until: Timestamp,
  at: Timestamp
})
export interface MessagesReported extends Schema.Schema.Type<typeof MessagesReported> {}

/** The author of a message changed its text or caption. */
export const MessageEdited = Schema.Struct({
  event: Schema.Literal("message_edited"),
  ...OfMessage,
  text: Schema.NullOr(Text),
  at: Timestamp
})
export interface MessageEdited extends Schema.Schema.Type<typeof MessageEdited> {}

/** The author of a message deleted it. */
export const MessageDeleted = Schema.Struct({
  event: Schema.Literal("message_deleted"),
  ...OfMessage,
  at: Timestamp
})
export interface MessageDeleted extends Schema.Schema.Type<typeof MessageDeleted> {}

/** Ids of a person changed, for example to a new number. */
export const IdentityChanged = Schema.Struct({
  event: Schema.Literal("identity_changed"),
  channel_id: ChannelId,
  former_external_id: ProviderId,
  /** Other IDs that the person no longer has. */
  former_aliases: Schema.optionalKey(Schema.Array(ProviderId)),
  now: ProviderPerson
})
export interface IdentityChanged extends Schema.Schema.Type<typeof IdentityChanged> {}

/** A person stopped or resumed the organization's marketing messages on the network. */
export const MarketingPreferenceReported = Schema.Struct({
  event: Schema.Literal("marketing_preference_reported"),
  channel_id: ChannelId,
  person: ProviderPerson,
  ...MarketingPreference.fields
})
export interface MarketingPreferenceReported extends Schema.Schema.Type<typeof MarketingPreferenceReported> {}

export const ProviderEvent = Schema.Union([
  MessageStatusReported,
  ProviderMessageReceived,
  ProviderMessageSent,
  MessagesReported,
  MessageEdited,
  MessageDeleted,
  IdentityChanged,
  MarketingPreferenceReported
])
export type ProviderEvent = typeof ProviderEvent.Type

type Unlocated<Event> = Event extends unknown ? Omit<Event, "channel_id"> : never

/** An event before its channel is found. */
export type UnlocatedEvent = Unlocated<ProviderEvent>
