/**
 * Conversations: one thread between one contact and the organization on one channel (spec §2.2, §3).
 *
 * | State | Trigger | Next state |
 * | --- | --- | --- |
 * | none, open, closed | start, inbound message | open |
 * | open | close | closed |
 * | closed | reopen | open |
 * | any | assign | unchanged |
 *
 * Closing a closed conversation and reopening an open one change nothing.
 */
import { Context, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { type Channel, ChannelType } from "./Channels.ts"
import { ContactStore, fullName, ReferenceUnknown, type Who } from "./Contacts.ts"
import { Events } from "./Events.ts"
import { ChannelId, ContactId, ConversationId, type IdentityId, Ids, MemberId, type OrganizationId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { Members } from "./Members.ts"
import { type CursorInvalid, Cursors, type Page, type PageRequest } from "./Page.ts"
import { line } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"
import { WorkSignal } from "./WorkQueue.ts"

// ---------------------------------------------------------------- data

export const ConversationStatus = Schema.Literals(["open", "closed"])
export type ConversationStatus = typeof ConversationStatus.Type

export const Conversation = Schema.Struct({
  id: ConversationId,
  channel: Schema.Struct({ id: ChannelId, type: ChannelType }),
  contact: Schema.Struct({
    id: ContactId,
    display_name: Schema.NullOr(Schema.String),
    external_id: Schema.NullOr(Schema.String).annotate({ description: "Who the contact is on this channel." }),
    username: Schema.NullOr(Schema.String)
  }),
  status: ConversationStatus,
  close_category: Schema.NullOr(Schema.String).annotate({ description: "Why it was closed; null while it is open." }),
  assigned_user_id: Schema.NullOr(MemberId).annotate({ description: "The member who takes care of it." }),
  agent_id: Schema.NullOr(Schema.String.annotate({ format: "uuid" })).annotate({
    description: "The automatic agent that takes care of it."
  }),
  created_at: Timestamp,
  opened_at: Timestamp,
  closed_at: Schema.NullOr(Timestamp).annotate({ description: "Null while it is open." }),
  last_activity_at: Timestamp,
  last_activity_preview: Schema.NullOr(Schema.String).annotate({ description: "The start of the last message." })
}).annotate({
  identifier: "Conversation",
  description: "A thread between one contact and the organization on one channel. A number has one per channel."
})
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

/** Which conversations a list shows (spec §4.1). */
export interface ConversationFilters {
  readonly status: ConversationStatus | null
  readonly assigned_user_id: MemberId | null
}

export const AssignConversation = Schema.Struct({
  assigned_user_id: Schema.NullOr(MemberId).annotate({ description: "Null unassigns." }),
  sync_contact_owner: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Whether the member becomes the contact's owner too.", default: true })
  )
}).annotate({ identifier: "AssignConversation" })
export interface AssignConversation extends Schema.Schema.Type<typeof AssignConversation> {}

export const CloseConversation = Schema.Struct({
  category: Schema.optionalKey(
    line(limits.close_category_chars_max).pipe(
      Schema.annotateEncoded({
        description: "Any word; `resolved`, `no_response`, `spam`, `duplicate` and `other` are suggestions.",
        default: null
      })
    )
  )
}).annotate({ identifier: "CloseConversation" })
export interface CloseConversation extends Schema.Schema.Type<typeof CloseConversation> {}

// -------------------------------------------------------------- errors

export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {}) {}

// ---------------------------------------------------------- transitions

/** How long after the contact's last message a text may be sent (spec §4.4). */
export const reply_window = Duration.hours(24)

/** Returns whether a text may be sent now. */
export const isReplyWindowOpen = (row: Pick<ConversationRow, "last_inbound_at">, now: Timestamp): boolean =>
  row.last_inbound_at !== null && DateTime.isLessThan(now, DateTime.addDuration(row.last_inbound_at, reply_window))

/** Returns the conversation once it is closed; a closed one does not change. */
export const close = (row: ConversationRow, close_category: string | null, closed_at: Timestamp): ConversationRow =>
  row.status === "closed" ? row : { ...row, status: "closed", close_category, closed_at }

