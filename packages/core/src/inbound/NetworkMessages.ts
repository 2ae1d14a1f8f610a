/**
 * Network messages: the messages that reach a conversation from the network, written by the contact or, in the
 * network's own app, by the business (contract §15.2).
 */
import { DateTime, Effect, Option } from "effect"
import { type Channel, networkOf } from "../catalog/Channels.ts"
import { findOrCreateByIdentity, isNewToContact, networkIdsOf } from "../contacts/ContactIdentities.ts"
import { makeFindMatch, type Matched, unmatched } from "../contacts/ContactMatches.ts"
import { ContactStore, type Person } from "../contacts/Contacts.ts"
import {
  ConversationStore,
  type IdentityWithConversation,
  open as openConversation
} from "../conversations/Conversations.ts"
import * as Events from "../events/Events.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import type { ConversationId, OrganizationId } from "../kernel/Ids.ts"
import { numberOf } from "../kernel/Phones.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { type MessageMedia, publish } from "../messages/Media.ts"
import { boundedDetails } from "../messages/MessageDetails.ts"
import {
  applyUpdate,
  arrived,
  clamped,
  earlyUpdates,
  insert as insertMessage,
  type LookedUpMessage,
  makeLookUpMessage,
  type Message,
  newMessage,
  reportedText,
  resourceOf
} from "../messages/Messages.ts"
import { messageEvents } from "../sends/SendCompletion.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import type { ProviderMessageReceived, ProviderMessageSent, ProviderPerson } from "./ProviderEvents.ts"

// ---------------------------------------------------------------- data

/** A message of the contact, or one of the business that this service did not send. */
export type NetworkMessage = ProviderMessageReceived | ProviderMessageSent

/** A network message without its file, whose bytes are stored before the message. */
type DescribedMessage = Omit<ProviderMessageReceived, "media"> | Omit<ProviderMessageSent, "media">

/** The rows that `storeMessage` needs. */
interface Loaded {
  readonly lookedUp: LookedUpMessage
  readonly identities: ReadonlyArray<IdentityWithConversation>
  readonly contact: Matched
}

// ----------------------------------------------------------- decisions

/** Returns the person behind a provider's IDs on a channel. */
export const personOf = (channel: Channel, { aliases = [], ...sender }: typeof ProviderPerson.Type): Person => ({
  ...sender,
  aliases,
  channel_type: channel.type,
  phone: networkOf(channel.type).has_phones
    ? Option.getOrNull(Option.firstSomeOf([sender.external_id, ...aliases].map(numberOf)))
    : null
})

/** Returns the person in whose conversation a message is. */
const partnerOf = (channel: Channel, event: DescribedMessage): Person =>
  personOf(channel, event.event === "message_received" ? event.from : event.to)

/** Returns the direction, sender, and status of a message, which depend on its author. */
const authoredBy = (event: DescribedMessage): Pick<Message, "direction" | "sender" | "status"> =>
  event.event === "message_received"
    ? { direction: "inbound", sender: { type: "contact", name: event.from.display_name }, status: "received" }
    : { direction: "outbound", sender: { type: "business_app", name: null }, status: "sent" }

/** Returns when the contact wrote a message, which opens the reply window; null for one of the business, and for a notice. */
const writtenAt = (event: DescribedMessage, { now }: DecisionContext): Timestamp | null =>
  event.event === "message_received" && event.is_written_by_person !== false
    ? DateTime.min(clamped(event.sent_at, now), now)
    : null

/** Returns the message of an event with the updates that arrived before it. */
const reportedMessage = (
  { lookedUp }: Loaded,
  event: DescribedMessage,
  file: MessageMedia | null,
  conversation_id: ConversationId,
  context: DecisionContext
): Message => {
  const { details = null, provider_message_id, sent_at, text, type } = event
  const original = newMessage({
    conversation_id,
    ...authoredBy(event),
    type,
    text: reportedText(text),
    details: boundedDetails(details),
    provider_message_id,
    sent_at: clamped(sent_at, context.now)
  }, context)
  const revised = earlyUpdates(lookedUp.found).reduce(applyUpdate, original)
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
  event: DescribedMessage,
  file: MessageMedia | null,
  context: DecisionContext
): Changes.Changes => {
  const { contact, identities, lookedUp: { found } } = loaded
  if (Option.isSome(arrived(found))) return Changes.none
  const identity = findOrCreateByIdentity(partnerOf(channel, event), identities, contact, context)
  const known = identities[0]?.conversation ?? null
  const written_at = writtenAt(event, context)
  const conversation = event.event === "message_sent" && known !== null
    ? { result: known.id, changes: Changes.none }
    : openConversation(channel, identity.result, identities[0], context, written_at)
  const message = reportedMessage(loaded, event, file, conversation.result, context)
  const { contact_id } = identity.result
  // A concurrent close or erasure of a conversation that is not written makes this commit fail.
  const version = known !== null && Changes.isNone(conversation.changes) ? known.version : null
  const data = { conversation_id: message.conversation_id, message_id: message.id }
  return Changes.all(
    identity.changes,
    conversation.changes,
    message.media === null ? Changes.none : publish(message.media),
    insertMessage(channel.id, contact_id, found, message, { conversation_version: version, written_at }),
    event.event === "message_received"
      ? Changes.raise(Events.make("message.received", data, context, resourceOf(contact_id, message)))
      : messageEvents(contact_id, message, context)
  )
}

// ---------------------------------------------------------- operations

/** Makes the function that loads a person's conversations on a channel, or else the contact with the person's number. */
const makeLoadPartner = Effect.gen(function*() {
  const contacts = yield* ContactStore
  const conversations = yield* ConversationStore
  const findMatch = yield* makeFindMatch

  return Effect.fnUntraced(function*(organization_id: OrganizationId, channel: Channel, person: Person) {
    const identities = yield* conversations.identify(organization_id, channel, networkIdsOf(person))
    const [known] = identities
    if (known !== undefined) {
      const found = isNewToContact(known, person)
        ? yield* contacts.load(organization_id, known.contact.id)
        : Option.none()
      return { identities, contact: { ...unmatched, found } }
    }
    const contact = person.phone === null
      ? unmatched
      : yield* findMatch(organization_id, "primary_phone", person.phone)
    return { identities, contact }
  })
})

/** Makes the function that loads what `storeMessage` needs. */
export const makeLoadMessage = Effect.gen(function*() {
  const loadPartner = yield* makeLoadPartner
  const lookUpMessage = yield* makeLookUpMessage

  return (organization_id: OrganizationId, channel: Channel, event: NetworkMessage): Effect.Effect<Loaded> =>
    Effect.map(
      Effect.all([
        lookUpMessage(organization_id, event),
        loadPartner(organization_id, channel, partnerOf(channel, event))
      ], concurrently),
      ([lookedUp, partner]) => ({ lookedUp, ...partner })
    )
})
