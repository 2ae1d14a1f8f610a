/**
 * Conversations: one thread between one contact and the organization on one channel (spec §2.2, §3).
 *
 * | State | Trigger | Next state |
 * | --- | --- | --- |
 * | none | start, inbound message | open |
 * | closed | start, inbound message | open |
 * | open | start, inbound message | open |
 */
import { Context, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { type Channel, ChannelType } from "./Channels.ts"
import { fullName } from "./Contacts.ts"
import { ChannelId, ContactId, ConversationId, type IdentityId, Ids, MemberId, type OrganizationId } from "./Ids.ts"
import { Timestamp } from "./Timestamps.ts"

// ---------------------------------------------------------------- data

export const ConversationStatus = Schema.Literals(["open", "closed"])
export type ConversationStatus = typeof ConversationStatus.Type

export const Conversation = Schema.Struct({
  id: ConversationId,
  channel: Schema.Struct({ id: ChannelId, type: ChannelType }),
  contact: Schema.Struct({
    id: ContactId,
    display_name: Schema.NullOr(Schema.String),
    external_id: Schema.NullOr(Schema.String),
    username: Schema.NullOr(Schema.String)
  }),
  status: ConversationStatus,
  close_category: Schema.NullOr(Schema.String),
  assigned_user_id: Schema.NullOr(MemberId),
  agent_id: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  opened_at: Timestamp,
  closed_at: Schema.NullOr(Timestamp),
  last_activity_at: Timestamp,
  last_activity_preview: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Conversation" })
export interface Conversation extends Schema.Schema.Type<typeof Conversation> {}

/** A conversation as it is stored, beside the parts of its contact and identity that it shows. */
export interface ConversationRow {
  readonly id: ConversationId
  readonly channel_id: ChannelId
  readonly channel_type: ChannelType
  readonly contact_id: ContactId
  readonly first_name: string | null
  readonly last_name: string | null
  readonly identity_id: IdentityId
  readonly external_id: string
  readonly display_name: string | null
  readonly username: string | null
  readonly status: ConversationStatus
  readonly close_category: string | null
  readonly assigned_user_id: MemberId | null
  readonly agent_id: string | null
  readonly created_at: Timestamp
  readonly opened_at: Timestamp
  readonly closed_at: Timestamp | null
  readonly last_activity_at: Timestamp
  readonly last_activity_preview: string | null
  /** The provider's time of the contact's last message: the reply window opens there. */
  readonly last_inbound_at: Timestamp | null
}

// -------------------------------------------------------------- errors

export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {}) {}

// ---------------------------------------------------------- transitions

/** How long after the contact's last message a text may be sent (spec §4.4). */
export const reply_window = Duration.hours(24)

/** Returns whether a text may be sent now. */
export const isReplyWindowOpen = (row: Pick<ConversationRow, "last_inbound_at">, now: Timestamp): boolean =>
  row.last_inbound_at !== null && DateTime.isLessThan(now, DateTime.addDuration(row.last_inbound_at, reply_window))

/** Returns the conversation as callers see it. */
export const toConversation = (row: ConversationRow): Conversation => ({
  id: row.id,
  channel: { id: row.channel_id, type: row.channel_type },
  contact: {
    id: row.contact_id,
    display_name: fullName(row) ?? row.display_name,
    external_id: row.external_id,
    username: row.username
  },
  status: row.status,
  close_category: row.close_category,
  assigned_user_id: row.assigned_user_id,
  agent_id: row.agent_id,
  created_at: row.created_at,
  opened_at: row.opened_at,
  closed_at: row.closed_at,
  last_activity_at: row.last_activity_at,
  last_activity_preview: row.last_activity_preview
})

// ---------------------------------------------------------------- port

/**
 * Port: where conversations are kept.
 *
 * **Contract** (checked by `conformance/Conversations.ts`)
 *
 * - `open` returns the id of the conversation of (organization, channel,
 *   identity), made under the given id when there is none, and opens it when it
 *   is closed: `status` open, `opened_at` now, `closed_at` and `close_category`
 *   null. An open one is left as it is. Of any number of concurrent calls all
 *   get one conversation.
 * - After `open`, and after `lock`, no other unit of work passes the same point
 *   for that conversation until this one ends.
 * - `lock` returns what `find` returns.
 * - `recordActivity` sets the last activity, and `last_inbound_at` when given;
 *   neither time moves backwards, and an older activity leaves the preview. It
 *   returns the conversation's contact.
 */
export class ConversationStore extends Context.Service<ConversationStore, {
  readonly open: (
    organization_id: OrganizationId,
    id: ConversationId,
    thread: {
      readonly channel_id: ChannelId
      readonly contact_id: ContactId
      readonly identity_id: IdentityId
    },
    now: Timestamp
  ) => Effect.Effect<ConversationId>
  readonly find: (
    organization_id: OrganizationId,
    id: ConversationId
  ) => Effect.Effect<Option.Option<ConversationRow>>
  readonly lock: (
    organization_id: OrganizationId,
    id: ConversationId
  ) => Effect.Effect<Option.Option<ConversationRow>>
  readonly recordActivity: (
    organization_id: OrganizationId,
    id: ConversationId,
    activity: { readonly at: Timestamp; readonly preview: string; readonly last_inbound_at: Timestamp | null }
  ) => Effect.Effect<ContactId>
}>()("@messaging-crm/core/Conversations/ConversationStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's conversations. */
export class Conversations extends Context.Service<Conversations, {
  readonly get: (id: ConversationId) => Effect.Effect<Conversation, ConversationNotFound, CurrentActor>
  /** Returns the person's conversation on the channel, made or opened as needed. Joins the caller's unit of work. */
  readonly open: (
    organization_id: OrganizationId,
    channel: Channel,
    who: { readonly contact_id: ContactId; readonly identity_id: IdentityId }
  ) => Effect.Effect<ConversationId>
}>()("@messaging-crm/core/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function*() {
      const ids = yield* Ids
      const store = yield* ConversationStore

      const get = Effect.fn("Conversations.get")(function*(id: ConversationId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        return Option.isSome(found) ? toConversation(found.value) : yield* new ConversationNotFound()
      })

      const open = Effect.fn("Conversations.open")(function*(
        organization_id: OrganizationId,
        channel: Channel,
        who: { readonly contact_id: ContactId; readonly identity_id: IdentityId }
      ) {
        const id = ConversationId.make(yield* ids.uuid)
        return yield* store.open(organization_id, id, { channel_id: channel.id, ...who }, yield* DateTime.now)
      })

      return Conversations.of({ get, open })
    })
  )
}
