/**
 * Conversations: the thread between one contact and the organization on one channel (contract §10).
 */
import { Context, DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import { type MemberRow, MemberRows, unlessLeft } from "../accounts/Members.ts"
import type { Channel } from "../catalog/Channels.ts"
import { ContactRows, ContactStore, type LoadedContact, raiseUpdated, ReferenceUnknown } from "../contacts/Contacts.ts"
import * as Events from "../events/Events.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { zipConcurrently } from "../kernel/Concurrency.ts"
import type { ConversationId, MemberId, OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import {
  type CursorInvalid,
  Cursors,
  type ListOptions,
  type Page,
  type PageRequest,
  type Position,
  withoutStop
} from "../kernel/Page.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import {
  type AssignConversation,
  type CloseConversation,
  type Conversation,
  type ConversationFilters,
  type ConversationRow,
  ConversationRows,
  everyConversation,
  type IdentityWithConversation,
  toConversation
} from "./Conversation.ts"
import { ConversationState, openedEvent, resourceOf, setColumns } from "./ConversationState.ts"

export * from "./Conversation.ts"
export { newConversation, open } from "./ConversationState.ts"

// -------------------------------------------------------------- errors

export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {}) {}

// ----------------------------------------------------------- decisions

/** Makes a member the contact's owner, and raises `contact.updated` even if they already were (contract §13.1). */
const ownedBy = (before: LoadedContact, owner_user_id: MemberId, context: DecisionContext): Changes.Changes => {
  const set = { owner_user_id, updated_at: DateTime.max(before.updated_at, context.now) }
  return Changes.all(ContactRows.update(before, set), raiseUpdated({ ...before, ...set }, ["owner_user_id"], context))
}

/** Changes a conversation, or expects it: a response with the person's names must not be recorded after their erasure. */
const changeOrExpect = (...[row, ...rest]: Parameters<typeof setColumns>): Changes.Decision<Conversation> => {
  const decision = setColumns(row, ...rest)
  return Changes.isNone(decision.changes) ? { ...decision, changes: ConversationRows.expect(row) } : decision
}

/** Returns whether the contact's owner follows: by default, if the conversation is assigned to a member (contract §10.4). */
const setsOwner = ({ assigned_user_id, sync_contact_owner = true }: AssignConversation): boolean =>
  assigned_user_id !== null && sync_contact_owner

/**
 * Assigns a conversation to a member, by default with its contact, or unassigns it, which does not change the
 * contact's owner.
 */
export const assign = (
  { contact, conversation, member }: {
    readonly conversation: Option.Option<ConversationRow>
    readonly member: Option.Option<MemberRow>
    /** The contact of the conversation; not needed if its owner does not follow. */
    readonly contact: Option.Option<LoadedContact>
  },
  input: AssignConversation,
  context: DecisionContext
): Result.Result<Changes.Decision<Conversation>, ConversationNotFound | ReferenceUnknown> => {
  const { assigned_user_id } = input
  const assignee = Option.getOrNull(unlessLeft(member))
  const isKept = Option.exists(conversation, (row) => row.assigned_user_id === assigned_user_id)
  if (assigned_user_id !== null && assignee === null && !isKept) {
    return Result.fail(new ReferenceUnknown({ param: "assigned_user_id", value: assigned_user_id }))
  }
  if (Option.isNone(conversation)) return Result.fail(new ConversationNotFound())
  const row = conversation.value
  const data = { conversation_id: row.id, assigned_user_id }
  const { result, changes } = changeOrExpect(
    row,
    ConversationState.assign(row, assigned_user_id),
    (after) => Events.make("conversation.assigned", data, context, resourceOf(after))
  )
  if (assignee === null) return Result.succeed({ result, changes })
  const owned = setsOwner(input) ? Option.toArray(contact) : []
  return Result.succeed({
    result,
    changes: Changes.all(
      changes,
      ...owned.map((before) => ownedBy(before, assignee.id, context)),
      MemberRows.expect(assignee)
    )
  })
}

