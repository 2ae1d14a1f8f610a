/**
 * Messages: the messages of conversations, and their delivery status (contract §11).
 */
import { Context, DateTime, Duration, Effect, Layer, Option, Schema, Struct } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { type ChannelId, type ContactId, ConversationId, MessageId, type OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { type CursorInvalid, Cursors, type Page, type PageRequest, type Position } from "../kernel/Page.ts"
import { preview, Text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { ConversationNotFound, ConversationStore } from "./Conversations.ts"
import { LinkedMedia, Media, MediaRows, MessageMedia } from "./Media.ts"
import { Failure, MessageDetails } from "./MessageDetails.ts"

// ---------------------------------------------------------------- data

export const Direction = Schema.Literals(["inbound", "outbound"])
export type Direction = typeof Direction.Type

/** An open enumeration: new values may appear within `v1`. */
export const MessageType = Schema.Literals([
  "text",
  "template",
  "image",
  "video",
  "audio",
  "document",
  "sticker",
  "location",
  "contacts",
  "interactive",
  "reaction",
  "unsupported"
]).annotate({ format: "open-enum" })
export type MessageType = typeof MessageType.Type

export const Sender = Schema.Struct({
  type: Schema.Literals(["contact", "member", "agent", "system", "business_app"]).annotate({
    description:
      "A message sent through the API has the member of the API key as its sender; `business_app` wrote in the network's own app."
  }),
  name: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Sender", description: "Who wrote a message." })
export interface Sender extends Schema.Schema.Type<typeof Sender> {}

export const MessageStatus = Schema.Literals(["received", "sent", "delivered", "read", "failed"])
export type MessageStatus = typeof MessageStatus.Type

const OptionalTimestamp = Schema.NullOr(Timestamp)

export const Message = Schema.Struct({
  id: MessageId,
  conversation_id: ConversationId,
  direction: Direction.annotate({ description: "`inbound` from the contact, `outbound` from the organization." }),
  type: MessageType,
  text: Schema.NullOr(Schema.String).annotate({
    description: "The text, the caption, or the template with its values."
  }),
  sender: Sender,
  status: MessageStatus.annotate({
    description:
      "Inbound messages: `received`. Outbound messages only move forward: `sent`, `delivered`, `read`; or `failed`, which a later `delivered` or `read` replaces."
  }),
  media: Schema.NullOr(MessageMedia),
  details: Schema.NullOr(MessageDetails),
  provider_message_id: Schema.NullOr(Schema.String).annotate({ description: "The messaging provider's id of it." }),
  created_at: Timestamp,
  sent_at: OptionalTimestamp,
  delivered_at: OptionalTimestamp,
  read_at: OptionalTimestamp,
  failed_at: OptionalTimestamp,
  edited_at: OptionalTimestamp,
  deleted_at: OptionalTimestamp
})
export interface Message extends Schema.Schema.Type<typeof Message> {}

/** A message as callers see it, with a new link to its file. */
export const LinkedMessage = Schema.Struct({
  ...Message.fields,
  media: Schema.NullOr(LinkedMedia)
}).annotate({
  identifier: "Message",
  description:
    "A message of a conversation. `created_at` is the time at which the service stored it; the other times are the provider's."
})
export interface LinkedMessage extends Schema.Schema.Type<typeof LinkedMessage> {}

/** A status of an outbound message as the provider reports it, with its time. */
export const StatusUpdate = Schema.Struct({
  status: Schema.Literals(["sent", "delivered", "read", "failed"]),
  at: Timestamp,
  /** Why the message failed, if the provider reports it. */
  failure: Schema.optionalKey(Failure)
})
export interface StatusUpdate extends Schema.Schema.Type<typeof StatusUpdate> {}

/** The author edited the text, or deleted the message. */
export const EditUpdate = Schema.Struct({ status: Schema.Literal("edited"), text: Schema.NullOr(Text), at: Timestamp })
export const DeletionUpdate = Schema.Struct({ status: Schema.Literal("deleted"), at: Timestamp })

/** Schema for every kind of update that a provider reports for a message. */
export const MessageUpdate = Schema.Union([StatusUpdate, EditUpdate, DeletionUpdate])
export type MessageUpdate = typeof MessageUpdate.Type

/**
 * A message as it is stored. Its `delivered_at` is what the provider reported; of
 * a message that was read without a report of delivery, callers see `read_at` there.
 */
export interface MessageRow extends Message {
  readonly version: Changes.Version
}

/** The columns of a message. */
export interface MessageColumns extends Message {
  readonly channel_id: ChannelId
}

export const MessageRows = Changes.rows<MessageColumns>()({
  name: "messages",
  key: { conversation_id: "uuid", id: "uuid" },
  columns: {
    direction: "text",
    type: "text",
    text: "text",
    sender: "jsonb",
    status: "text",
    media: "jsonb",
    details: "jsonb",
    provider_message_id: "text",
    created_at: "timestamptz",
    sent_at: "timestamptz",
    delivered_at: "timestamptz",
    read_at: "timestamptz",
    failed_at: "timestamptz",
    edited_at: "timestamptz",
    deleted_at: "timestamptz",
    channel_id: "uuid"
  },
  unique: null,
  activity: null
})

/**
 * The row of one provider message id: it refers to the message, or holds the
 * updates that arrived before it. An update and its message write the same key,
 * so when they arrive concurrently one of the commits conflicts and neither is lost.
 */
export interface ProviderMessageColumns {
  readonly channel_id: ChannelId
  readonly provider_message_id: string
  /** Null until the message arrives. */
  readonly conversation_id: ConversationId | null
  readonly message_id: MessageId | null
  /** The distinct updates that arrived before the message. */
  readonly early_updates: ReadonlyArray<MessageUpdate>
  readonly created_at: Timestamp
}

export const ProviderMessageRows = Changes.rows<ProviderMessageColumns>()({
  name: "provider_messages",
  key: { channel_id: "uuid", provider_message_id: "text" },
  columns: {
    conversation_id: "uuid",
    message_id: "uuid",
    early_updates: "jsonb",
    created_at: "timestamptz"
  },
  unique: null,
  activity: null
})

/** A loaded `ProviderMessageColumns` row, with its message. */
export interface ProviderMessage
  extends Pick<ProviderMessageColumns, "channel_id" | "early_updates" | "provider_message_id">
{
  readonly version: Changes.Version
  /** The message, with the contact of its conversation. */
  readonly message: Option.Option<MessageRow & { readonly contact_id: ContactId }>
}

// -------------------------------------------------------------- errors

export class MessageNotFound extends Schema.TaggedError<MessageNotFound>()("MessageNotFound", {}) {}

// ----------------------------------------------------------- decisions

/** Returns the earlier time; the same object as `known` where the other is not earlier. */
const earliest = (known: Timestamp | null, other: Timestamp): Timestamp =>
  known !== null && DateTime.isLessThanOrEqualTo(known, other) ? known : other

const statusOf = (message: Pick<Message, "delivered_at" | "failed_at" | "read_at">): MessageStatus => {
  if (message.read_at !== null) return "read"
  if (message.delivered_at !== null) return "delivered"
  return message.failed_at !== null ? "failed" : "sent"
}

/** Applies an edit: the latest one sets the text, unless the message was deleted. */
const edit = <M extends Message>(message: M, { at, text }: typeof EditUpdate.Type): M =>
  message.edited_at !== null && DateTime.isLessThanOrEqualTo(at, message.edited_at)
    ? message
    : { ...message, text: message.deleted_at === null ? text : null, edited_at: at }

/** Applies a deletion: removes the text and the file. */
const erase = <M extends Message>(message: M, at: Timestamp): M => {
  const deleted_at = earliest(message.deleted_at, at)
  if (deleted_at === message.deleted_at) return message
  return { ...message, text: null, media: null, details: failureOnly(message.details?.failure), deleted_at }
}

const failureOnly = (failure: Failure | undefined): MessageDetails | null => failure === undefined ? null : { failure }

/** A total order, so that of two failures at the same time the same one is stored in any order of reports. */
const textOf = ({ code, description, title }: Failure): string => JSON.stringify([code, title, description])

/** Stores the failure of the earliest report. */
const explain = <M extends Message>(message: M, { at, failure }: StatusUpdate): M => {
  const { details, failed_at } = message
  const known = details?.failure
  if (failed_at === null || DateTime.isLessThan(at, failed_at)) {
    const { failure: _, ...others } = details ?? {}
    const now = { ...others, ...failureOnly(failure) }
    return { ...message, details: Object.keys(now).length === 0 ? null : now }
  }
  const isNews = failure !== undefined && DateTime.Equivalence(at, failed_at) &&
    (known === undefined || textOf(failure) < textOf(known))
  return isNews ? { ...message, details: { ...details, failure } } : message
}

const advance = <M extends Message>(message: M, update: StatusUpdate): M => {
  const { at, status } = update
  const name = `${status}_at` as const
  const explained = status === "failed" ? explain(message, update) : message
  const moved: M = { ...explained, [name]: earliest(message[name], at) }
  return moved[name] === message[name] ? explained : { ...moved, status: statusOf(moved) }
}

/**
 * Returns the message after an update.
 *
 * Each time is the earliest that was reported, the text is that of the latest
 * edit, and the status of an outbound message follows from the times. So any
 * order and any repetition of updates ends in the same message. `delivered` and
 * `read` replace `failed`; a deletion wins over every edit. An update without
 * effect returns the same object, so that a repeated report writes nothing.
 */
export const applyUpdate = <M extends Message>(message: M, update: MessageUpdate): M => {
  switch (update.status) {
    case "edited":
      return edit(message, update)
    case "deleted":
      return erase(message, update.at)
    default:
      return message.direction === "inbound" ? message : advance(message, update)
  }
}

/** Returns a provider's time, or now where it is in the future: the provider's clock may be wrong. */
export const clamped = (at: Timestamp, now: Timestamp): Timestamp => DateTime.min(at, now)

/** Returns the preview of a message, as lists of conversations and contacts show it (contract §10.8). */
export const previewOf = ({ deleted_at, text, type }: Pick<Message, "deleted_at" | "text" | "type">): string =>
  deleted_at === null ? preview(text ?? `[${type}]`) : "[deleted]"

/** How long an update is stored without its message. Providers repeat their reports for days, not for weeks. */
export const early_update_age_max = Duration.days(30)

const sameUpdate = (a: MessageUpdate) => (b: MessageUpdate): boolean =>
  a.status === b.status && DateTime.Equivalence(a.at, b.at) && reasonOf(a) === reasonOf(b)

const reasonOf = (update: MessageUpdate): string | null =>
  update.status === "failed" && update.failure !== undefined ? textOf(update.failure) : null

/** Stores an update that arrived before its message. A repeated one changes nothing. */
export const storeEarlyUpdate = (
  key: Pick<ProviderMessageColumns, "channel_id" | "provider_message_id">,
  found: Option.Option<ProviderMessage>,
  update: MessageUpdate,
  now: Timestamp
): Changes.Changes => {
  if (Option.isNone(found)) {
    return ProviderMessageRows.insert({
      ...key,
      conversation_id: null,
      message_id: null,
      early_updates: [update],
      created_at: now
    })
  }
  const { early_updates } = found.value
  return early_updates.some(sameUpdate(update))
    ? Changes.none
    : ProviderMessageRows.update(found.value, { early_updates: [...early_updates, update] })
}

/** Inserts a new message, and updates the last activity of its conversation and contact. */
export const insert = (
  channel_id: ChannelId,
  contact_id: ContactId,
  found: Option.Option<ProviderMessage>,
  message: Message
): Changes.Changes => {
  const { conversation_id, created_at, id: message_id, provider_message_id } = message
  const named = { conversation_id, message_id, early_updates: [] }
  return Changes.all(
    MessageRows.insert({ ...message, channel_id }),
    provider_message_id === null
      ? Changes.none
      : Option.isSome(found)
      ? ProviderMessageRows.update(found.value, named)
      : ProviderMessageRows.insert({ channel_id, provider_message_id, ...named, created_at }),
    Changes.touch({
      conversation_id,
      contact_id,
      at: created_at,
      preview: previewOf(message),
      last_inbound_at: message.direction === "inbound" ? message.sent_at : null
    })
  )
}

/** Writes an updated message, and its preview where it is the last activity of the conversation. */
export const revise = (
  contact_id: ContactId,
  before: MessageRow,
  after: Message
): Changes.Changes => {
  const { conversation_id, created_at: at } = after
  const preview = previewOf(after)
  return Changes.all(
    MessageRows.update(
      before,
      Struct.pick(after, [
        "text",
        "media",
        "details",
        "status",
        "sent_at",
        "delivered_at",
        "read_at",
        "failed_at",
        "edited_at",
        "deleted_at"
      ])
    ),
    before.media?.id && after.media === null ? MediaRows.remove({ id: before.media.id }) : Changes.none,
    preview === previewOf(before)
      ? Changes.none
      : Changes.touch({ conversation_id, contact_id, at, preview, last_inbound_at: null })
  )
}

/** Returns a message as it is read. */
const linked = (message: Message, media: LinkedMedia | null): LinkedMessage => ({
  ...message,
  delivered_at: message.delivered_at ?? message.read_at,
  media
})

/** Returns the place of a message in the list of its conversation. */
export const positionOf = ({ created_at, id }: Message): Position => ({ at: created_at, id })

// ---------------------------------------------------------------- port

/**
 * Port: where messages are read, by our id and by the provider's.
 *
 * **Contract** (checked by `conformance/Messages.ts`)
 *
 * - `list` returns a conversation's messages ordered by `created_at` descending,
 *   then id descending, starting after the position.
 * - `findByProviderId` returns the row of a channel's provider message id, with
 *   its message and that message's contact once the message has arrived.
 * - `purgeEarlyUpdates` removes at most `limit` rows that were created before a
 *   time and have no message, and returns how many it removed.
 */
export class MessageStore extends Context.Service<MessageStore, {
  readonly find: (
    organization_id: OrganizationId,
    conversation_id: ConversationId,
    id: MessageId
  ) => Effect.Effect<Option.Option<Message>>
  readonly findByProviderId: (
    organization_id: OrganizationId,
    channel_id: ChannelId,
    provider_message_id: string
  ) => Effect.Effect<Option.Option<ProviderMessage>>
  readonly list: (
    organization_id: OrganizationId,
    conversation_id: ConversationId,
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<Message>>
  readonly purgeEarlyUpdates: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Messages/MessageStore") {}

// ---------------------------------------------------------- operations

/** Operations on the messages of the current actor's conversations. */
export class Messages extends Context.Service<Messages, {
  /** Returns a page of a conversation's messages, newest first, 50 to a page. */
  readonly list: (
    conversation_id: ConversationId,
    cursor: string | null
  ) => Effect.Effect<Page<LinkedMessage>, ConversationNotFound | CursorInvalid, CurrentActor>
  readonly get: (
    conversation_id: ConversationId,
    id: MessageId
  ) => Effect.Effect<LinkedMessage, MessageNotFound, CurrentActor>
  /** Removes one batch of old updates whose message never arrived. Returns how many it removed. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/Messages") {
  static readonly layer = Layer.effect(
    Messages,
    Effect.gen(function*() {
      const conversations = yield* ConversationStore
      const cursors = yield* Cursors
      const media = yield* Media
      const store = yield* MessageStore

      // Few messages have a file, so the others of a page cost no fiber and no generator.
      const link = (message: Message): Effect.Effect<LinkedMessage, never, CurrentActor> =>
        message.media === null
          ? Effect.succeed(linked(message, null))
          : Effect.map(media.link(message.media), (file) => linked(message, file))

      const list = operation("messages.list")(function*(conversation_id: ConversationId, cursor: string | null) {
        const { organization_id } = yield* CurrentActor
        const conversation = Effect.flatMap(
          conversations.find(organization_id, conversation_id),
          Effect.fromOption(() => new ConversationNotFound())
        )
        const fetch = (page: PageRequest) => store.list(organization_id, conversation_id, page)
        // A message or a cursor shows that there is a conversation, so it is looked for only without both.
        const rows = { list: "messages", filters: { conversation_id }, fetch, position: positionOf }
        const { data, next_cursor } = yield* cursors.page({ ...rows, cursor, size: limits.page_size_default }).pipe(
          Effect.tapErrorTag("CursorInvalid", () => conversation)
        )
        if (data.length === 0 && cursor === null) yield* conversation
        const hasFiles = data.some(({ media }) => media !== null)
        const all = hasFiles ? yield* Effect.forEach(data, link) : data.map((message) => linked(message, null))
        return { data: all, next_cursor }
      })

      const get = operation("messages.get")(function*(conversation_id: ConversationId, id: MessageId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, conversation_id, id)
        return yield* link(yield* Effect.fromOption(found, () => new MessageNotFound()))
      })

      const purge = Effect.flatMap(
        DateTime.now,
        (now) => store.purgeEarlyUpdates(DateTime.subtractDuration(now, early_update_age_max), 5000)
      )

      return Messages.of({ list, get, purge })
    })
  )
}
