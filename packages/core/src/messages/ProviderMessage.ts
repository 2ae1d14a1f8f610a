/**
 * Provider messages: the message of each provider message ID, and the updates that arrive before it (contract §15.4).
 *
 * The row of an erased message has a keyed digest as its ID, the erased ID, so that a repeated callback restores nothing
 * (contract §20.2).
 */
import { Option, Schema } from "effect"
import { ChannelId, type ContactId, ConversationId, MessageId } from "../kernel/Ids.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import type { MessageRow } from "./Message.ts"
import { applyUpdate, MessageUpdate, not_updated } from "./MessageUpdate.ts"

// ---------------------------------------------------------------- data

/**
 * The row of one provider message id: it refers to the message, or holds the
 * updates that arrived before it. An update and its message write the same key,
 * so when they arrive concurrently one of the commits conflicts and neither is lost.
 */
export const ProviderMessageColumns = Schema.Struct({
  channel_id: ChannelId,
  provider_message_id: Schema.String,
  /** Null until the message arrives. */
  conversation_id: Schema.NullOr(ConversationId),
  message_id: Schema.NullOr(MessageId),
  /** The updates that arrived before the message, one of each status: the one that decides. */
  early_updates: Schema.Array(MessageUpdate),
  created_at: Timestamp
})
export interface ProviderMessageColumns extends Schema.Schema.Type<typeof ProviderMessageColumns> {}

export const ProviderMessageRows = Changes.removable(
  Changes.declareTable(ProviderMessageColumns)({
    name: "provider_messages",
    key: { channel_id: "uuid", provider_message_id: "text" }
  })
)

/** A loaded `ProviderMessageColumns` row, with its message. */
export interface ProviderMessage
  extends Pick<ProviderMessageColumns, "channel_id" | "early_updates" | "provider_message_id">
{
  readonly version: Changes.Version
  /** The message, with the contact of its conversation. */
  readonly message: Option.Option<MessageRow & { readonly contact_id: ContactId }>
}

/** The result of looking a provider message ID up. */
export interface LookedUpMessage extends Pick<ProviderMessageColumns, "channel_id" | "provider_message_id"> {
  readonly found: Option.Option<ProviderMessage>
  /** The ID of the row once the message is erased. */
  readonly erased_id: string
}

// ----------------------------------------------------------- decisions

/** Returns whether the message was erased: its row has another ID than the network's. */
export const isErased = ({ found, provider_message_id }: LookedUpMessage): boolean =>
  Option.exists(found, (row) => row.provider_message_id !== provider_message_id)

/** Replaces the row of a provider message ID with one of its erased ID. */
export const eraseProviderMessage = (lookedUp: LookedUpMessage, now: Timestamp): Changes.Changes => {
  const { channel_id, erased_id, provider_message_id } = lookedUp
  return Changes.all(
    ProviderMessageRows.remove({ channel_id, provider_message_id }),
    isErased(lookedUp) ? Changes.none : ProviderMessageRows.insert({
      channel_id,
      provider_message_id: erased_id,
      conversation_id: null,
      message_id: null,
      early_updates: [],
      created_at: now
    })
  )
}

/** Returns the message of a provider message ID, if it has arrived. */
export const arrived = (found: Option.Option<ProviderMessage>) => Option.flatMap(found, ({ message }) => message)

/** Returns the updates that arrived before the message of a provider message id. */
export const earlyUpdates = (found: Option.Option<ProviderMessage>): ReadonlyArray<MessageUpdate> =>
  Option.match(found, { onNone: () => [], onSome: ({ early_updates }) => early_updates })

/**
 * Adds an update to those that arrived before a message. Of two with the same status only the one that decides is kept, so
 * however often a message that never arrives is edited, there are few.
 */
const withEarlyUpdate = (known: ReadonlyArray<MessageUpdate>, update: MessageUpdate): ReadonlyArray<MessageUpdate> => {
  const others = known.filter(({ status }) => status !== update.status)
  const before = known.filter(({ status }) => status === update.status).reduce(applyUpdate, not_updated)
  return applyUpdate(before, update) === before ? known : [...others, update]
}

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
  const early_updates = withEarlyUpdate(found.value.early_updates, update)
  return early_updates === found.value.early_updates
    ? Changes.none
    : ProviderMessageRows.update(found.value, { early_updates })
}