const foundConversation = (conversation: Option.Option<ConversationRow>) =>
  Result.fromOption(conversation, () => new ConversationNotFound())

const close = (
  conversation: Option.Option<ConversationRow>,
  { category = null }: CloseConversation,
  context: DecisionContext
): Result.Result<Changes.Decision<Conversation>, ConversationNotFound> =>
  Result.map(foundConversation(conversation), (row) =>
    changeOrExpect(
      row,
      ConversationState.close(row, category, context.now),
      (after) => Events.make("conversation.closed", { conversation_id: row.id }, context, resourceOf(after))
    ))

const reopen = (
  conversation: Option.Option<ConversationRow>,
  context: DecisionContext
): Result.Result<Changes.Decision<Conversation>, ConversationNotFound> =>
  Result.map(
    foundConversation(conversation),
    (row) => changeOrExpect(row, ConversationState.reopen(row, context.now), (after) => openedEvent(after, context))
  )

const position = ({ id, last_activity_at }: ConversationRow): Position => ({ at: last_activity_at, id })

// ---------------------------------------------------------------- port

/**
 * Port: where conversations are read.
 *
 * **Contract** (checked by `conformance/Ports/Conversations.ts`)
 *
 * - `find` returns what was committed last, with the columns of its channel,
 *   contact and identity, and none for another organization's conversation.
 * - `list` returns the conversations that pass every filter that is not null,
 *   ordered by `last_activity_at` descending, then ID descending, starting after
 *   the position.
 * - `identify` looks network IDs up on the channel's type and returns the identities
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
  readonly identify: (
    organization_id: OrganizationId,
    channel: Pick<Channel, "id" | "type">,
    network_ids: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<IdentityWithConversation>>
}>()("@messaging-crm/core/Conversations/ConversationStore") {}

// ---------------------------------------------------------- operations

/** Makes the function that loads a conversation, the member that it is assigned to, and the contact if its owner follows. */
const makeLoadAssignment = Effect.gen(function*() {
  const contacts = yield* ContactStore
  const rows = yield* Rows
  const store = yield* ConversationStore

  return Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    id: ConversationId,
    input: AssignConversation
  ) {
    const { assigned_user_id } = input
    const [conversation, member] = yield* zipConcurrently(
      store.find(organization_id, id),
      assigned_user_id === null ? Effect.succeedNone : rows.find(MemberRows, organization_id, assigned_user_id)
    )
    // This only saves a lookup: `assign` reads the flag itself.
    const contact = Option.isNone(conversation) || !setsOwner(input)
      ? Option.none()
      : yield* contacts.load(organization_id, conversation.value.contact_id)
    return { conversation, member, contact }
  })
})

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
      const loadAssignment = yield* makeLoadAssignment
      const { write } = yield* Decide
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
        const fetch = (request: PageRequest) => Effect.map(store.list(organization_id, filters, request), withoutStop)
        const rows = { list: "conversations", filters: { ...filters }, fetch, position }
        const page = yield* cursors.page({ ...rows, cursor, size: page_size })
        return { ...page, data: page.data.map(toConversation) }
      })

      const assignConversation = write(
        "conversations.assign",
        function*(id: ConversationId, input: AssignConversation) {
          const { organization_id } = yield* CurrentActor
          return {
            load: loadAssignment(organization_id, id, input),
            decide: (loaded, context) => assign(loaded, input, context)
          }
        }
      )

      const closeConversation = write("conversations.close", function*(id: ConversationId, input: CloseConversation) {
        const { organization_id } = yield* CurrentActor
        return {
          load: store.find(organization_id, id),
          decide: (conversation, context) => close(conversation, input, context)
        }
      })

      const reopenConversation = write("conversations.reopen", function*(
        id: ConversationId
      ) {
        const { organization_id } = yield* CurrentActor
        return {
          load: store.find(organization_id, id),
          decide: reopen
        }
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
