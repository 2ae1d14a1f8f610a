/**
 * Provider messages: the messages that reach a conversation from the network, written by the contact or, in the
 * network's own app, by the business (contract §15.2).
 */
import { DateTime, Option } from "effect"
import type { Channel } from "../../catalog/Channels.ts"
import { findOrCreateByIdentity } from "../../contacts/ContactIdentities.ts"
import type { Matched } from "../../contacts/ContactMatches.ts"
import type { Person } from "../../contacts/Contacts.ts"
import { type ConversationId, MessageId } from "../../kernel/Ids.ts"
import { numberOf } from "../../kernel/Phones.ts"
import type { Timestamp } from "../../kernel/Timestamps.ts"
import * as Events from "../../webhooks/Events.ts"
import * as Changes from "../../work/Changes.ts"
import type { DecisionContext } from "../../work/Decide.ts"
import { type KnownThread, open as openConversation } from "../Conversations.ts"
import * as Media from "../Media.ts"
import { boundedDetails } from "../MessageDetails.ts"
import {
  applyUpdate,
  arrived,
  clamped,
  earlyUpdates,
  insert as insertMessage,
  type Message,
  type ProviderMessage,
  reportedText,
  subjectOf
} from "../Messages.ts"
import { messageEvents } from "../outbound/SendCompletion.ts"
import type {
  MessagesReported,
  ProviderMessageReceived,
  ProviderMessageSent,
  ProviderPerson
} from "./ProviderEvents.ts"

/** Returns the person behind a provider's IDs on a channel. */
export const personOf = (channel: Channel, { aliases = [], ...sender }: typeof ProviderPerson.Type): Person => ({
  ...sender,
  aliases,
  channel_type: channel.type,
  phone: channel.type === "phone_messaging"
    ? Option.getOrNull(Option.firstSomeOf([sender.external_id, ...aliases].map(numberOf)))
    : null
})

/** A message of the contact, or one of the business that this service did not send. */
export type NetworkMessage = ProviderMessageReceived | ProviderMessageSent

/** Returns the person in whose conversation a message is. */
export const partnerOf = (channel: Channel, event: Unread<NetworkMessage>): Person =>
  personOf(channel, event.event === "message_received" ? event.from : event.to)

type Unread<Event> = Event extends unknown ? Omit<Event, "media"> : never

/** The rows that `storeMessage` needs. */
interface Loaded {
  readonly found: Option.Option<ProviderMessage>
  readonly threads: ReadonlyArray<KnownThread>
  readonly contact: Matched
}

/** Returns the direction, sender, and status of a message, which depend on its author. */
const authoredBy = (event: Unread<NetworkMessage>): Pick<Message, "direction" | "sender" | "status"> =>
  event.event === "message_received"
    ? { direction: "inbound", sender: { type: "contact", name: event.from.display_name }, status: "received" }
    : { direction: "outbound", sender: { type: "business_app", name: null }, status: "sent" }

/** Returns when the contact sent the message; null for one of the business. */
const inboundAt = ({ event, sent_at }: Unread<NetworkMessage>, { now }: DecisionContext) =>
  event === "message_received" ? clamped(sent_at, now) : null

/** Returns the message of an event with the updates that arrived before it. */
const messageOf = (
  { found }: Loaded,
  event: Unread<NetworkMessage>,
  file: Media.MessageMedia | null,
  conversation_id: ConversationId,
  context: DecisionContext
): Message => {
  const first: Message = {
    id: MessageId.make(context.uuid()),
    conversation_id,
    ...authoredBy(event),
    type: event.type,
    text: reportedText(event.text),
    media: null,
    details: boundedDetails(event.details ?? null),
    provider_message_id: event.provider_message_id,
    created_at: context.now,
    sent_at: clamped(event.sent_at, context.now),
    delivered_at: null,
    read_at: null,
    failed_at: null,
    edited_at: null,
    deleted_at: null
  }
  const revised = earlyUpdates(found).reduce(applyUpdate, first)
  // The file of a message whose deletion arrived before it is not stored.
  return { ...revised, media: revised.deleted_at === null ? file : null }
}

/**
 * Inserts a message into the contact's conversation, and creates the conversation if needed.
 *
 * The contact's message reopens a closed conversation. A message that the business sent in the network's own app leaves it
 * closed, like a message that the API sends.
 */
export const storeMessage = (
  loaded: Loaded,
  channel: Channel,
  event: Unread<NetworkMessage>,
  file: Media.MessageMedia | null,
  context: DecisionContext
): Changes.Changes => {
  const { contact, found, threads } = loaded
  if (Option.isSome(arrived(found))) return Changes.none
  const identity = findOrCreateByIdentity(partnerOf(channel, event), threads, contact, context)
  const known = threads[0]?.conversation ?? null
  const conversation = event.event === "message_sent" && known !== null
    ? { result: known.id, changes: Changes.none }
    : openConversation(channel, identity.result, threads[0], context, inboundAt(event, context))
  const message = messageOf(loaded, event, file, conversation.result, context)
  const { contact_id } = identity.result
  // A concurrent close or erasure of a conversation that is not written makes this commit fail.
  const version = known !== null && Changes.isNone(conversation.changes) ? known.version : null
  const data = { conversation_id: message.conversation_id, message_id: message.id }
  return Changes.all(
    identity.changes,
    conversation.changes,
    message.media === null ? Changes.none : Media.publish(message.media),
    insertMessage(channel.id, contact_id, found, message, version),
    event.event === "message_received"
      ? Changes.raise(Events.make("message.received", data, context, subjectOf(contact_id, message)))
      : messageEvents(contact_id, message, context)
  )
}

/** The effect of a report about all messages before a time on one message. */
type Coverage = "advances" | "reached" | "unaffected"

/**
 * Returns whether a report about all messages before a time advances the status of a message, or the message already has
 * that status.
 */
export const coverageOf = (
  { delivered_at, direction, failed_at, provider_message_id, read_at, sent_at }: Message,
  { status, until }: Pick<MessagesReported, "status" | "until">
): Coverage => {
  if (direction === "inbound" || provider_message_id === null) return "unaffected"
  if (read_at !== null || (status === "delivered" && delivered_at !== null)) return "reached"
  return failed_at === null && isUntil(sent_at, until) ? "advances" : "unaffected"
}

const isUntil = (sent_at: Timestamp | null, until: Timestamp): boolean =>
  sent_at !== null && DateTime.isLessThanOrEqualTo(sent_at, until)
