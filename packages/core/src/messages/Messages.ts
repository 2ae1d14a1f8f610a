/**
 * Messages: the messages of conversations, and their delivery status (contract §11).
 */
import { Context, Duration, Effect, Layer, Option, Schema, Struct } from "effect"
import { ConversationNotFound, ConversationStore } from "../conversations/Conversations.ts"
import * as Events from "../events/Events.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import type { ChannelId, ContactId, ConversationId, MessageId, OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { purgeOlderThan } from "../kernel/Loops.ts"
import { operation } from "../kernel/Operations.ts"
import { type CursorInvalid, Cursors, type Found, type Page, type PageRequest, type Position } from "../kernel/Page.ts"
import { Secrets } from "../kernel/Secrets.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import { type LinkedMedia, Media, MediaRows } from "./Media.ts"
import { type LinkedMessage, Message, type MessageRow, MessageRows, previewOf } from "./Message.ts"
import { type MessageUpdate, updated_fields } from "./MessageUpdate.ts"
import { type LookedUpMessage, type ProviderMessage, ProviderMessageRows } from "./ProviderMessage.ts"

export * from "./Message.ts"
export * from "./MessageUpdate.ts"
export * from "./ProviderMessage.ts"

// -------------------------------------------------------------- errors

export class MessageNotFound extends Schema.TaggedError<MessageNotFound>()("MessageNotFound", {}) {}

// ----------------------------------------------------------- decisions

/**
 * How long the row of a provider message ID is stored without a message: an early update, or the erased ID of a message.
 * Providers repeat their reports for days, not for weeks.
 */
const early_update_age_max = Duration.days(30)

/**
 * Inserts a new message, and updates the last activity of its conversation and contact. `written_at` is when the contact wrote it,
 * which opens the reply window.
 */
export const insert = (
  channel_id: ChannelId,
  contact_id: ContactId,
  found: Option.Option<ProviderMessage>,
  message: Message,
  { conversation_version = null, written_at = null }: {
    readonly conversation_version?: Changes.Version | null
    readonly written_at?: Timestamp | null
  } = {}
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
      conversation_version,
      contact_id,
      at: created_at,
      preview: previewOf(message),
      last_inbound_at: written_at
    })
  )
}

/**
 * Writes an updated message, its sender if that is another, and its preview where it is the last activity of the
 * conversation.
 */
export const revise = (
  contact_id: ContactId,
  before: MessageRow,
  after: Message
): Changes.Changes => {
  const { conversation_id, created_at: at } = after
  const preview = previewOf(after)
  return Changes.all(
    MessageRows.update(before, {
      ...Struct.pick(after, updated_fields),
      ...(after.sender === before.sender ? {} : { sender: after.sender })
    }),
    before.media?.id && after.media === null ? MediaRows.remove({ id: before.media.id }) : Changes.none,
    // Of two messages of one millisecond, each changes the preview: it may show either, and must not keep a deleted text.
    preview === previewOf(before)
      ? Changes.none
      : Changes.touch({ conversation_id, conversation_version: null, contact_id, at, preview, last_inbound_at: null })
  )
}

/** Returns when a message was delivered: a message that was read without a delivery report, when it was read. */
const deliveredAt = ({ delivered_at, read_at }: Message): Timestamp | null => delivered_at ?? read_at

/** Returns a message as it is read. */
const linked = (message: Message, media: LinkedMedia | null): LinkedMessage => ({
  ...message,
  delivered_at: deliveredAt(message),
  media
})

/** Returns a message as events contain it: as it is read, but without a link to its file. */
export const resourceOf = (contact_id: ContactId, message: Message): Events.NamedResource<"message"> => ({
  name: "message",
  value: {
    ...Struct.pick({ ...message, delivered_at: deliveredAt(message) }, Struct.keys(Message.fields)),
    media: message.media === null ? null : Struct.omit(message.media, ["id"])
  },
  contact_id,
  message_id: message.id
})

