/**
 * Inbound: applies the events of a provider, which may arrive late, in any order
 * and more than once (contract §15).
 *
 * Each event is one commit. All events about one message write the same row, that
 * of the provider's message id, so concurrent ones conflict. This also holds for
 * events that arrive before their message.
 */
import { Context, Effect, Exit, Layer, Option, Result, Schema } from "effect"
import { type Channel, ChannelStore } from "../catalog/Channels.ts"
import { changeIdentity, findOrCreateByIdentity, namesOf } from "../contacts/ContactIdentities.ts"
import { ContactStore, type LoadedContact, type Person } from "../contacts/Contacts.ts"
import { ChannelId, MessageId, type OrganizationId, SendId } from "../kernel/Ids.ts"
import { canonical } from "../kernel/Phones.ts"
import { Text, text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Events from "../webhooks/Events.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type Fresh, together } from "../work/Decide.ts"
import { ConversationStore, type KnownThread, open } from "./Conversations.ts"
import * as Media from "./Media.ts"
import {
  applyUpdate,
  clamped,
  insert,
  type Message,
  MessageStore,
  MessageType,
  type MessageUpdate,
  type ProviderMessage,
  revise,
  StatusUpdate,
  storeEarlyUpdate
} from "./Messages.ts"
import * as SendCompletion from "./SendCompletion.ts"

// ---------------------------------------------------------------- data

const ProviderId = text({ min: 1, max: 500 })

/**
 * A person's identity on the channel.
 *
 * On phone messaging `external_id` is the number, `+` and digits, if the network
 * provides it.
 */
const Sender = Schema.Struct({
  external_id: ProviderId,
  /** Other ids of the same person, if the network has several. */
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
  /** Other ids of the recipient, if the network reports them. */
  recipient_aliases: Schema.optionalKey(Schema.Array(ProviderId)),
  ...StatusUpdate.fields
})
export interface MessageStatusReported extends Schema.Schema.Type<typeof MessageStatusReported> {}

/** A person sent a message. */
export const ProviderMessageReceived = Schema.Struct({
  event: Schema.Literal("message_received"),
  ...OfMessage,
  from: Sender,
  type: MessageType,
  /** The text of the message, or the caption of its media. */
  text: Schema.NullOr(Text),
  media: Schema.NullOr(Media.ReceivedMedia),
  /** The provider's time. */
  sent_at: Timestamp
})
export interface ProviderMessageReceived extends Schema.Schema.Type<typeof ProviderMessageReceived> {}

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

/** The id of a person changed, for example to a new number. */
export const IdentityChanged = Schema.Struct({
  event: Schema.Literal("identity_changed"),
  channel_id: ChannelId,
  former_external_id: ProviderId,
  now: Sender
})
export interface IdentityChanged extends Schema.Schema.Type<typeof IdentityChanged> {}

export const ProviderEvent = Schema.Union([
  MessageStatusReported,
  ProviderMessageReceived,
  MessageEdited,
  MessageDeleted,
  IdentityChanged
])
export type ProviderEvent = typeof ProviderEvent.Type

// -------------------------------------------------------------- errors

/** No organization has the channel that the event names. */
export class ChannelUnknown extends Schema.TaggedError<ChannelUnknown>()("ChannelUnknown", { channel_id: ChannelId }) {}

// ----------------------------------------------------------- decisions

/** Returns the first of a person's ids that is a phone number, in canonical form. */
const numberOf = (ids: ReadonlyArray<string>): string | null => Option.getOrNull(Option.firstSomeOf(ids.map(canonical)))

/** Returns the person behind a provider's ids on a channel. */
const personOf = (channel: Channel, { aliases = [], ...sender }: typeof Sender.Type): Person => ({
  ...sender,
  aliases,
  channel_type: channel.type,
  phone: channel.type === "phone_messaging" ? numberOf([sender.external_id, ...aliases]) : null
})

/** Raises `message.updated` if the update changed what subscribers can see. */
const updateEvent = (before: Message, after: Message, update: MessageUpdate, fresh: Fresh): Changes.Changes => {
  const isNews = update.status === "edited" || update.status === "deleted"
    ? before.deleted_at === null
    : after.status !== before.status
  if (!isNews || update.status === "sent") return Changes.none
  const data = { conversation_id: after.conversation_id, message_id: after.id, status: update.status }
  return Changes.raise(Events.make("message.updated", data, fresh))
}

type OfMessage = Pick<MessageDeleted, "channel_id" | "provider_message_id">

/** Updates the message, or stores the update until the message arrives. */
export const update = (
  found: Option.Option<ProviderMessage>,
  { channel_id, provider_message_id }: OfMessage,
  update: MessageUpdate,
  fresh: Fresh
): Changes.Changes => {
  const news = { ...update, at: clamped(update.at, fresh.now) }
  const known = Option.getOrNull(Option.flatMap(found, ({ message }) => message))
  if (known === null) return storeEarlyUpdate({ channel_id, provider_message_id }, found, news, fresh.now)
  const after = applyUpdate(known, news)
  if (after === known) return Changes.none
  return Changes.all(revise(known.contact_id, known, after), updateEvent(known, after, news, fresh))
}

/**
 * Updates the message. If there is none yet, it completes the send: when the
 * response to an attempt was lost, this report may be the only proof that the
 * provider accepted it.
 */
export const statusReported = (
  { completion, found }: {
    readonly found: Option.Option<ProviderMessage>
    readonly completion: SendCompletion.Loaded | null
  },
  event: MessageStatusReported,
  fresh: Fresh
): Changes.Changes => {
  const { provider_message_id, recipient_aliases = [], status } = event
  const news: StatusUpdate = { status, at: event.at }
  if (completion === null) return update(found, event, news, fresh)
  const clampedNews = { status, at: clamped(event.at, fresh.now) }
  const completed = SendCompletion.complete(
    completion,
    { provider_message_id, recipient_aliases },
    [clampedNews],
    fresh
  )
  // A message that `complete` inserts already includes the update. One that another commit inserted meanwhile does not.
  return completed.insert === undefined
    ? Changes.all(completed, update(completion.provider_message, event, news, fresh))
    : completed
}

/** The rows that `messageReceived` needs. */
interface ReceivedLoaded {
  readonly found: Option.Option<ProviderMessage>
  readonly threads: ReadonlyArray<KnownThread>
  readonly withPhone: Option.Option<LoadedContact>
}

/** Inserts a message into its sender's conversation, which is created or reopened if needed. */
export const messageReceived = (
  { found, threads, withPhone }: ReceivedLoaded,
  channel: Channel,
  event: ProviderMessageReceived,
  fresh: Fresh
): Changes.Changes => {
  if (Option.isSome(Option.flatMap(found, ({ message }) => message))) return Changes.none
  const who = findOrCreateByIdentity(personOf(channel, event.from), threads, withPhone, fresh)
  const conversation = open(channel, who.answer, threads[0]?.conversation ?? null, fresh)
  const received: Message = {
    id: MessageId.make(fresh.uuid()),
    conversation_id: conversation.answer,
    direction: "inbound",
    type: event.type,
    text: event.text,
    sender: { type: "contact", name: event.from.display_name },
    status: "received",
    media: null,
    provider_message_id: event.provider_message_id,
    created_at: fresh.now,
    sent_at: clamped(event.sent_at, fresh.now),
    delivered_at: null,
    read_at: null,
    failed_at: null,
    edited_at: null,
    deleted_at: null
  }
  const early = Option.match(found, { onNone: () => [], onSome: ({ early_updates }) => early_updates })
  const revised = early.reduce(applyUpdate, received)
  // The file of a message whose deletion arrived before it is not stored.
  const isFileless = event.media === null || revised.deleted_at !== null
  const media = isFileless ? { answer: null, changes: Changes.none } : Media.insert(event.media, fresh.uuid)
  const message = { ...revised, media: media.answer }
  const data = { conversation_id: message.conversation_id, message_id: message.id }
  return Changes.all(
    who.changes,
    conversation.changes,
    media.changes,
    insert(channel.id, who.answer.contact_id, found, message),
    Changes.raise(Events.make("message.received", data, fresh))
  )
}

/** How many lanes of one callback are processed concurrently. */
const lanes_max = 32

/**
 * Returns the lane of an event: the sender for a message, the message for an update.
 *
 * Events of one lane are processed in order.
 */
const laneOf = (event: ProviderEvent): string => {
  const about = event.event === "message_received"
    ? event.from.external_id
    : event.event === "identity_changed"
    ? event.former_external_id
    : event.provider_message_id
  return `${event.channel_id}|${about}`
}

// ---------------------------------------------------------- operations

export class Inbound extends Context.Service<Inbound, {
  /** Applies one event, and returns when it is committed. Applying it again changes nothing. */
  readonly receive: (event: ProviderEvent) => Effect.Effect<void, ChannelUnknown>
}>()("@messaging-crm/core/Inbound") {
  static readonly layer = Layer.effect(
    Inbound,
    Effect.gen(function*() {
      const channels = yield* ChannelStore
      const contacts = yield* ContactStore
      const conversations = yield* ConversationStore
      const { decide } = yield* Decide
      const loadCompletion = yield* SendCompletion.loader
      const messages = yield* MessageStore

      /** Commits the changes that an event causes. Such a decision has no answer and cannot refuse. */
      const commit = <Loaded>(
        organization_id: OrganizationId,
        load: Effect.Effect<Loaded>,
        changesOf: (loaded: Loaded, fresh: Fresh) => Changes.Changes
      ): Effect.Effect<void> =>
        decide(organization_id, {
          load,
          decide: (loaded, fresh) => Result.succeed({ answer: undefined, changes: changesOf(loaded, fresh) })
        })

      const findMessage = (organization_id: OrganizationId, { channel_id, provider_message_id }: OfMessage) =>
        messages.findByProviderId(organization_id, channel_id, provider_message_id)

      const loadStatus = Effect.fnUntraced(function*(organization_id: OrganizationId, event: MessageStatusReported) {
        const { channel_id, provider_message_id, reference } = event
        const found = yield* findMessage(organization_id, event)
        const isKnown = Option.isSome(Option.flatMap(found, ({ message }) => message))
        if (isKnown || reference === null) return { found, completion: null }
        const completion = yield* loadCompletion(organization_id, channel_id, reference, provider_message_id)
        return { found, completion }
      })

      const loadSender = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        channel: Channel,
        person: Person
      ) {
        const threads = yield* conversations.findThreads(organization_id, channel, namesOf(person))
        const withPhone = threads.length > 0 || person.phone === null
          ? Option.none()
          : yield* contacts.findByPhone(organization_id, person.phone)
        return { threads, withPhone }
      })

      const loadIdentity = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        former_external_id: string,
        person: Person
      ) {
        const names = [former_external_id, person.external_id]
        const known = yield* contacts.identify(organization_id, person.channel_type, names)
        const found = known.find(({ name }) => name === former_external_id)
        const contact = found === undefined ? Option.none() : yield* contacts.load(organization_id, found.contact.id)
        return { known, contact }
      })

      const apply = (organization_id: OrganizationId, channel: Channel, event: ProviderEvent): Effect.Effect<void> => {
        switch (event.event) {
          case "message_received":
            return commit(
              organization_id,
              Effect.map(
                Effect.all([
                  findMessage(organization_id, event),
                  loadSender(organization_id, channel, personOf(channel, event.from))
                ], together),
                ([found, sender]) => ({ found, ...sender })
              ),
              (loaded, fresh) => messageReceived(loaded, channel, event, fresh)
            )
          case "message_status_reported":
            return commit(
              organization_id,
              loadStatus(organization_id, event),
              (loaded, fresh) => statusReported(loaded, event, fresh)
            )
          case "message_edited":
          case "message_deleted": {
            const { at } = event
            const news: MessageUpdate = event.event === "message_edited"
              ? { status: "edited", text: event.text, at }
              : { status: "deleted", at }
            return commit(
              organization_id,
              findMessage(organization_id, event),
              (found, fresh) => update(found, event, news, fresh)
            )
          }
          case "identity_changed": {
            const { former_external_id } = event
            const person = personOf(channel, event.now)
            return commit(
              organization_id,
              loadIdentity(organization_id, former_external_id, person),
              ({ contact, known }, fresh) => changeIdentity(former_external_id, person, known, contact, fresh)
            )
          }
        }
      }

      const receive = Effect.fn("Inbound.receive")(function*(event: ProviderEvent) {
        const located = yield* channels.locate(event.channel_id)
        if (Option.isNone(located)) return yield* new ChannelUnknown({ channel_id: event.channel_id })
        const { channel, organization_id } = located.value
        yield* apply(organization_id, channel, event)
      })

      return Inbound.of({ receive })
    })
  )
}

/**
 * Applies the events of a callback, each in its own commit, and returns their
 * exits in the same order. A person's messages are applied in order, events of
 * different lanes concurrently.
 */
export const receiveEach = Effect.fn("Inbound.receiveEach")(function*(
  { receive }: Inbound["Service"],
  events: ReadonlyArray<ProviderEvent>
) {
  const exits = new Map<ProviderEvent, Exit.Exit<void, ChannelUnknown>>()
  const receiveOne = (event: ProviderEvent) => Effect.map(Effect.exit(receive(event)), (exit) => exits.set(event, exit))
  const lanes = Map.groupBy(events, laneOf)
  yield* Effect.forEach(lanes.values(), Effect.forEach(receiveOne), { concurrency: lanes_max, discard: true })
  return events.map((event) => exits.get(event) ?? Exit.void)
})
