/**
 * Messages: what was said in a conversation, and how far it got (spec §2.3).
 */
import { Context, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { ContactStore } from "./Contacts.ts"
import { ConversationNotFound, ConversationStore } from "./Conversations.ts"
import { type ChannelId, ConversationId, MessageId, type OrganizationId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { LinkedMedia, Media, MessageMedia } from "./Media.ts"
import { type CursorInvalid, Cursors, type Page, type PageRequest } from "./Page.ts"
import { preview, Text } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"

// ---------------------------------------------------------------- data

export const Direction = Schema.Literals(["inbound", "outbound"])
export type Direction = typeof Direction.Type

/** An open enum: callers are told that new types may appear. */
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
  type: Schema.Literals(["contact", "member", "agent", "system"]).annotate({
    description: "What is sent over the API is sent by the member who made the key."
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
      "`received` of an inbound message. An outbound one only moves forward: `sent`, `delivered`, `read`; or `failed`, which a later `delivered` or `read` overrules."
  }),
  media: Schema.NullOr(MessageMedia),
  provider_message_id: Schema.NullOr(Schema.String).annotate({ description: "The messaging provider's name for it." }),
  created_at: Timestamp,
  sent_at: OptionalTimestamp,
  delivered_at: OptionalTimestamp,
  read_at: OptionalTimestamp,
  failed_at: OptionalTimestamp,
  edited_at: OptionalTimestamp,
  deleted_at: OptionalTimestamp
})
export interface Message extends Schema.Schema.Type<typeof Message> {}

/** A message as it is read: its file is under a link that is made for this one reading. */
export const LinkedMessage = Schema.Struct({
  ...Message.fields,
  media: Schema.NullOr(LinkedMedia)
}).annotate({
  identifier: "Message",
  description:
    "What was said in a conversation, and how far it got. `created_at` is the service's time, the others are the provider's."
})
export interface LinkedMessage extends Schema.Schema.Type<typeof LinkedMessage> {}

/** How far the provider says that an outbound message got, and when. */
export const StatusReport = Schema.Struct({
  status: Schema.Literals(["sent", "delivered", "read", "failed"]),
  at: Timestamp
})
export interface StatusReport extends Schema.Schema.Type<typeof StatusReport> {}

/** The author changed the text, or took the message back. */
export const EditReport = Schema.Struct({ status: Schema.Literal("edited"), text: Schema.NullOr(Text), at: Timestamp })
export const DeletionReport = Schema.Struct({ status: Schema.Literal("deleted"), at: Timestamp })

/** Schema for whatever a provider can report on a message. */
export const MessageReport = Schema.Union([StatusReport, EditReport, DeletionReport])
export type MessageReport = typeof MessageReport.Type

// -------------------------------------------------------------- errors

export class MessageNotFound extends Schema.TaggedError<MessageNotFound>()("MessageNotFound", {}) {}

// ---------------------------------------------------------- transitions

/** Returns the very time that was known, unless the other is earlier. */
const earliest = (known: Timestamp | null, other: Timestamp): Timestamp =>
  known !== null && DateTime.isLessThanOrEqualTo(known, other) ? known : other

const statusOf = (message: Pick<Message, "delivered_at" | "failed_at" | "read_at">): MessageStatus => {
  if (message.read_at !== null) return "read"
  if (message.delivered_at !== null) return "delivered"
  return message.failed_at !== null ? "failed" : "sent"
}

/** The latest edit gives the text, unless the message was taken back. */
const edit = (message: Message, { at, text }: typeof EditReport.Type): Message =>
  message.edited_at !== null && DateTime.isLessThanOrEqualTo(at, message.edited_at)
    ? message
    : { ...message, text: message.deleted_at === null ? text : null, edited_at: at }

/** Nothing is left of a message that was taken back but that it was there. */
const erase = (message: Message, at: Timestamp): Message => {
  const deleted_at = earliest(message.deleted_at, at)
  return deleted_at === message.deleted_at ? message : { ...message, text: null, media: null, deleted_at }
}