/** Raises `message.updated` if the update changed what subscribers can see. */
export const updateEvent = (
  contact_id: ContactId,
  before: Message,
  after: Message,
  update: MessageUpdate,
  context: DecisionContext
): Changes.Changes => {
  const isVisible = update.status === "edited" || update.status === "deleted"
    ? before.deleted_at === null
    : after.status !== before.status
  if (!isVisible || update.status === "sent") return Changes.none
  const data = { conversation_id: after.conversation_id, message_id: after.id, status: update.status }
  return Changes.raise(Events.make("message.updated", data, context, resourceOf(contact_id, after)))
}

/** Returns the place of a message in the list of its conversation. */
export const positionOf = ({ created_at, id }: Message): Position => ({ at: created_at, id })

// ---------------------------------------------------------------- port

/**
 * Port: where messages are read, by ID and by the provider's ID.
 *
 * **Contract** (checked by `conformance/Ports/Messages.ts`)
 *
 * - `list` returns a conversation's messages ordered by `created_at` descending,
 *   then ID descending, starting after the position. `text`, `media`, and `details` are long texts.
 * - `findByProviderId` returns the row of a channel's provider message ID, with
 *   its message and that message's contact once the message has arrived. If one of
 *   `erased_ids` has a row, it returns that row. One snapshot has all rows.
 * - `purgeEarlyUpdates` removes at most `limit` rows that were created before a
 *   time and have no message, the oldest first, and returns how many it removed.
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
    provider_message_id: string,
    /** The IDs that the message's row can have once the message is erased; none by default. */
    erased_ids?: ReadonlyArray<string>
  ) => Effect.Effect<Option.Option<ProviderMessage>>
  readonly list: (
    organization_id: OrganizationId,
    conversation_id: ConversationId,
    page: PageRequest
  ) => Effect.Effect<Found<Message>>
  readonly purgeEarlyUpdates: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Messages/MessageStore") {}

// ---------------------------------------------------------- operations

/** Makes the function that looks a provider message ID up, also that of an erased message. */
export const makeLookUpMessage = Effect.gen(function*() {
  const messages = yield* MessageStore
  const { signatures } = yield* Secrets

  return Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    { channel_id, provider_message_id }: Pick<LookedUpMessage, "channel_id" | "provider_message_id">
  ) {
    // Each root key can have signed the stored digest. Only the newest signs further ones.
    const signed = yield* signatures(
      "erased message",
      JSON.stringify([organization_id, channel_id, provider_message_id])
    )
    const erased_ids = signed.map((signature) => `erased-${signature}`)
    const found = yield* messages.findByProviderId(organization_id, channel_id, provider_message_id, erased_ids)
    const lookedUp: LookedUpMessage = { channel_id, provider_message_id, found, erased_id: erased_ids[0] ?? "" }
    return lookedUp
  })
})

/** Operations on the messages of the current actor's conversations. */
export class Messages extends Context.Service<Messages, {
  /** Returns a page of a conversation's messages, newest first, up to 50 to a page. */
  readonly list: (
    conversation_id: ConversationId,
    cursor: string | null
  ) => Effect.Effect<Page<LinkedMessage>, ConversationNotFound | CursorInvalid, CurrentActor>
  readonly get: (
    conversation_id: ConversationId,
    id: MessageId
  ) => Effect.Effect<LinkedMessage, MessageNotFound, CurrentActor>
  /** Removes one batch of old updates whose message never arrived, and returns their number. */
  readonly purgeEarlyUpdates: Effect.Effect<number>
}>()("@messaging-crm/core/Messages") {
  static readonly layer = Layer.effect(
    Messages,
    Effect.gen(function*() {
      const conversations = yield* ConversationStore
      const cursors = yield* Cursors
      const media = yield* Media
      const store = yield* MessageStore

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
        // A message or a valid cursor proves that the conversation exists, so it is looked up only if there is neither.
        const rows = {
          list: "messages",
          filters: { conversation_id },
          fetch,
          position: positionOf
        }
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

      const purgeEarlyUpdates = purgeOlderThan(early_update_age_max, store.purgeEarlyUpdates)
      return Messages.of({ list, get, purgeEarlyUpdates })
    })
  )
}
