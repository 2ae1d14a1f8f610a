/**
 * Conversations: the thread between one contact and the organization on one channel (contract §10).
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
import { Context, DateTime, Duration, Effect, Layer, Option, Result, Schema } from "effect"
import { type MemberRow, MemberRows, MemberStore, present } from "../accounts/Members.ts"
import { type Channel } from "../catalog/Channels.ts"
import { type ContactIdentity, ContactRows, fullName, raiseUpdated, ReferenceUnknown } from "../contacts/Contacts.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import type { MemberId } from "../kernel/Ids.ts"
import { ConversationId, type OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import {
  type CursorInvalid,
  Cursors,
  type ListOptions,
  type Page,
  type PageRequest,
  type Position
} from "../kernel/Page.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Events from "../webhooks/Events.ts"
import * as Changes from "../work/Changes.ts"
import { concurrently, Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import type { Respond } from "../work/RecordedResponses.ts"
import {
  type AssignConversation,
  type CloseConversation,
  type Conversation,
  type ConversationColumns,
  type ConversationFilters,
  type ConversationRow,
  ConversationRows,
  everyConversation,
  type KnownThread
} from "./Conversation.ts"

export * from "./Conversation.ts"

// -------------------------------------------------------------- errors

export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {}) {}

// ----------------------------------------------------------- decisions

/** How long a text may be sent after the contact's last message (contract §10.7). */
export const reply_window = Duration.hours(24)

/** Returns until when a text may be sent, or null if the contact has sent no message. */
const replyWindowEnd = ({ last_inbound_at }: Pick<ConversationRow, "last_inbound_at">): Timestamp | null =>
  last_inbound_at === null ? null : DateTime.addDuration(last_inbound_at, reply_window)

/** Returns whether a text may be sent now. */
export const isReplyWindowOpen = (row: Pick<ConversationRow, "last_inbound_at">, now: Timestamp): boolean => {
  const end = replyWindowEnd(row)
  return end !== null && DateTime.isLessThan(now, end)
}

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
  last_activity_preview: row.last_activity_preview,
  reply_window_expires_at: replyWindowEnd(row)
})

/** The transitions of a conversation. Each returns the columns that it sets, or `{}` where it changes nothing. */
export const State = {
  close: ({ status }: Pick<ConversationRow, "status">, close_category: string | null, closed_at: Timestamp) =>
    status === "closed" ? {} : { status: "closed", close_category, closed_at } as const,
  reopen: ({ status }: Pick<ConversationRow, "status">, opened_at: Timestamp) =>
    status === "open" ? {} : { status: "open", close_category: null, opened_at, closed_at: null } as const,
  assign: (row: Pick<ConversationRow, "assigned_user_id">, assigned_user_id: MemberId | null) =>
    row.assigned_user_id === assigned_user_id ? {} : { assigned_user_id }
}

const opened = (conversation_id: ConversationId, context: DecisionContext): Changes.RaisedEvent =>
  Events.make("conversation.opened", { conversation_id }, context)

/** Sets columns, and raises the event of the change, if there is one. */
const change = (
  row: ConversationRow,
  set: Partial<ConversationColumns>,
  event: () => Changes.RaisedEvent
): Changes.Decision<Conversation> => ({
  result: toConversation({ ...row, ...set }),
  changes: Object.keys(set).length === 0
    ? Changes.none
    : Changes.all(ConversationRows.update(row, set), Changes.raise(event()))
})