const advance = (message: Message, { at, status }: StatusReport): Message => {
  const moved: Message = {
    ...message,
    sent_at: status === "sent" ? earliest(message.sent_at, at) : message.sent_at,
    delivered_at: status === "delivered" || status === "read"
      ? earliest(message.delivered_at, at)
      : message.delivered_at,
    read_at: status === "read" ? earliest(message.read_at, at) : message.read_at,
    failed_at: status === "failed" ? earliest(message.failed_at, at) : message.failed_at
  }
  const isNews = (["sent_at", "delivered_at", "read_at", "failed_at"] as const).some((name) =>
    moved[name] !== message[name]
  )
  return isNews ? { ...moved, status: statusOf(moved) } : message
}

/**
 * Returns the message after a report.
 *
 * Each time keeps its earliest report, an edit its latest, and the status of an
 * outbound message follows from the times, so any order and any repetition of
 * reports ends in the same message. `read` implies delivered; delivered and
 * read overrule failed; a deletion overrules every edit. A report that tells
 * nothing new returns the very message, so that a repeat writes nothing.
 */
export const report = (message: Message, reported: MessageReport): Message => {
  switch (reported.status) {
    case "edited":
      return edit(message, reported)
    case "deleted":
      return erase(message, reported.at)
    default:
      return message.direction === "inbound" ? message : advance(message, reported)
  }
}

/** Returns what a list of conversations shows of a message. */
export const previewOf = ({ deleted_at, text, type }: Pick<Message, "deleted_at" | "text" | "type">): string =>
  deleted_at === null ? preview(text ?? `[${type}]`) : "[deleted]"

/** How long a report waits for its message. Providers repeat themselves for days, not for weeks. */
export const parked_time_max = Duration.days(30)

// ---------------------------------------------------------------- port

/**
 * Port: where messages are kept, and the reports on messages nobody knows yet.
 *
 * **Contract** (checked by `conformance/Messages.ts`)
 *
 * - `hold` lets one unit of work at a time pass for one provider message of one
 *   channel, until it ends. It is taken before anything that names that message.
 * - `insert` answers false, and writes nothing, when the channel already has a
 *   message with that provider id.
 * - `list` returns a conversation's messages in `created_at` descending, id
 *   descending, those after the position only.
 * - `park` keeps a report once, however often it is given; `takeParked` returns
 *   the reports on a message and forgets them. `purgeParked` forgets at most
 *   `limit` of those parked before a moment, and answers how many.
 * - `update` changes the times, status, text and media of an existing message.
 */