/** Returns the conversation once it is open again; an open one does not change. */
export const reopen = (row: ConversationRow, opened_at: Timestamp): ConversationRow =>
  row.status === "open" ? row : { ...row, status: "open", close_category: null, opened_at, closed_at: null }

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
 * - `list` returns the conversations that pass every filter that is not null, in
 *   `last_activity_at` descending, id descending, those after the position only.
 * - `update` writes the status with its times and category, and the assignment.
 * - `recordActivity` sets the last activity, and `last_inbound_at` when given;
 *   neither time moves backwards, and an older activity leaves the preview. It
 *   returns the conversation's contact.
 * - `replacePreview` replaces the preview, and returns the contact, when the
 *   last activity was at that very moment.
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
  readonly list: (
    organization_id: OrganizationId,
    filters: ConversationFilters,
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<ConversationRow>>
  readonly update: (organization_id: OrganizationId, row: ConversationRow) => Effect.Effect<void>
  readonly recordActivity: (
    organization_id: OrganizationId,
    id: ConversationId,
    activity: { readonly at: Timestamp; readonly preview: string; readonly last_inbound_at: Timestamp | null }
  ) => Effect.Effect<ContactId>
  readonly replacePreview: (
    organization_id: OrganizationId,
    id: ConversationId,
    at: Timestamp,
    preview: string
  ) => Effect.Effect<Option.Option<ContactId>>
}>()("@messaging-crm/core/Conversations/ConversationStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's conversations. */
export class Conversations extends Context.Service<Conversations, {
  readonly get: (id: ConversationId) => Effect.Effect<Conversation, ConversationNotFound, CurrentActor>
  /** Returns a page of conversations, latest activity first (spec §4.1). */
  readonly list: (
    options: ConversationFilters & { readonly cursor: string | null; readonly page_size: number }
  ) => Effect.Effect<Page<Conversation>, CursorInvalid, CurrentActor>
  /** Assigns the conversation, and by default the contact, to a member, or to nobody (spec §4.5). */
  readonly assign: (
    id: ConversationId,
    input: AssignConversation
  ) => Effect.Effect<Conversation, ConversationNotFound | ReferenceUnknown, CurrentActor>
  readonly close: (
    id: ConversationId,
    input: CloseConversation
  ) => Effect.Effect<Conversation, ConversationNotFound, CurrentActor>
  readonly reopen: (id: ConversationId) => Effect.Effect<Conversation, ConversationNotFound, CurrentActor>
  /** Returns the person's conversation on the channel, made or opened as needed. Joins the caller's unit of work. */
  readonly open: (
    organization_id: OrganizationId,
    channel: Channel,
    who: Who
  ) => Effect.Effect<ConversationId>
}>()("@messaging-crm/core/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function*() {
      const contacts = yield* ContactStore
      const cursors = yield* Cursors
      const events = yield* Events
      const ids = yield* Ids
      const members = yield* Members
      const signal = yield* WorkSignal
      const store = yield* ConversationStore
      const unitOfWork = yield* UnitOfWork

      const get = Effect.fn("Conversations.get")(function*(id: ConversationId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        return Option.isSome(found) ? toConversation(found.value) : yield* new ConversationNotFound()
      })

      const open = Effect.fn("Conversations.open")(function*(
        organization_id: OrganizationId,
        channel: Channel,
        who: Who
      ) {
        const id = ConversationId.make(yield* ids.uuid)
        return yield* store.open(organization_id, id, { channel_id: channel.id, ...who }, yield* DateTime.now)
      })

      const list = Effect.fn("Conversations.list")(function*(
        { cursor, page_size, ...filters }: ConversationFilters & {
          readonly cursor: string | null
          readonly page_size: number
        }
      ) {
        const { organization_id } = yield* CurrentActor
        const page = yield* cursors.page({
          list: "conversations",
          filters: { ...filters },
          cursor,
          size: page_size,
          fetch: (request) => store.list(organization_id, filters, request),
          position: (row) => ({ at: row.last_activity_at, id: row.id })
        })
        return { ...page, data: page.data.map(toConversation) }
      })

      const locked = Effect.fnUntraced(function*(id: ConversationId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.lock(organization_id, id)
        return Option.isSome(found) ? found.value : yield* new ConversationNotFound()
      })

      /** Changes the locked conversation, and writes it only when something changed. */
      const change = Effect.fnUntraced(function*(
        id: ConversationId,
        move: (row: ConversationRow, now: Timestamp) => ConversationRow
      ) {
        const { organization_id } = yield* CurrentActor
        const before = yield* locked(id)
        const row = move(before, yield* DateTime.now)
        if (row !== before) yield* store.update(organization_id, row)
        return row
      })

      const assignNow = Effect.fnUntraced(function*(
        id: ConversationId,
        { assigned_user_id, sync_contact_owner = true }: AssignConversation
      ) {
        const { organization_id } = yield* CurrentActor
        const row = yield* change(
          id,
          (found) => found.assigned_user_id === assigned_user_id ? found : { ...found, assigned_user_id }
        )
        if (sync_contact_owner) {
          yield* contacts.setOwner(organization_id, row.contact_id, assigned_user_id, yield* DateTime.now)
        }
        return toConversation(row)
      })

      const assign = Effect.fn("Conversations.assign")(function*(id: ConversationId, input: AssignConversation) {
        if (input.assigned_user_id !== null) {
          yield* Effect.catchTag(
            members.get(input.assigned_user_id),
            "MemberNotFound",
            () => new ReferenceUnknown({ param: "assigned_user_id" })
          )
        }
        return yield* unitOfWork.transact(assignNow(id, input))
      })

      const closeOne = Effect.fn("Conversations.close")(function*(id: ConversationId, input: CloseConversation) {
        const { organization_id } = yield* CurrentActor
        const closed = Effect.gen(function*() {
          const before = yield* locked(id)
          const row = close(before, input.category ?? null, yield* DateTime.now)
          if (row === before) return row
          yield* store.update(organization_id, row)
          yield* events.raise(organization_id, { type: "conversation.closed", data: { conversation_id: id } })
          return row
        })
        const row = yield* unitOfWork.transact(closed)
        yield* signal.notify
        return toConversation(row)
      })

      const reopenOne = Effect.fn("Conversations.reopen")(function*(id: ConversationId) {
        return toConversation(yield* unitOfWork.transact(change(id, reopen)))
      })

      return Conversations.of({ get, list, assign, close: closeOne, reopen: reopenOne, open })
    })
  )
}