/** Assigns a conversation to a member, by default with its contact, or unassigns it, which leaves the contact's owner. */
export const assign = (
  { conversation, member }: {
    readonly conversation: Option.Option<ConversationRow>
    readonly member: Option.Option<MemberRow>
  },
  { assigned_user_id, sync_contact_owner = true }: AssignConversation,
  context: DecisionContext
): Result.Result<Changes.Decision<Conversation>, ConversationNotFound | ReferenceUnknown> => {
  const assignee = Option.getOrNull(present(member))
  const isKept = Option.exists(conversation, (row) => row.assigned_user_id === assigned_user_id)
  if (assigned_user_id !== null && assignee === null && !isKept) {
    return Result.fail(new ReferenceUnknown({ param: "assigned_user_id", value: assigned_user_id }))
  }
  if (Option.isNone(conversation)) return Result.fail(new ConversationNotFound())
  const row = conversation.value
  const data = { conversation_id: row.id, assigned_user_id }
  const { result, changes } = change(
    row,
    State.assign(row, assigned_user_id),
    () => Events.make("conversation.assigned", data, context)
  )
  if (assignee === null) return Result.succeed({ result, changes })
  const contact = { id: row.contact_id, version: row.contact_version }
  return Result.succeed({
    result,
    changes: Changes.all(
      changes,
      sync_contact_owner
        ? Changes.all(
          ContactRows.update(contact, { owner_user_id: assignee.id, updated_at: context.now }),
          raiseUpdated(row.contact_id, ["owner_user_id"], context)
        )
        : Changes.none,
      MemberRows.expect(assignee)
    )
  })
}

const required = (conversation: Option.Option<ConversationRow>) =>
  Result.fromOption(conversation, () => new ConversationNotFound())

/** Returns a conversation as it was loaded. */
export const current = (
  conversation: Option.Option<ConversationRow>
): Result.Result<Conversation, ConversationNotFound> => Result.map(required(conversation), toConversation)

export const close = (
  conversation: Option.Option<ConversationRow>,
  { category = null }: CloseConversation,
  context: DecisionContext
): Result.Result<Changes.Decision<Conversation>, ConversationNotFound> =>
  Result.map(required(conversation), (row) =>
    change(
      row,
      State.close(row, category, context.now),
      () => Events.make("conversation.closed", { conversation_id: row.id }, context)
    ))

export const reopen = (
  conversation: Option.Option<ConversationRow>,
  context: DecisionContext
): Result.Result<Changes.Decision<Conversation>, ConversationNotFound> =>
  Result.map(
    required(conversation),
    (row) => change(row, State.reopen(row, context.now), () => opened(row.id, context))
  )

/** Returns the identity's open conversation on the channel: reopens the one that was found, or creates one. */
export const open = (
  channel: Channel,
  { contact_id, identity_id }: ContactIdentity,
  found: KnownThread["conversation"],
  context: DecisionContext
): Changes.Decision<ConversationId> => {
  const { now, uuid } = context
  if (found !== null) {
    const changes = found.status === "open"
      ? Changes.none
      : Changes.all(
        ConversationRows.update(found, State.reopen(found, now)),
        Changes.raise(opened(found.id, context))
      )
    return { result: found.id, changes }
  }
  const id = ConversationId.make(uuid())
  return {
    result: id,
    changes: Changes.all(
      Changes.raise(opened(id, context)),
      ConversationRows.insert({
        id,
        channel_id: channel.id,
        contact_id,
        identity_id,
        status: "open",
        close_category: null,
        assigned_user_id: null,
        agent_id: null,
        created_at: now,
        opened_at: now,
        closed_at: null,
        last_activity_at: now,
        last_activity_preview: null,
        last_inbound_at: null
      })
    )
  }
}

const position = ({ id, last_activity_at }: ConversationRow): Position => ({ at: last_activity_at, id })

// ---------------------------------------------------------------- port

/**
 * Port: where conversations are read.
 *
 * **Contract** (checked by `conformance/Conversations.ts`)
 *
 * - `find` returns what was committed last, with the columns of its channel,
 *   contact and identity, and none for another organization's conversation.
 * - `list` returns the conversations that pass every filter that is not null,
 *   ordered by `last_activity_at` descending, then id descending, starting after
 *   the position.
 * - `findThreads` looks network IDs up on the channel's type and returns the identities
 *   found, each with the ID that was looked up and its conversation on the
 *   channel, in the order of the IDs.
 */