export class MessageStore extends Context.Service<MessageStore, {
  readonly hold: (channel_id: ChannelId, provider_message_id: string) => Effect.Effect<void>
  readonly insert: (
    organization_id: OrganizationId,
    channel_id: ChannelId,
    message: Message
  ) => Effect.Effect<boolean>
  readonly update: (organization_id: OrganizationId, message: Message) => Effect.Effect<void>
  readonly find: (
    organization_id: OrganizationId,
    conversation_id: ConversationId,
    id: MessageId
  ) => Effect.Effect<Option.Option<Message>>
  readonly findByProviderId: (
    organization_id: OrganizationId,
    channel_id: ChannelId,
    provider_message_id: string
  ) => Effect.Effect<Option.Option<Message>>
  readonly list: (
    organization_id: OrganizationId,
    conversation_id: ConversationId,
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<Message>>
  readonly park: (
    organization_id: OrganizationId,
    channel_id: ChannelId,
    provider_message_id: string,
    report: MessageReport,
    parked_at: Timestamp
  ) => Effect.Effect<void>
  readonly takeParked: (
    organization_id: OrganizationId,
    channel_id: ChannelId,
    provider_message_id: string
  ) => Effect.Effect<ReadonlyArray<MessageReport>>
  readonly purgeParked: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Messages/MessageStore") {}

// ---------------------------------------------------------- operations

/** Operations on the messages of the current actor's conversations. */
export class Messages extends Context.Service<Messages, {
  /** Returns a page of the conversation, newest first; the service chooses its size. */
  readonly list: (
    conversation_id: ConversationId,
    cursor: string | null
  ) => Effect.Effect<Page<LinkedMessage>, ConversationNotFound | CursorInvalid, CurrentActor>
  readonly get: (
    conversation_id: ConversationId,
    id: MessageId
  ) => Effect.Effect<LinkedMessage, MessageNotFound, CurrentActor>
  /**
   * Keeps a new message and moves the activity of its conversation and contact.
   * Answers false, and changes nothing, when the channel already has the
   * message. Joins the caller's unit of work.
   */
  readonly record: (
    organization_id: OrganizationId,
    channel_id: ChannelId,
    message: Message
  ) => Effect.Effect<boolean>
  /**
   * Writes what a report made of a message, and its preview where it is the
   * last activity. Joins the caller's unit of work.
   */
  readonly revise: (organization_id: OrganizationId, before: Message, after: Message) => Effect.Effect<void>
  /** Forgets the reports whose message never came, a batch at a time, and answers how many. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/Messages") {
  static readonly layer = Layer.effect(
    Messages,
    Effect.gen(function*() {
      const contacts = yield* ContactStore
      const conversations = yield* ConversationStore
      const cursors = yield* Cursors
      const media = yield* Media
      const store = yield* MessageStore

      const link = Effect.fnUntraced(function*(message: Message) {
        const linked: LinkedMessage = {
          ...message,
          media: message.media === null ? null : yield* media.link(message.media)
        }
        return linked
      })

      const list = Effect.fn("Messages.list")(function*(conversation_id: ConversationId, cursor: string | null) {
        const { organization_id } = yield* CurrentActor
        const conversation = yield* conversations.find(organization_id, conversation_id)
        if (Option.isNone(conversation)) return yield* new ConversationNotFound()
        const { data, next_cursor } = yield* cursors.page({
          list: "messages",
          filters: { conversation_id },
          cursor,
          size: limits.page_size_default,
          fetch: (page) => store.list(organization_id, conversation_id, page),
          position: (message) => ({ at: message.created_at, id: message.id })
        })
        return { data: yield* Effect.forEach(data, link), next_cursor }
      })

      const get = Effect.fn("Messages.get")(function*(conversation_id: ConversationId, id: MessageId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, conversation_id, id)
        return Option.isSome(found) ? yield* link(found.value) : yield* new MessageNotFound()
      })

      const record = Effect.fn("Messages.record")(function*(
        organization_id: OrganizationId,
        channel_id: ChannelId,
        message: Message
      ) {
        if (!(yield* store.insert(organization_id, channel_id, message))) return false
        const { conversation_id, created_at: at } = message
        const shown = previewOf(message)
        const contact_id = yield* conversations.recordActivity(organization_id, conversation_id, {
          at,
          preview: shown,
          last_inbound_at: message.direction === "inbound" ? message.sent_at : null
        })
        yield* contacts.recordActivity(organization_id, contact_id, { at, preview: shown, conversation_id })
        return true
      })

      const revise = Effect.fn("Messages.revise")(function*(
        organization_id: OrganizationId,
        before: Message,
        after: Message
      ) {
        yield* store.update(organization_id, after)
        if (before.media !== null && after.media === null) yield* media.forget(organization_id, before.media)
        const shown = previewOf(after)
        if (shown === previewOf(before)) return
        const { conversation_id, created_at: at } = after
        const contact_id = yield* conversations.replacePreview(organization_id, conversation_id, at, shown)
        if (Option.isSome(contact_id)) yield* contacts.replacePreview(organization_id, contact_id.value, at, shown)
      })

      const purge = Effect.flatMap(
        DateTime.now,
        (now) => store.purgeParked(DateTime.subtractDuration(now, parked_time_max), 5000)
      )

      return Messages.of({ list, get, record, revise, purge })
    })
  )
}