export class ConversationStore extends Context.Service<ConversationStore, {
  readonly find: (
    organization_id: OrganizationId,
    id: ConversationId
  ) => Effect.Effect<Option.Option<ConversationRow>>
  readonly list: (
    organization_id: OrganizationId,
    filters: ConversationFilters,
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<ConversationRow>>
  readonly findThreads: (
    organization_id: OrganizationId,
    channel: Pick<Channel, "id" | "type">,
    network_ids: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<KnownThread>>
}>()("@messaging-crm/core/Conversations/ConversationStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's conversations. */
export class Conversations extends Context.Service<Conversations, {
  readonly get: (id: ConversationId) => Effect.Effect<Conversation, ConversationNotFound, CurrentActor>
  /** Returns a page of conversations, latest activity first (contract §10.6). */
  readonly list: (
    options: ListOptions<ConversationFilters>
  ) => Effect.Effect<Page<Conversation>, CursorInvalid, CurrentActor>
  /** Assigns the conversation, and by default its contact, to a member; null unassigns the conversation (contract §10.4). */
  readonly assign: Write<
    [id: ConversationId, input: AssignConversation],
    Conversation,
    ConversationNotFound | ReferenceUnknown
  >
  /** Closes an open conversation (contract §10.5). Closing a closed one changes nothing. */
  readonly close: Write<[id: ConversationId, input: CloseConversation], Conversation, ConversationNotFound>
  /** Reopens a closed conversation (contract §10.5). Reopening an open one changes nothing. */
  readonly reopen: Write<[id: ConversationId], Conversation, ConversationNotFound>
}>()("@messaging-crm/core/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function*() {
      const cursors = yield* Cursors
      const { runAudited } = yield* Decide
      const members = yield* MemberStore
      const store = yield* ConversationStore

      const get = operation("conversations.get")(function*(id: ConversationId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        return toConversation(yield* Effect.fromOption(found, () => new ConversationNotFound()))
      })

      const list = operation("conversations.list")(function*(
        { cursor, page_size, ...given }: ListOptions<ConversationFilters>
      ) {
        const { organization_id } = yield* CurrentActor
        const filters = { ...everyConversation, ...given }
        const fetch = (request: PageRequest) => store.list(organization_id, filters, request)
        const rows = { list: "conversations", filters: { ...filters }, fetch, position }
        const page = yield* cursors.page({ ...rows, cursor, size: page_size })
        return { ...page, data: page.data.map(toConversation) }
      })

      const assignConversation = operation("conversations.assign")(
        function*<Out>(id: ConversationId, input: AssignConversation, respond?: Respond<Conversation, Out>) {
          const { organization_id } = yield* CurrentActor
          const { assigned_user_id } = input
          return yield* runAudited("conversations.assign", {
            load: Effect.all({
              conversation: store.find(organization_id, id),
              member: assigned_user_id === null ? Effect.succeedNone : members.find(organization_id, assigned_user_id)
            }, concurrently),
            decide: (loaded, context) => assign(loaded, input, context),
            current: ({ conversation }) => current(conversation)
          }, respond)
        }
      )

      const closeConversation = operation("conversations.close")(
        function*<Out>(id: ConversationId, input: CloseConversation, respond?: Respond<Conversation, Out>) {
          const { organization_id } = yield* CurrentActor
          return yield* runAudited("conversations.close", {
            load: store.find(organization_id, id),
            decide: (conversation, context) => close(conversation, input, context),
            current
          }, respond)
        }
      )

      const reopenConversation = operation("conversations.reopen")(function*<Out>(
        id: ConversationId,
        respond?: Respond<Conversation, Out>
      ) {
        const { organization_id } = yield* CurrentActor
        return yield* runAudited("conversations.reopen", {
          load: store.find(organization_id, id),
          decide: reopen,
          current
        }, respond)
      })

      return Conversations.of({
        get,
        list,
        assign: assignConversation,
        close: closeConversation,
        reopen: reopenConversation
      })
    })
  )
}
